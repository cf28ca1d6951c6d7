"""Find out from the wording of a task whether it asks to change, remove or skip tests. Pure."""

import re
from collections.abc import Iterator

_WHICH = (
    r"(?:(?:the|these|those|any|all|our|its|their|unit|integration|existing|old|obsolete|outdated|failing|broken|"
    r"corresponding|related|affected|test)\s+)*"
)
_OBJECT = rf"{_WHICH}(?:tests?|test\s+(?:cases?|files?|suites?|functions?)|specs?)\b"
_VERBS = (
    r"\b(?:updat(?:e|ing)|chang(?:e|ing)|adapt(?:ing)?|adjust(?:ing)?|rewrit(?:e|ing)|modify(?:ing)?|refactor(?:ing)?|"
    r"migrat(?:e|ing)|port(?:ing)?|convert(?:ing)?|edit(?:ing)?|correct(?:ing)?|mov(?:e|ing)|renam(?:e|ing)|"
    r"replac(?:e|ing))\b"
)
_NO_STATEMENT = (
    r"(?!\s+(?:that\s+)?(?:pass|should|must|are|is|run|will|can|still|stay|succeed|work|need|fail|say)\w*\b)"
)
"""`and the tests pass` does not ask to change the tests."""
_CHANGE = re.compile(
    rf"{_VERBS}\s+(?:[\w.]+\s+and\s+|[\w.]+,\s+)?{_OBJECT}{_NO_STATEMENT}"
    rf"|{_VERBS}[^.;\n]{{0,80}}?\b(?:and|including|as well as)\s+(?:also\s+)?(?:in\s+)?{_OBJECT}{_NO_STATEMENT}"
    r"|(?:更新|修改|调整|改写|重写|重构|迁移|同步|适配|更改)[^，。；,.;]{0,10}?(?:测试|单测|用例)"
    r"|(?:测试|单测|用例)[^，。；,.;]{0,6}?(?:也要|一起|同步|一并|相应)(?:更新|修改|调整|改)",
    re.IGNORECASE,
)
_REMOVE = re.compile(
    rf"\b(?:delet(?:e|ing)|remov(?:e|ing)|drop(?:ping)?|get rid of)\s+{_OBJECT}"
    r"|(?:删除|删掉|移除|去掉)[^，。；,.;]{0,10}?(?:测试|单测|用例)",
    re.IGNORECASE,
)
_SKIP = re.compile(
    rf"\b(?:skip(?:ping)?|disabl(?:e|ing)|xfail|ignor(?:e|ing)|mute|quarantine)\s+{_OBJECT}"
    r"|(?:跳过|禁用|忽略|屏蔽)[^，。；,.;]{0,10}?(?:测试|单测|用例)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:do not|don['\u2019]t|never|must not|may not|should not|without|not to|no need to|instead of)"
    r"\W+(?:\w+\W+){0,2}$"
    r"|(?:不要|不得|不能|不可|不许|不准|请勿|别|勿|无需|不用|不)$",
    re.IGNORECASE,
)
_WORD = r"[`'\"]?(?P<{}>[A-Za-z_][\w.]*)(?:\(\))?[`'\"]?"
_RENAME = re.compile(
    r"\brenam(?:e|ing)\s+(?:the\s+)?"
    r"(?:(?:function|method|class|module|variable|field|argument|parameter|attribute|constant)\s+)?"
    rf"{_WORD.format('old')}\s+(?:to|into|as)\s+{_WORD.format('new')}"
    rf"|(?:把|将)?\s*{_WORD.format('old2')}\s*(?:重命名|改名|更名)(?:为|成)\s*{_WORD.format('new2')}",
    re.IGNORECASE,
)


def asks_to_change_tests(task: str) -> bool:
    """Whether the task asks to change existing tests. `fix the failing tests` does not: the code must be fixed."""
    return _asks(_CHANGE, task)


def asks_to_remove_tests(task: str) -> bool:
    return _asks(_REMOVE, task)


def asks_to_skip_tests(task: str) -> bool:
    return _asks(_SKIP, task)


def renamed_in(task: str) -> dict[str, str]:
    """Return the names that the task asks to replace: `rename total to total_price everywhere`."""
    renames = {}
    for match in _RENAME.finditer(task):
        old, new = match["old"] or match["old2"], match["new"] or match["new2"]
        renames[old.rstrip(".")] = new.rstrip(".")
    return renames


def tests_named_to_change(task: str) -> set[str]:
    """Return test files that directly follow a verb of changing: `update tests/test_api.py`, `修改 test_api.py`."""
    verbs = r"(?:add(?: \w+)* to|update|change|edit|extend|fix|rewrite|modify|修改|更新|扩展|补充)"
    return set(re.findall(verbs + r"\s+(?:the\s+)?(?:tests?\s+(?:in|of)\s+)?`?([\w./-]+\.\w+)", task, re.IGNORECASE))


def _asks(pattern: re.Pattern[str], task: str) -> bool:
    """Whether the pattern matches in the task, without a negation right before it."""
    return any(_NOT.search(sentence[: match.start()]) is None for sentence, match in _sentence_matches(pattern, task))


def _sentence_matches(pattern: re.Pattern[str], task: str) -> Iterator[tuple[str, re.Match[str]]]:
    for sentence in re.split(r"(?<=[.!?])\s+|[;。；！？\n]", task):
        for match in pattern.finditer(sentence):
            yield sentence, match
