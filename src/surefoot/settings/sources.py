"""Settings as they stand in a file or in the environment, checked, each with the place where it stands."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot.errors import ConfigError
from surefoot.settings.fields import SECTIONS, Sourced, checked, known_fields, unknown_section

PREFIX = "SUREFOOT_"
OTHER_VARIABLES = ("SUREFOOT_HOME", "SUREFOOT_CACHE", "SUREFOOT_WEIGHTS", "SUREFOOT_DEBUG", "SUREFOOT_COMMAND")
"""Read elsewhere; they are no settings of a run."""


def from_toml(path: Path, content: bytes) -> dict[str, Sourced]:
    text = _decoded(path, content)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, error) from error
    lines = _lines_of_keys(text)
    found: dict[str, Sourced] = {}
    for section, entries in document.items():
        where = f"{path}:{lines.get(section, 1)}"
        if section not in SECTIONS:
            raise unknown_section(where, section)
        if not isinstance(entries, dict):
            raise ConfigError(f"{where}: {section} is a section, not a value", remedy=f"write it as [{section}]")
        for key, value in entries.items():
            name = f"{section}.{key}"
            item = Sourced(value, f"{path}:{lines.get(name, lines.get(section, 1))}")
            found[name] = Sourced(checked(name, item, strict=True), item.source)
    return found


def from_environment(environ: Mapping[str, str]) -> dict[str, Sourced]:
    by_variable = {variable_of(name): name for name, _ in known_fields()}
    found: dict[str, Sourced] = {}
    for variable in sorted(v for v in environ if v.startswith(PREFIX) and v not in OTHER_VARIABLES):
        if variable in by_variable:
            item = Sourced(_from_text(environ[variable]), variable)
            found[by_variable[variable]] = Sourced(checked(by_variable[variable], item, strict=False), variable)
            continue
        nearest = difflib.get_close_matches(variable, [*by_variable, *OTHER_VARIABLES], n=1, cutoff=0.8)
        if nearest or "__" in variable:
            hint = f"did you mean {nearest[0]}?" if nearest else "see `surefoot config` for what there is"
            raise ConfigError(f"the environment variable {variable} is not a setting", remedy=hint)
    return found


def variable_of(name: str) -> str:
    """`model.model` is the one that people set by hand, so it has the short name."""
    return PREFIX + ("MODEL" if name == "model.model" else name.replace(".", "__").upper())


def _from_text(text: str) -> Any:
    """A variable's text as what it stands for: `none` is no value, brackets hold a list."""
    text = text.strip()
    if text.lower() in ("none", "null"):
        return None
    if text.startswith("["):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            return text
    return text


# -- files and lines -----------------------------------------------------------------------------------------------


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", remedy="correct its permissions") from error


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8 text", remedy="save the file as UTF-8") from error


def _syntax_error(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ConfigError:
    message = str(error)
    place = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = (place and place[1]) or str(text.count("\n") + (not text.endswith("\n")))
    what = message[: place.start()] if place else message
    return ConfigError(f"{path}:{line}: not valid TOML: {what}", remedy="correct that line; see docs/configuration.md")


_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _lines_of_keys(text: str) -> dict[str, int]:
    """The line on which each section and key stands, for messages; tomllib does not tell."""
    lines: dict[str, int] = {}
    section = ""
    quoted = ""
    for number, line in enumerate(text.splitlines(), 1):
        if quoted:
            quoted = "" if quoted in line else quoted
            continue
        if header := _HEADER.match(line):
            section = _plain(header[1])
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            name = _plain(key[1])
            full = f"{section}.{name}" if section else name
            while full:
                lines.setdefault(full, number)
                full = full.rpartition(".")[0]
            quoted = next((mark for mark in ('"""', "'''") if line.count(mark) == 1), "")
    return lines


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
