"""May this action be done without asking? Pure: a policy, rules, and what the action would do.

Deny rules come first, then allow rules, then the policy. A rule names a tool, with a pattern for what it is called
with: `run_command(pytest *)`, `write_file(docs/*)`, `http_get`. Commands are judged as the words they consist of; one
that a shell would take apart (`a; b`, `a | b`, `$(a)`) has no such words, so no rule can allow it, while a deny rule
looks into every part of it.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

Policy = Literal["ask", "auto-edit", "auto", "never"]
Ruling = Literal["allow", "ask", "deny"]
Effect = Literal["read", "edit", "command", "external"]
"""What an action can do at most: look, write files it names, run anything in the workspace, reach beyond it."""

_RULE = re.compile(r"^\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_SHELL = re.compile(r"[;&|<>`\n(){}]|\$[({\w]")


def is_rule(text: str) -> bool:
    return _RULE.match(text) is not None


def rule_on(
    effect: Effect, tool: str, arguments: Mapping[str, Any], policy: Policy, allow: Sequence[str], deny: Sequence[str]
) -> Ruling:
    if deny and any(_matches(rule, tool, arguments, looking_for_harm=True) for rule in deny):
        return "deny"
    if allow and any(_matches(rule, tool, arguments, looking_for_harm=False) for rule in allow):
        return "allow"
    if effect == "read":
        return "allow"
    free = {"ask": (), "auto-edit": ("edit",), "auto": ("edit", "command"), "never": ("edit",)}[policy]
    if effect in free:
        return "allow"
    return "deny" if policy == "never" else "ask"


def suggested_rule(tool: str, arguments: Mapping[str, Any]) -> str:
    """The rule that would allow this and its like; empty where none can."""
    words = _words(str(arguments.get("command", "")))
    if tool == "run_command":
        plain = words and re.fullmatch(r"[\w./+-]+", words[0])
        return f"run_command({words[0]} *)" if words and plain else ""
    path = str(arguments.get("path", ""))
    return f"{tool}({path})" if path else tool


def _matches(rule: str, tool: str, arguments: Mapping[str, Any], *, looking_for_harm: bool) -> bool:
    found = _RULE.match(rule)
    if found is None or found.group(1) != tool:
        return False
    pattern = found.group(2)
    if pattern is None or pattern.strip() in ("", "*"):
        return True
    if "command" in arguments:
        return _command_matches(pattern, str(arguments["command"]), looking_for_harm)
    named = str(next((arguments[key] for key in ("path", "url", "source") if key in arguments), ""))
    return fnmatchcase(named, pattern)


def _command_matches(pattern: str, command: str, looking_for_harm: bool) -> bool:
    wanted = re.split(r"[ \t]+", pattern.strip(" \t"))
    if not looking_for_harm:
        words = _words(command)
        return words is not None and _words_match(wanted, words)
    parts = [part.split() for part in _SHELL.split(command)]
    return any(_words_match(wanted, part[start:]) for part in parts for start in range(len(part)))


def _words_match(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Word by word; a last `*` stands for any further words, also none."""
    if wanted and wanted[-1] == "*":
        wanted, words = wanted[:-1], words[: len(wanted) - 1]
    return len(wanted) == len(words) and all(map(fnmatchcase, words, wanted))


def _words(command: str) -> list[str] | None:
    """The words of one plain command; None where a shell would do more than start it."""
    if not command.strip() or _SHELL.search(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None
