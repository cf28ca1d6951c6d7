"""Prompt templates: the text files in this folder, one per purpose.

System prompts are `system_conversation` for models that call tools, and `system_questions` for all others.
"""

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _template(name: str) -> Template:
    return Template((files(__package__) / f"{name}.txt").read_text(encoding="utf-8"))


def render(name: str, **values: object) -> str:
    """Fill in the `$placeholders` of a template. A missing value raises KeyError."""
    return _template(name).substitute({key: str(value) for key, value in values.items()}).strip()
