"""Writes the text of a new `surefoot.toml`, and adds checks to that of an existing one."""

import json
from collections.abc import Sequence
from typing import Any

from surefoot.cli.setup.config_file import with_setting
from surefoot.cli.setup.trying import TriedCommand

_HEAD = """\
# Settings of this project for Surefoot, written by `surefoot init`. Change whatever you like.
# `surefoot config` lists all settings and their sources; docs/configuration.md explains them.
# Surefoot ignores this file until you trust it (`surefoot trust`), and again after somebody else changes it.

[execution]
# Commands that must succeed at the end of every run that is given no --check of its own.
"""
_REST = """
# The project's tests are compared before and after a run: auto finds their command, off compares nothing.
# baseline = "auto"

# What commands may do: reach the network; what needs your approval (ask, auto-edit, auto, never).
# network = true
# approve = "ask"
# allow = ["run_command(make *)"]

# Folders that are too large to be restored by an undo.
# snapshot_excludes = ["data/"]

# [budget]
# max_cost_usd = 1.0
# max_seconds = 1800

# [model]
# model = "openai/gpt-5.4-mini"
"""


def new_text(results: Sequence[TriedCommand], *, network: bool) -> str:
    """The text of a new file: the commands that work, and in comments those that do not and why."""
    working = {(each.command.kind, each.command.tool) for each in results if each.result == "works"}
    rows: list[str] = []
    for each in results:
        command = json.dumps(each.command.command, ensure_ascii=False)
        if each.result == "works":
            rows.append(f"  {command},  # {_note(each)}")
        elif (each.command.kind, each.command.tool) not in working:
            rows.append(f"  # {command},  # {each.command.kind}: {each.reason}")
    listed = "checks = [\n" + "\n".join(rows) + "\n]\n" if rows else '# checks = ["make test"]\n'
    network_line = "# The commands above were tried with access to the network.\nnetwork = true\n" if network else ""
    return _HEAD + listed + network_line + _REST


def changed_text(content: bytes, results: Sequence[TriedCommand]) -> bytes:
    """Add the commands that work to the checks of an existing file. Everything else in it stays as it is."""
    import tomlkit

    document: Any = tomlkit.parse(content.decode())
    listed = document.get("execution", {}).get("checks", [])
    missing = [each for each in results if each.result == "works" and each.command.command not in listed]
    if not missing:
        return content
    if not listed:
        content = with_setting(content, "execution.checks", [])
        document = tomlkit.parse(content.decode())
    checks = document["execution"]["checks"]
    on_one_line = "\n" not in checks.as_string()
    for each in missing:
        checks.add_line(each.command.command, indent="  ", comment=_note(each))
    if on_one_line:
        checks.add_line(indent="")
    return str(document.as_string()).encode()


def _note(result: TriedCommand) -> str:
    return f"{result.command.kind}, {result.seconds:.1f} s"
