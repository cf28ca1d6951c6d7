"""Which settings there are, what each may be, and how a wrong one is told."""

import difflib
import json
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from surefoot.config import BudgetConfig, ExecutionConfig, ReflectionConfig
from surefoot.errors import ConfigError
from surefoot.models.choose import ModelSettings
from surefoot.values import Value

SECTIONS: dict[str, type[Value]] = {
    "model": ModelSettings,
    "execution": ExecutionConfig,
    "reflection": ReflectionConfig,
    "budget": BudgetConfig,
}
NESTED = ("reflection", "budget")
"""Parts of ExecutionConfig that have a section of their own."""
_SECRET = re.compile(r"(^|_)(api_?key|key|token|secret|password)$", re.IGNORECASE)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Sourced:
    value: Any
    source: str
    """A file with its line, a variable, a flag, or `default`."""


def known_fields() -> Iterator[tuple[str, FieldInfo]]:
    for section, cls in SECTIONS.items():
        for key, field in cls.model_fields.items():
            if section != "execution" or key not in NESTED:
                yield f"{section}.{key}", field


def checked(name: str, item: Sourced, *, strict: bool) -> Any:
    """The value in its right type. Files are typed, so `strict` takes no "5" for 5; variables and flags are text."""
    field = dict(known_fields()).get(name)
    if field is None:
        raise _unknown_key(item.source, name)
    kind: Any = Annotated[field.annotation, field]
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    try:
        if strict:
            value = adapter.validate_json(json.dumps(item.value, default=str), strict=True)
        else:
            value = adapter.validate_python(item.value)
    except (ValidationError, ValueError) as error:
        said = f"{item.source}: {name.partition('.')[2]} must be {allowed(field)}, not {shown(item.value)}"
        raise ConfigError(said, remedy="correct it, or leave it out to use the default") from error
    if name == "model.api_key_env" and value and not _VARIABLE_NAME.fullmatch(value):
        raise ConfigError(
            f"{item.source}: api_key_env must be the name of an environment variable; this looks like a key itself",
            remedy="put the key into a variable such as OPENAI_API_KEY and name that variable here",
        )
    return value


def _unknown_key(source: str, name: str) -> ConfigError:
    section, _, key = name.partition(".")
    if section == "execution" and key in NESTED:
        return ConfigError(f"{source}: {key} is a section of its own", remedy=f"write its values under [{key}]")
    if _SECRET.search(key):
        return ConfigError(
            f"{source}: {key} looks like a secret, and secrets do not belong in a config file",
            remedy='put it into an environment variable and name that: api_key_env = "OPENAI_API_KEY"',
        )
    keys = [known.split(".") for known, _ in known_fields()]
    said = f"{source}: {key} is not a setting of [{section}]"
    if homes := [home for home, known in keys if known == key]:
        return ConfigError(said, remedy=f"it belongs under [{homes[0]}]")
    nearest = difflib.get_close_matches(key, [known for home, known in keys if home == section], n=1)
    return ConfigError(said, remedy=f"did you mean {nearest[0]}?" if nearest else "see `surefoot config`")


def unknown_section(where: str, section: str) -> ConfigError:
    homes = [home for home, _, known in (name.partition(".") for name, _ in known_fields()) if known == section]
    if homes:
        hint = f"it belongs under [{homes[0]}]"
        return ConfigError(f"{where}: {section} stands outside of any section", remedy=hint)
    nearest = difflib.get_close_matches(section, SECTIONS, n=1)
    hint = f"did you mean [{nearest[0]}]?" if nearest else "there are " + ", ".join(f"[{name}]" for name in SECTIONS)
    return ConfigError(f"{where}: there is no section [{section}]", remedy=hint)


# -- in words --------------------------------------------------------------------------------------------------------

_TYPES: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def allowed(field: FieldInfo) -> str:
    """For example `a whole number from 1 to 200`."""
    words = _type_words(field.annotation)
    low, high = _bounds(field)
    if low and high:
        return f"{words} from {low} to {high}" if not low.startswith("above") else f"{words} {low}, up to {high}"
    if low:
        return f"{words} {low}" if low.startswith("above") else f"{words}, at least {low}"
    return f"{words}, at most {high}" if high else words


def shown(value: Any) -> str:
    """A refused value as it is told back, short; it may be anything."""
    text = {True: "true", False: "false"}.get(value, "") if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _type_words(annotation: Any) -> str:
    if annotation in _TYPES:
        return _TYPES[annotation]
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "one of " + ", ".join(str(member.value) for member in annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(str(argument) for argument in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_words(argument) for argument in arguments if argument is not type(None))
    if origin in (tuple, list):
        return "a list of texts"
    return str(getattr(annotation, "__name__", annotation))


def _bounds(field: FieldInfo) -> tuple[str, str]:
    low = high = ""
    for mark in field.metadata:
        if isinstance(mark, annotated_types.Ge):
            low = _number(mark.ge)
        elif isinstance(mark, annotated_types.Gt):
            low = f"above {_number(mark.gt)}"
        elif isinstance(mark, annotated_types.Le):
            high = _number(mark.le)
    return low, high


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
