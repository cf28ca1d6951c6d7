"""Detect files whose header marks them as generated.

A manual change to such a file is lost when it is generated again, although every test may pass until then.
"""

import re
from collections.abc import Callable

from surefoot.errors import ToolError

_HEAD_LINES = 5
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;|%|<!--|\"\"\"|'''|\{-|\(\*|@?rem\b)", re.IGNORECASE)
_CONCLUSIVE = re.compile(
    r"@generated\b|\b[Tt]his file (?:is|was|has been) (?:auto-?|automatically )generated\b"
    r"|\bDO NOT (?:EDIT|MODIFY)\b(?!(?i: anything| below| above| beyond| past| after))"
)
"""Conclusive on its own."""
_ORIGIN = re.compile(
    r"\b(?:auto-?)?generated\b|\b(?:made|built|written|produced|managed) by\b|自动生成|生成的?文件|由.{1,40}生成",
    re.IGNORECASE,
)
_DO_NOT_EDIT = re.compile(
    r"\b(?:do not|don['’]t|never|(?:must|should) not be) (?:manually )?(?:edit|modif|change)|\bmanual editing\b"
    r"|(?:请勿|不要|切勿|禁止)(?:手动|手工|直接)?(?:编辑|修改|改动)",
    re.IGNORECASE,
)
"""Counts only beside a statement of origin, because many comments say that something must not change."""


def refuse_generated(may_rewrite: Callable[[str], bool], name: str, text: str) -> None:
    marker = generated_marker(text)
    if marker and not may_rewrite(name):
        raise ToolError(
            f"{name!r} is generated and must not be edited by hand; its header says: {marker[:200]}",
            argument="path",
            remedy="change its source and run the program that generates it",
        )


def generated_marker(text: str) -> str:
    """Return the header line that marks a file as generated, or an empty string."""
    head = [line.strip() for line in text.splitlines()[:_HEAD_LINES] if _COMMENT.match(line)]
    names_origin = any(map(_ORIGIN.search, head))
    return next((line for line in head if _CONCLUSIVE.search(line) or (names_origin and _DO_NOT_EDIT.search(line))), "")
