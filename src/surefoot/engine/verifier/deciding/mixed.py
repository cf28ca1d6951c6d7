"""Merges files that hold both settings of test tools and parts of the program. Pure.

The settings are taken from before the run, the rest as it is now. A file that cannot be taken apart safely is taken
from before the run as a whole.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection
from typing import Any

from surefoot.project.asked_changes import asks_to_change, asks_to_configure

_PACKAGING = frozenset((
    "poetry", "setuptools", "setuptools_scm", "setuptools-scm", "hatch", "pdm", "flit", "uv", "rye", "pixi", "maturin",
    "scikit-build", "cibuildwheel", "towncrier", "commitizen", "bumpversion",
))  # fmt: skip
"""Tools whose sections of pyproject.toml describe the package, not how it is checked."""
_SCRIPT_TOOLS = ("hatch.envs", "pdm.scripts", "rye.scripts", "pixi.tasks", "poetry.plugins", "uv.scripts")
_JSON_TOOLS = (
    "jest",
    "mocha",
    "vitest",
    "ava",
    "nyc",
    "c8",
    "tap",
    "babel",
    "eslintConfig",
    "prettier",
    "wireit",
    "config",
)
_CARGO = ("lib", "test", "bench", "profile", "patch", "replace", "workspace", "lints")


def settings_from_before(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    """Return the text of a mixed file with its deciding parts from before; None if these parts are unchanged."""
    merge = _MERGES[path.rpartition("/")[2]]
    try:
        return merge(path, before, now, commands, task)
    except (ValueError, configparser.Error, AttributeError, TypeError):
        return before if before != now else None


def _package_json(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    old: dict[str, Any] = json.loads(before) if before.strip() else {}
    new: dict[str, Any] = json.loads(now)
    merged = dict(new)
    for key in _JSON_TOOLS:
        if not asks_to_configure(key.removesuffix("Config"), task):
            _take(merged, old, key)
    if not _asks_for_scripts(path, task):
        merged["scripts"] = _scripts(old.get("scripts", {}), new.get("scripts", {}), commands)
        if not merged["scripts"] and "scripts" not in new:
            del merged["scripts"]
    return None if merged == new else json.dumps(merged, indent=2) + "\n"


def _asks_for_scripts(path: str, task: str) -> bool:
    return asks_to_configure("npm", task) or (
        asks_to_change(path, task) and re.search(r"\bscripts?\b|脚本", task, re.IGNORECASE) is not None
    )


def _scripts(old: dict[str, Any], new: dict[str, Any], commands: Collection[str]) -> dict[str, Any]:
    """Return the scripts from before, and new ones that no check uses and that are not hooks of other scripts."""
    used = {"test", *(word for command in commands for word in re.split(r"[\s;&|'\"]+", command))}
    hooks = {f"{when}{name}" for name in {*old, *used} for when in ("pre", "post")}
    return {**{name: value for name, value in new.items() if name not in used | hooks}, **old}


def _take(merged: dict[str, Any], old: dict[str, Any], key: str) -> None:
    if key in old:
        merged[key] = old[key]
    else:
        merged.pop(key, None)


def _pyproject(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    def decides(section: tuple[str, ...]) -> bool:
        if section[:1] == ("tool",) and len(section) > 1:
            inside = ".".join(section[1:])
            is_setting = section[1] not in _PACKAGING or inside.startswith(_SCRIPT_TOOLS)
            return is_setting and not asks_to_configure(section[1], task)
        return section[:3] == ("project", "entry-points", "pytest11")

    return _merge_toml(before, now, decides)


def _cargo(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    return _merge_toml(before, now, lambda section: section[0] in _CARGO or section[:2] == ("package", "autotests"))


def _merge_toml(before: str, now: str, decides: Callable[[tuple[str, ...]], bool]) -> str | None:
    """Merge by sections of the text. Returns the text from before if the result has not exactly the wanted values."""
    old, new = tomllib.loads(before), tomllib.loads(now)
    expected = _merged(old, new, decides)
    if expected == new:
        return None
    current_parts = [text for section, text in _sections(now) if not decides(section)]
    taken = [text for section, text in _sections(before) if decides(section)]
    merged = "".join(text if text.endswith("\n") else f"{text}\n" for text in (*current_parts, *taken))
    return merged if tomllib.loads(merged) == expected else before


def _merged(old: Any, new: Any, decides: Callable[[tuple[str, ...]], bool], at: tuple[str, ...] = ()) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key in {**new, **old}:
        place = (*at, key)
        if decides(place):
            if key in old:
                merged[key] = old[key]
        elif isinstance(old.get(key, {}), dict) and isinstance(new.get(key, {}), dict):
            inner = _merged(old.get(key, {}), new.get(key, {}), decides, place)
            if inner or key in new:
                merged[key] = inner
        elif key in new:
            merged[key] = new[key]
    return merged


def _sections(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Split TOML or INI text at its section headers."""
    parts = re.split(r"^(?=[ \t]*\[)", text, flags=re.MULTILINE)
    sections = []
    for part in parts:
        header = re.match(r"[ \t]*\[+\s*([^\]]*?)\s*\]+", part)
        names = re.findall(r'"([^"]*)"|([^.\s"]+)', header[1]) if header else []
        sections.append((tuple(one or other for one, other in names) or ("",), part))
    return sections


def _setup_cfg(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    def decides(name: str) -> bool:
        if name.startswith(("options", "metadata", "sdist", "bdist", "build_ext", "egg_info", "DEFAULT")):
            return name == "options.entry_points"
        return not asks_to_configure(name.removeprefix("tool:"), task)

    old, new = _ini(before), _ini(now)
    expected = {
        name: values
        for name in {**new, **old}
        if (values := (old if decides(name) else new).get(name)) is not None
    }  # fmt: skip
    if expected == new:
        return None
    current_parts = [text for section, text in _sections(now) if not decides(".".join(section))]
    taken = [text for section, text in _sections(before) if section != ("",) and decides(".".join(section))]
    merged = "".join(text if text.endswith("\n") else f"{text}\n" for text in (*current_parts, *taken))
    return merged if _ini(merged) == expected else before


def _ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def _go_mod(path: str, before: str, now: str, commands: Collection[str], task: str) -> str | None:
    pattern = r"^replace\s*\((?:.|\n)*?^\)\n?|^(?:replace|toolchain|exclude)\b[^\n(]*\n?"
    old, new = re.findall(pattern, before, re.MULTILINE), re.findall(pattern, now, re.MULTILINE)
    if old == new:
        return None
    return re.sub(pattern, "", now, flags=re.MULTILINE).rstrip("\n") + "\n\n" + "".join(old)


_Merge = Callable[[str, str, str, Collection[str], str], str | None]
_MERGES: dict[str, _Merge] = {
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "Cargo.toml": _cargo,
    "setup.cfg": _setup_cfg,
    "go.mod": _go_mod,
}
