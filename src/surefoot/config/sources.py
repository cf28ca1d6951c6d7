"""Reads settings from TOML files and environment variables, and validates them."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surefoot.config.fields import PRICES, SECTIONS, Sourced, known_fields, unknown_section, validate, validate_price
from surefoot.config.mcp import SECTION as MCP
from surefoot.config.mcp import read_servers
from surefoot.config.model import SETTING_ALIASES
from surefoot.errors import ConfigError

PREFIX = "SUREFOOT_"
OTHER_VARIABLES = ("SUREFOOT_HOME", "SUREFOOT_CACHE", "SUREFOOT_WEIGHTS", "SUREFOOT_DEBUG", "SUREFOOT_COMMAND")
"""Variables that are read elsewhere and are not settings."""
SHORT_VARIABLES = {
    "model.model": "MODEL",
    "storage.database": "DATABASE",
    "storage.objects": "OBJECTS",
    "workers.temporal": "TEMPORAL",
}


def from_toml(path: Path, content: bytes) -> dict[str, Sourced]:
    text = _decode(path, content)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, error) from error
    lines = _line_numbers(text)
    settings: dict[str, Sourced] = {}
    for section, entries in document.items():
        where = f"{path}:{lines.get(section, 1)}"
        if section not in SECTIONS and section not in (PRICES, MCP):
            raise unknown_section(where, section)
        if not isinstance(entries, dict):
            raise ConfigError(f"{where}: {section} is a section, not a value", remedy=f"write it as [{section}]")
        if section == MCP:
            for server, definition in read_servers(entries, where).items():
                name = f"{MCP}.servers.{server}"
                settings[name] = Sourced(definition, f"{path}:{lines.get(name, lines.get(section, 1))}")
            continue
        for key, value in entries.items():
            name = f"{section}.{key}"
            item = Sourced(value, f"{path}:{lines.get(name, lines.get(section, 1))}")
            name = SETTING_ALIASES.get(name, name)
            value = validate_price(item, key) if section == PRICES else validate(name, item, strict=True)
            _add(settings, name, Sourced(value, item.source))
    return settings


def _add(settings: dict[str, Sourced], name: str, item: Sourced) -> None:
    """Add a setting. Two names of one setting in one source must agree."""
    before = settings.get(name)
    if before is not None and before.value != item.value:
        raise ConfigError(
            f"{item.source}: {name} is set to {before.value!r} under another name ({before.source})",
            remedy="use one of the two names",
        )
    settings[name] = item


def from_environment(environ: Mapping[str, str]) -> dict[str, Sourced]:
    by_variable = {variable_of(name): name for name, _ in known_fields()}
    by_variable |= {variable_of(alias): name for alias, name in SETTING_ALIASES.items()}
    settings: dict[str, Sourced] = {}
    for variable in sorted(v for v in environ if v.startswith(PREFIX) and v not in OTHER_VARIABLES):
        if variable in by_variable:
            item = Sourced(parse_text(environ[variable]), variable)
            value = validate(by_variable[variable], item, strict=False)
            _add(settings, by_variable[variable], Sourced(value, variable))
            continue
        nearest = difflib.get_close_matches(variable, [*by_variable, *OTHER_VARIABLES], n=1, cutoff=0.8)
        if nearest or "__" in variable:
            hint = f"did you mean {nearest[0]}?" if nearest else "see `surefoot config` for the known settings"
            raise ConfigError(f"the environment variable {variable} is not a setting", remedy=hint)
    return settings


def variable_of(name: str) -> str:
    """Return the environment variable of a setting. Settings that are often set by hand have short names."""
    return PREFIX + SHORT_VARIABLES.get(name, name.replace(".", "__").upper())


def parse_text(text: str) -> Any:
    """Parse the text of a variable: `none` means no value, brackets mean a list."""
    text = text.strip()
    if text.lower() in ("none", "null"):
        return None
    if text.startswith("["):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            return text
    return text


# -- files and line numbers ----------------------------------------------------------------------------------------


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", remedy="check its permissions") from error


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8 text", remedy="save the file as UTF-8") from error


def _syntax_error(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ConfigError:
    message = str(error)
    place = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = (place and place[1]) or str(text.count("\n") + (not text.endswith("\n")))
    problem = message[: place.start()] if place else message
    return ConfigError(
        f"{path}:{line}: not valid TOML: {problem}", remedy="correct that line; see docs/configuration.md"
    )


_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")


def _line_numbers(text: str) -> dict[str, int]:
    """Return the line numbers of sections and keys, for error messages. tomllib does not report them."""
    lines: dict[str, int] = {}
    section = ""
    open_quote = ""
    for number, line in enumerate(text.splitlines(), 1):
        if open_quote:
            open_quote = "" if open_quote in line else open_quote
            continue
        if header := _HEADER.match(line):
            section = _unquote(header[1])
            lines.setdefault(section, number)
        elif key := _KEY.match(line):
            name = _unquote(key[1])
            full = f"{section}.{name}" if section else name
            while full:
                lines.setdefault(full, number)
                full = full.rpartition(".")[0]
            open_quote = next((mark for mark in ('"""', "'''") if line.count(mark) == 1), "")
    return lines


def _unquote(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))
