"""Prompts are the text files in this folder: short, one a purpose, the stable part first."""

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template(name: str) -> Template:
    return Template((files(__package__) / f"{name}.txt").read_text(encoding="utf-8"))


def render(name: str, **values: object) -> str:
    """The prompt with its `$places` filled in. A missing value is a bug and raises."""
    return _template(name).substitute({key: str(value) for key, value in values.items()}).strip()
