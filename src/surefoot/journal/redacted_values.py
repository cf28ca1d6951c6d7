"""Removes secrets from the fields of events and other values, as `core.values.Secrecy` marks them.

Fields that the engine acts on are stored unchanged: paths, ids, checks, arguments. So the state of a run is folded from
the originals, and an undo finds the files that were changed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args

from surefoot.core.values import Secrecy, Value
from surefoot.journal.redact import Redactor

V = TypeVar("V", bound=Value)


def redacted_for_storage(value: V, redactor: Redactor) -> V:
    """Return the value as it is stored in the journal."""
    return _walk(value, _STORED, redactor)


def redacted_for_display(value: V, redactor: Redactor) -> V:
    """Return the value as it is shown, logged or exported."""
    return _walk(value, _SHOWN, redactor)


def exported(value: Value, redactor: Redactor) -> dict[str, Any]:
    """Return the fields of the value as JSON, for programs and logs."""
    return redacted_for_display(value, redactor).model_dump(mode="json")


_Rules = dict[Secrecy, Callable[[Redactor, str], str]]
_STORED: _Rules = {Secrecy.FREE_TEXT: Redactor.redact, Secrecy.RESULT: Redactor.redact_known}
_SHOWN: _Rules = {**_STORED, Secrecy.WORDING: Redactor.redact_known}


def _walk(value: V, rules: _Rules, redactor: Redactor) -> V:
    """Redact the fields of a value. Returns the same object if nothing is replaced."""
    changes: dict[str, Any] = {}
    fields = value.__dict__
    for name, secrecy in _fields(type(value)):
        before = fields[name]
        # This runs for every event, so it must be cheap. Most fields are empty.
        if not before or (secrecy is not None and secrecy not in rules):
            continue
        after = _redact_item(before, rules, redactor, secrecy)
        if after is not before:
            changes[name] = after
    return value.model_copy(update=changes) if changes else value


def _redact_item(item: Any, rules: _Rules, redactor: Redactor, secrecy: Secrecy | None) -> Any:
    """Redact strings if the field has a mark, and descend into collections and values. Keys are not changed."""
    kind = type(item)
    if kind is str:
        text = item if secrecy is None else rules[secrecy](redactor, item)
        return item if text == item else text
    if kind is tuple or kind is list:
        items = [_redact_item(part, rules, redactor, secrecy) for part in item]
        return item if all(new is old for new, old in zip(items, item, strict=True)) else kind(items)
    if kind is dict:
        parts = {key: _redact_item(part, rules, redactor, secrecy) for key, part in item.items()}
        return parts if any(parts[key] is not item[key] for key in item) else item
    return _walk(item, rules, redactor) if isinstance(item, Value) else item


@cache
def _fields(kind: type[Value]) -> tuple[tuple[str, Secrecy | None], ...]:
    """Return the fields that may have a secret, each with its mark; None for a field that holds other values."""
    secrecies: list[tuple[str, Secrecy | None]] = []
    for name, field in kind.model_fields.items():
        parts = [*field.metadata, *_parts(field.annotation)]
        secrecy = next((part for part in parts if isinstance(part, Secrecy)), None)
        if secrecy is not None or any(isinstance(part, type) and issubclass(part, Value) for part in parts):
            secrecies.append((name, secrecy))
    return tuple(secrecies)


def _parts(annotation: Any) -> list[Any]:
    """Return an annotation and everything inside it, including the metadata of `Annotated`."""
    return [annotation, *(part for argument in get_args(annotation) for part in _parts(argument))]
