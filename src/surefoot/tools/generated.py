"""Files that say of themselves that a program makes them. What is changed in one by hand is lost the next time it is
made, and until then every test may pass."""

import re
from collections.abc import Callable

from surefoot.errors import ToolError

_HEAD_LINES = 5
_COMMENT = re.compile(r"^\s*(?:#|//|/\*|\*|--|;|%|<!--|\"\"\"|'''|\{-|\(\*|@?rem\b)", re.IGNORECASE)
_IS_MADE = re.compile(
    r"@generated\b|\b[Tt]his file (?:is|was|has been) (?:auto-?|automatically )generated\b"
    r"|\bDO NOT (?:EDIT|MODIFY)\b(?!(?i: anything| below| above| beyond| past| after))"
)
"""Says it alone; in these words nobody says anything else."""
_MADE = re.compile(
    r"\b(?:auto-?)?generated\b|\b(?:made|built|written|produced|managed) by\b|自动生成|生成的?文件|由.{1,40}生成",
    re.IGNORECASE,
)
_NOT_BY_HAND = re.compile(
    r"\b(?:do not|don['’]t|never|(?:must|should) not be) (?:manually )?(?:edit|modif|change)|\bmanual editing\b"
    r"|(?:请勿|不要|切勿|禁止)(?:手动|手工|直接)?(?:编辑|修改|改动)",
    re.IGNORECASE,
)
"""Says it where the file also says what it comes from: that something does not change is said of many things."""


def refuse_by_hand(may_rewrite: Callable[[str], bool], name: str, before: str) -> None:
    said = says_generated(before)
    if said and not may_rewrite(name):
        raise ToolError(
            f"{name!r} is not to be changed by hand, it says: {said[:200]}",
            argument="path",
            remedy="change what it is made from, and run the program that makes it",
        )


def says_generated(text: str) -> str:
    """The line of its first comment that says so, or nothing."""
    head = [line.strip() for line in text.splitlines()[:_HEAD_LINES] if _COMMENT.match(line)]
    is_made = any(map(_MADE.search, head))
    return next((line for line in head if _IS_MADE.search(line) or (is_made and _NOT_BY_HAND.search(line))), "")
