"""The parts of a task besides code: tests, documentation, a changelog entry. Pure."""

import re
from collections.abc import Collection

from surefoot.prompting.project.folder import is_test

_VERB = r"(?:add|adds|adding|write|include|extend|update|create|provide|cover|mention|document|with|and|plus)"
_WORDS = r"(?:(?!not\b|no\b|without\b)[\w'`*/.-]+\s+){0,4}?"
_NOT = r"(?<!not )(?<!n't )(?<!never )(?<!without )(?<!no )"
_ZH_VERB = r"(?<!不要)(?<!无需)(?<!不用)(?:添加|新增|增加|编写|补充|补|写|更新|扩展|(?<![添增])加|附)"
_PASSING = r"(?!\s+(?:pass|passes|passing|still|run|runs|succeed|fail|green|are|is|should|must|that)\b)"

_ASKED: dict[str, re.Pattern[str]] = {
    "tests": re.compile(
        rf"{_NOT}\b{_VERB}\s+{_WORDS}(?:tests?|test cases?|unit tests?)\b{_PASSING}"
        rf"|{_ZH_VERB}[^，。；,;.\n]{{0,12}}测试",
        re.IGNORECASE,
    ),
    "documentation": re.compile(
        rf"{_NOT}\b{_VERB}\s+{_WORDS}(?:docs|documentation|readme(?:\.\w+)?)\b"
        rf"|{_ZH_VERB}[^，。；,;.\n]{{0,12}}(?:文档|说明|README)",
        re.IGNORECASE,
    ),
    "a changelog entry": re.compile(
        rf"{_NOT}\b{_VERB}\s+{_WORDS}(?:changelog|change log|release notes?)\b"
        rf"|{_ZH_VERB}[^，。；,;.\n]{{0,12}}(?:更新日志|变更日志|变更记录|CHANGELOG)",
        re.IGNORECASE,
    ),
}
_DOCUMENT = re.compile(r"(?:^|/)docs?/|\.(?:md|rst|adoc|txt)$|(?:^|/)readme", re.IGNORECASE)
_CHANGELOG = re.compile(r"(?:^|/)[^/]*(?:change|news|history|release|version|whatsnew)[^/]*(?:/|$)", re.IGNORECASE)


def parts_asked_for(task: str) -> list[str]:
    """Return the parts that the words of a task ask for."""
    return [part for part, pattern in _ASKED.items() if pattern.search(task)]


def missing_parts(task: str, changed: Collection[str]) -> list[str]:
    """Return the parts that a task asks for and that none of the changed files can be."""
    found = {
        "tests": any(map(is_test, changed)),
        "documentation": any(_DOCUMENT.search(path) for path in changed),
        "a changelog entry": any(_CHANGELOG.search(path) for path in changed),
    }
    return [part for part in parts_asked_for(task) if not found[part]]


_QUESTION = re.compile(
    r"[?\uff1f]\s*$|^\s*(?:please\s+)?(?:what|why|how|which|where|who|when|explain|describe|tell|summari[sz]e|review|"
    r"analy[sz]e|compare|find out|answer)\b"
    r"|吗[。？]?\s*$|^\s*请?(?:解释|说明|分析|总结|什么|为什么|如何|怎么)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^\s*(?:can|could|would|will) you\s+(?:please\s+)?(?!explain|tell|describe|say|show|find out|review)"
    r"|^\s*(?:你|您)?(?:能|可以|请)(?!解释|说明|告诉|分析|总结)",
    re.IGNORECASE,
)
"""`Could you add a flag?` asks for a change."""


def is_question(task: str) -> bool:
    """Whether a task asks for an answer and not for a change."""
    return _QUESTION.search(task) is not None and _POLITE.search(task) is None
