"""Read the envelope by which a model says that a step is done or that the plan must change.

It counts only where it stands by itself: as the whole answer, on a line of its own outside code, or in a fence at
the end that holds nothing else. A sentence or a code block that merely contains the words says nothing.
"""

import json
import re
from typing import Any, Literal

from surefoot.models.jsonish import spans
from surefoot.models.thinking import without_thinking

Control = Literal["step_done", "replan"]

_WORDS: dict[str, Control] = {
    "step_done": "step_done",
    "stepdone": "step_done",
    "step_complete": "step_done",
    "step_completed": "step_done",
    "done": "step_done",
    "replan": "replan",
    "re_plan": "replan",
    "步骤完成": "step_done",
    "步骤已完成": "step_done",
    "本步骤完成": "step_done",
    "本步骤已完成": "step_done",
    "重新规划": "replan",
    "需要重新规划": "replan",
    "请重新规划": "replan",
}
_ONLY_AFTER_A_KEY = {"done"}
"""Too ordinary a word to mean anything by itself."""
_KEY = r"[\"'`*]*(?:control|控制)[\"'`*]*\s*[:：=]\s*"
_WORD = r"(?P<word>[A-Za-z]+(?:[ _-][A-Za-z]+)?|[\u4e00-\u9fff]{4,8})"
_KEYED = re.compile(rf"^{_KEY}[\"'`*\[【(]*{_WORD}[\"'`*\]】)]*[.。!！,，]?$", re.IGNORECASE)
_TAGGED = re.compile(rf"^<control(?:\s+\w+=)?[\s>\"']*{_WORD}[\s\"']*(?:/>|>?\s*</control\s*>|>)$", re.IGNORECASE)
_BRACKETED = re.compile(rf"^(?:\[|【|<|<\||\*\*|__|`)\s*{_WORD}\s*(?:\]|】|/?>|\|>|\*\*|__|`)[.。!！]?$", re.IGNORECASE)
_ALONE = re.compile(rf"^{_WORD}[.。!！]?$")
_WITH_REASON = re.compile(r"^(?P<word>STEP_DONE|REPLAN|步骤完成|重新规划)\s*[:：—-]\s*\S")
_LONGEST_LINE = 300
_FENCE_LINE = re.compile(r"^\s*(?:`{3,}|~{3,})")


def read_control(text: str) -> Control | None:
    """The last envelope in the answer, or None."""
    answer = without_thinking(text).strip()
    whole = _in_json(answer)
    if whole:
        return whole
    outside, closing_block = _outside_code(answer)
    if closing_block:
        found = _in_json(closing_block) or _in_line(closing_block, only_line="\n" not in closing_block)
        if found:
            return found
    standing = [_in_line(line.strip(), only_line=line.strip() == answer) for line in outside.split("\n")]
    standing += [_in_json(span) for span in _json_on_its_own_lines(outside)]
    return next((control for control in reversed(standing) if control), None)


def _in_json(text: str) -> Control | None:
    """`{"control": "step_done"}`, alone or beside other fields."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _control(value["control"]) if isinstance(value, dict) and isinstance(value.get("control"), str) else None


def _in_line(line: str, *, only_line: bool) -> Control | None:
    if len(line) > _LONGEST_LINE:
        return None
    for form in (_KEYED, _TAGGED):
        if found := form.match(line):
            return _control(found["word"])
    for form in (_BRACKETED, _WITH_REASON):
        if (found := form.match(line)) and found["word"].lower() not in _ONLY_AFTER_A_KEY:
            return _control(found["word"])
    if found := _ALONE.match(line):
        word = found["word"]
        # In running text "step done" and "replan" are words like others; as a cry or as an identifier they are not.
        telling = word.isupper() or "_" in word or not word.isascii() or only_line
        return _control(word) if telling and word.lower() not in _ONLY_AFTER_A_KEY else None
    return None


def _control(word: str) -> Control | None:
    return _WORDS.get(re.sub(r"[\s-]+", "_", word.strip().lower()))


def _outside_code(answer: str) -> tuple[str, str]:
    """The text without its code blocks, and the body of the block that ends the answer, if one does."""
    outside: list[str] = []
    block: list[str] | None = None
    closing_block = ""
    for line in answer.split("\n"):
        if _FENCE_LINE.match(line):
            closing_block = "\n".join(block).strip() if block is not None else ""
            block = [] if block is None else None
        elif block is not None:
            block.append(line)
        else:
            outside.append(line)
            closing_block = closing_block if not line.strip() else ""
    return "\n".join(outside), closing_block if block is None else ""


def _json_on_its_own_lines(text: str) -> list[str]:
    own = []
    for span in spans(text):
        end = span.start + len(span.text)
        line_start = text.rfind("\n", 0, span.start) + 1
        line_end = text.find("\n", end)
        around = text[line_start : span.start] + text[end : line_end if line_end >= 0 else None]
        if span.closed and not around.strip():
            own.append(span.text)
    return own
