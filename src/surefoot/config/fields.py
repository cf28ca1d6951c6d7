"""The known settings, the validation of their values, and the error messages for invalid ones."""

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

from surefoot.config.integrations import RedisSettings, TelemetrySettings, has_password
from surefoot.config.model import (
    SETTING_ALIASES,
    AlertSettings,
    BudgetConfig,
    ExecutionConfig,
    ModelSettings,
    Price,
    ReflectionConfig,
    StorageSettings,
    WorkerSettings,
)
from surefoot.config.storage import DATABASE_REMEDY, database_problem
from surefoot.core.values import Value
from surefoot.errors import ConfigError

SECTIONS: dict[str, type[Value]] = {
    "model": ModelSettings,
    "execution": ExecutionConfig,
    "reflection": ReflectionConfig,
    "budget": BudgetConfig,
    "alerts": AlertSettings,
    "storage": StorageSettings,
    "telemetry": TelemetrySettings,
    "redis": RedisSettings,
    "workers": WorkerSettings,
}
NESTED = ("reflection", "budget")
"""Fields of ExecutionConfig that are sections of their own."""
PRICES = "prices"
"""The section with the prices of models. Its keys are names of models, so it is validated separately."""
_SECRET = re.compile(r"(^|_)(api_?key|key|token|secret|password)$", re.IGNORECASE)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Sourced:
    """A value and where it comes from."""

    value: Any
    source: str
    """A file and line, an environment variable, a flag, or `default`."""


def known_fields() -> Iterator[tuple[str, FieldInfo]]:
    for section, cls in SECTIONS.items():
        for key, field in cls.model_fields.items():
            if section != "execution" or key not in (*NESTED, PRICES):
                yield f"{section}.{key}", field


def validate(name: str, item: Sourced, *, strict: bool) -> Any:
    """Validate a value. Files have types, so `strict` rejects "5" for 5; variables and flags are text."""
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
        # An address may have a password, even if it is invalid.
        actual = "" if name == "redis.url" else f", not {_shorten(item.value)}"
        message = f"{item.source}: {name.partition('.')[2]} must be {describe(field)}{actual}"
        raise ConfigError(message, remedy="correct it, or remove it to use the default") from error
    if name == "redis.url" and strict and value and has_password(value):
        raise ConfigError(
            f"{item.source}: the address has a password, and secrets do not belong in a config file",
            remedy="put the whole address into the environment variable SUREFOOT_REDIS__URL",
        )
    if name == "model.api_key_env" and value and not _VARIABLE_NAME.fullmatch(value):
        raise ConfigError(
            f"{item.source}: api_key_env must be the name of an environment variable; this looks like a key itself",
            remedy="put the key into a variable such as OPENAI_API_KEY and write the variable's name here",
        )
    if name == "storage.database" and value and (problem := database_problem(value, in_file=strict)):
        # The value is not repeated, because it may have a password.
        raise ConfigError(f"{item.source}: database must be {problem}", remedy=DATABASE_REMEDY)
    return value


def validate_price(item: Sourced, model: str) -> Price:
    """Validate the price of a model, which is a table of the fields of `Price`."""
    entries = item.value if isinstance(item.value, dict) else {}
    if any(isinstance(value, dict) for value in entries.values()):
        raise ConfigError(
            f"{item.source}: a name with a dot needs quotes", remedy='write it like this: [prices."gpt-5.4"]'
        )
    if unknown := entries.keys() - Price.model_fields.keys():
        raise ConfigError(
            f"{item.source}: {min(unknown)} is not part of a price",
            remedy=f"a price has {', '.join(Price.model_fields)}: dollars per million tokens",
        )
    try:
        return Price.model_validate(item.value, strict=True)
    except ValidationError as error:
        raise ConfigError(
            f"{item.source}: the price of {model} must have numbers for input and output, not {_shorten(item.value)}",
            remedy="write for example: input = 1.25, output = 10 (dollars per million tokens)",
        ) from error


