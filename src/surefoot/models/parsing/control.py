"""Parse the control envelope of an answer, which says that a step is done or that the plan must change.

It counts only on its own: as the whole answer, on a separate line outside code, or as the only content of a fenced
block at the end. Sentences and code that merely contain the words do not count.
"""

import json
import re
from typing import Any, Literal

from surefoot.models.parsing.json_text import spans
from surefoot.models.parsing.thinking import without_thinking

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
_ONLY_WITH_KEY = {"done"}
"""Words that are too common to count on their own."""
_KEY = r"[\"'`*]*(?:control|控制)[\"'`*]*\s*[:：=]\s*"
_WORD = r"(?P<word>[A-Za-z]+(?:[ _-][A-Za-z]+)?|[\u4e00-\u9fff]{4,8})"
_KEYED = re.compile(rf"^{_KEY}[\"'`*\[【(]*{_WORD}[\"'`*\]】)]*[.。!！,，]?$", re.IGNORECASE)
_TAGGED = re.compile(rf"^<control(?:\s+\w+=)?[\s>\"']*{_WORD}[\s\"']*(?:/>|>?\s*</control\s*>|>)$", re.IGNORECASE)
_BRACKETED = re.compile(rf"^(?:\[|【|<|<\||\*\*|__|`)\s*{_WORD}\s*(?:\]|】|/?>|\|>|\*\*|__|`)[.。!！]?$", re.IGNORECASE)
_ALONE = re.compile(rf"^{_WORD}[.。!！]?$")
_WITH_REASON = re.compile(r"^(?P<word>STEP_DONE|REPLAN|步骤完成|重新规划)\s*[:：—-]\s*\S")
_MAX_LINE_CHARS = 300
_FENCE_LINE = re.compile(r"^\s*(?:`{3,}|~{3,})")


def read_control(text: str) -> Control | None:
    """The last envelope in the answer, or None."""
    answer = without_thinking(text).strip()
    whole = _in_json(answer)
    if whole:
        return whole
    outside, closing_block = _outside_code(answer)
    if closing_block:
        control = _in_json(closing_block) or _in_line(closing_block, only_line="\n" not in closing_block)
        if control:
            return control
    controls = [_in_line(line.strip(), only_line=line.strip() == answer) for line in outside.split("\n")]
    controls += [_in_json(span) for span in _json_on_its_own_lines(outside)]
    return next((control for control in reversed(controls) if control), None)


def _in_json(text: str) -> Control | None:
    """`{"control": "step_done"}`, alone or beside other fields."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _control(value["control"]) if isinstance(value, dict) and isinstance(value.get("control"), str) else None


def _in_line(line: str, *, only_line: bool) -> Control | None:
    if len(line) > _MAX_LINE_CHARS:
        return None
    for form in (_KEYED, _TAGGED):
        if match := form.match(line):
            return _control(match["word"])
    for form in (_BRACKETED, _WITH_REASON):
        if (match := form.match(line)) and match["word"].lower() not in _ONLY_WITH_KEY:
            return _control(match["word"])
    if match := _ALONE.match(line):
        word = match["word"]
        # In prose "step done" and "replan" are ordinary words; in capitals or as an identifier they are not.
        is_signal = word.isupper() or "_" in word or not word.isascii() or only_line
        return _control(word) if is_signal and word.lower() not in _ONLY_WITH_KEY else None
    return None


def _control(word: str) -> Control | None:
    return _WORDS.get(re.sub(r"[\s-]+", "_", word.strip().lower()))


def _outside_code(answer: str) -> tuple[str, str]:
    """The text without its code blocks, and the body of the block at the end of the answer, if any."""
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
    texts = []
    for span in spans(text):
        end = span.start + len(span.text)
        line_start = text.rfind("\n", 0, span.start) + 1
        line_end = text.find("\n", end)
        around = text[line_start : span.start] + text[end : line_end if line_end >= 0 else None]
        if span.closed and not around.strip():
            texts.append(span.text)
    return texts