def _unknown_key(source: str, name: str) -> ConfigError:
    section, _, key = name.partition(".")
    if section == "execution" and key in (*NESTED, PRICES):
        return ConfigError(f"{source}: {key} is a section of its own", remedy=f"write its values under [{key}]")
    if _SECRET.search(key):
        return ConfigError(
            f"{source}: {key} looks like a secret, and secrets do not belong in a config file",
            remedy='put it into an environment variable and refer to that: api_key_env = "OPENAI_API_KEY"',
        )
    message = f"{source}: {key} is not a setting of [{section}]"
    if right_section := _section_of(key):
        return ConfigError(message, remedy=f"it belongs under [{right_section}]")
    keys = [name.removeprefix(f"{section}.") for name, _ in known_fields() if name.startswith(f"{section}.")]
    nearest = difflib.get_close_matches(key, keys, n=1)
    return ConfigError(message, remedy=f"did you mean {nearest[0]}?" if nearest else "see `surefoot config`")


def require_setting(source: str, text: str) -> str:
    """Return the full name of the setting that a person named. Raises ConfigError with the nearest name."""
    name = SETTING_ALIASES.get(text, text)
    known = [known for known, _ in known_fields()]
    section, _, key = name.rpartition(".")
    if name in known:
        return name
    if name.partition(".")[0] in (PRICES, "mcp"):
        raise ConfigError(
            f"{source}: {name.partition('.')[0]} has sections of its own", remedy="open the file: surefoot config edit"
        )
    if _SECRET.search(key):
        raise _unknown_key(source, f"{section}.{key}")
    if name in SECTIONS:
        own = [other for other in known if other.startswith(f"{name}.")]
        raise ConfigError(f"{source}: {name} is a section", remedy=f"it has {', '.join(own)}")
    same_key = [other for other in known if other.partition(".")[2] == key]
    keys = {other.partition(".")[2]: other for other in known}
    similar = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    similar += [keys[close] for close in difflib.get_close_matches(key, keys, n=1, cutoff=0.75)]
    nearest = (same_key or similar)[:1]
    hint = f"did you mean {nearest[0]}?" if nearest else "see `surefoot config` for the known settings"
    raise ConfigError(f"{source}: there is no setting {name}", remedy=hint)


def unknown_section(where: str, section: str) -> ConfigError:
    if right_section := _section_of(section):
        return ConfigError(
            f"{where}: {section} is outside of any section", remedy=f"it belongs under [{right_section}]"
        )
    names = (*SECTIONS, PRICES, "mcp")
    nearest = difflib.get_close_matches(section, names, n=1)
    known = ", ".join(f"[{name}]" for name in names)
    hint = f"did you mean [{nearest[0]}]?" if nearest else f"the sections are {known}"
    return ConfigError(f"{where}: there is no section [{section}]", remedy=hint)


def _section_of(key: str) -> str:
    """Return the first section that has this key; empty if none has."""
    names = (name.partition(".") for name, _ in known_fields())
    return next((section for section, _, known in names if known == key), "")


# -- descriptions of types -------------------------------------------------------------------------------------------

_TYPES: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def describe(field: FieldInfo) -> str:
    """Describe the allowed values, for example `a whole number from 1 to 200`."""
    if field.description:
        return field.description
    words = _type_words(field.annotation)
    low, high = _bounds(field)
    if low and high:
        return f"{words} from {low} to {high}" if not low.startswith("above") else f"{words} {low}, up to {high}"
    if low:
        return f"{words} {low}" if low.startswith("above") else f"{words}, at least {low}"
    return f"{words}, at most {high}" if high else words


def _shorten(value: Any) -> str:
    """Return a rejected value for an error message."""
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
    for constraint in field.metadata:
        if isinstance(constraint, annotated_types.Ge):
            low = _number(constraint.ge)
        elif isinstance(constraint, annotated_types.Gt):
            low = f"above {_number(constraint.gt)}"
        elif isinstance(constraint, annotated_types.Le):
            high = _number(constraint.le)
    return low, high


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
