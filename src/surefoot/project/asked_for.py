"""Find the parts besides code that a task asks for: tests, documentation, a changelog entry, and changes of documents
that it names. Pure."""

import re
from collections.abc import Collection, Iterator

from surefoot.project.folder import is_test
from surefoot.project.named_documents import DOCUMENT_NAME, documents_asked_for, is_changed

_MAKE = (
    r"add(?:s|ing)?|writ(?:e|es|ing)|includ(?:e|es|ing)|extend(?:s|ing)?|updat(?:e|es|ing)|creat(?:e|es|ing)|"
    r"provid(?:e|es|ing)|cover(?:s|ing)?|mention(?:s|ing)?|document(?:s|ing)?|adapt(?:s|ing)?|"
    r"adjust(?:s|ing)?|say(?:ing)?"
)
"""Verbs that ask for their object."""
_BUILD = (
    r"implement(?:s|ing)?|build(?:s|ing)?|develop(?:s|ing)?|mak(?:e|es|ing)|giv(?:e|es|ing)|introduc(?:e|es|ing)|"
    r"support(?:s|ing)?"
)
_CHANGE = (
    r"fix(?:es|ing)?|chang(?:e|es|ing)|refactor(?:s|ing)?|renam(?:e|es|ing)|mov(?:e|es|ing)|improv(?:e|es|ing)|"
    r"replac(?:e|es|ing)"
)
"""Verbs that ask for a part only if it is joined to their object: `implement it with tests`."""
_LOOK = (
    r"read(?:s|ing)?|look(?:s|ing)?|understand(?:s|ing)?|inspect(?:s|ing)?|review(?:s|ing)?|stud(?:y|ies|ying)|"
    r"examin(?:e|es|ing)|analy[sz](?:e|es|ing)|explor(?:e|es|ing)|open(?:s|ing)?|view(?:s|ing)?|see(?:s|ing)?|"
    r"find(?:s|ing)?|locat(?:e|es|ing)|search(?:es|ing)?|list(?:s|ing)?|identif(?:y|ies|ying)|check(?:s|ing)?|"
    r"verif(?:y|ies|ying)|compar(?:e|es|ing)|run(?:s|ning)?|rerun(?:s|ning)?|execut(?:e|es|ing)|pass(?:es|ing)?|"
    r"satisf(?:y|ies|ying)|us(?:e|es|ing)|keep(?:s|ing)?|let(?:s|ting)?|know(?:s|ing)?|learn(?:s|ing)?|"
    r"collect(?:s|ing)?|break(?:s|ing)?|follow(?:s|ing)?|match(?:es|ing)?|remov(?:e|es|ing)|delet(?:e|es|ing)|"
    r"skip(?:s|ping)?|summari[sz](?:e|es|ing)|explain(?:s|ing)?|describ(?:e|es|ing)"
)
_NO_VERB = r"(?<![-`_./\w])(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bits )"
"""In `a run command`, `run` is not a verb."""
_VERB = re.compile(
    rf"{_NO_VERB}(?:(?P<make>{_MAKE})|(?P<build>{_BUILD})|(?P<change>{_CHANGE})|(?P<look>{_LOOK}))(?![\w.(-])",
    re.IGNORECASE,
)
_STOP = (
    r"to|that|so|which|until|from|against|by|under|like|per|as|of|on|about|for|where|because|when|than|not|no|without"
)
_DIRECT = re.compile(
    rf"^\s+(?:(?!(?:{_STOP})\b)[\w'`*/.,-]+\s+|(?:set|couple|number|suite) of\s+){{0,4}}$", re.IGNORECASE
)
_INTO = re.compile(
    r"^\s+(?:(?!according\b)[\w'`*/.-]+\s+){1,6}(?:to|in|into)\s+(?:the\s+|its\s+|our\s+)?$", re.IGNORECASE
)
"""`add a case to the tests`, `mention it in the docs`."""
_JOIN = r"(?:\b(?:and|with|plus|including|as well as)|,)\s+(?:also\s+)?"
_NEW = (
    r"(?:(?:an?|some|new|more|unit|integration|regression|matching|corresponding|good|\d+|two|three|full|its|their)"
    r"\s+)*"
)
_KNOWN = r"(?:(?:the|these|our|existing|all|related)\s+)*"
_JOINED = {
    "make": re.compile(rf"{_JOIN}{_KNOWN}{_NEW}$", re.IGNORECASE),
    "build": re.compile(rf"{_JOIN}{_NEW}$", re.IGNORECASE),
    "change": re.compile(rf"{_JOIN}(?:in\s+(?:the\s+)?|(?!(?:its|their)\b)){_NEW}$", re.IGNORECASE),
}
_NEGATED = re.compile(r"(?:\b(?:not|never|without|no need to)|n['\u2019]t)\s+(?:\w+\s+)?$", re.IGNORECASE)
_NO_SUBJECT = (
    r"(?!\s+(?:pass\w*|still|runs?|succeed|fail\w*|green|are|is|should|must|need|expect|call|check|import|require|use|"
    r"want|says?|describes?|can|will|exercise)\b)"
)
"""`the tests pass` and `what the tests need` do not ask for tests."""

_NOUNS: dict[str, re.Pattern[str]] = {
    "tests": re.compile(
        r"(?<![\w./-])(?:(?:unit )?tests(?![\w/])|tests?/[\w./-]*\w"
        r"|test (?:coverage|cases?|files?|functions?|suites?|modules?|class(?:es)?|methods?)\b"
        r"|test(?=\s*$|\s*[.,;:!?)]|\s+(?:for|of|that|which|in|to|and|on|with|covering|where|when|if|first|too)\b))"
        rf"{_NO_SUBJECT}",
        re.IGNORECASE,
    ),
    "documentation": re.compile(
        rf"(?<![\w./-])(?:docs|documentation|readme(?:\.\w+)?)(?![\w/]){_NO_SUBJECT}", re.IGNORECASE
    ),
    "a changelog entry": re.compile(
        rf"(?<![\w./-])(?:changelog(?:\.\w+)?|change log|release notes?)\b{_NO_SUBJECT}", re.IGNORECASE
    ),
}
_ZH_VERB = re.compile(
    r"(?P<make>添加|新增|增加|编写|补充|补全|创建|更新|扩展|完善|(?<![添增])加|补|(?<!编)写(?!完)|附|配上|带上"
    r"|(?:需要|应该|必须|[要需应须])(?:有|包含|包括|带|附)|(?<!不)需要(?=(?:单元|回归|集成)?(?:测试|文档)))"
    r"|(?P<build>实现|开发|构建|制作)"
    r"|(?P<look>阅读|读取|查看|检查|运行|执行|了解|理解|分析|通过|查找|搜索|浏览|审查|比较|对比|满足|修改|修复|使用|熟悉|总结|删除|跳过|跑|看|找)"
)
_ZH_NOUNS: dict[str, str] = {
    "tests": "测试",
    "documentation": r"文档(?!字符串|注释)|说明|README(?!\.[A-Za-z])",
    "a changelog entry": r"更新日志|变更日志|变更记录|CHANGELOG(?!\.[A-Za-z])",
}
_ANY_NOUN = re.compile(
    rf"test|doc|readme|change ?log|release note|{'|'.join(_ZH_NOUNS.values())}|{DOCUMENT_NAME}", re.IGNORECASE
)
"""Matches every text that asks for a part. Most texts can be ruled out by it."""
_ZH_AFTER = r"(?!的|通过|数据|环境|结果|报告|框架|命令|失败|一下|一遍)"
_ZH_JOINED = re.compile(r"(?:和|及其?|以及其?|与|连同|并附|带)(?:其|它的)?(?:单元|回归|集成)?$")
_ZH_NEGATED = re.compile(r"(?:不要|无需|不用|不必|不得|不能|请勿|别|勿|不)(?:再|去)?$")
_ZH_MAX_GAP = 12
_DOCUMENT = re.compile(r"(?:^|/)docs?/|\.(?:md|rst|adoc|txt)$|(?:^|/)readme", re.IGNORECASE)
_CHANGELOG = re.compile(r"(?:^|/)[^/]*(?:change|news|history|release|version|whatsnew)[^/]*(?:/|$)", re.IGNORECASE)
_LOG_NAMES = r"change[-_ ]?logs?|changes|news|history|releases?|release[-_ ]?notes?|what['\u2019]?s?[-_ ]?new"
_IS_LOG = re.compile(rf"(?:^|/)(?:{_LOG_NAMES}|newsfragments)(?:[-_.]?v?\d[^/]*|\.[a-z]+)?(?:/|$)", re.IGNORECASE)
"""A file, or a folder of files, that is surely a changelog."""
_NOT_DOCUMENTATION = re.compile(
    r"(?:^|/)(?:licen[sc]e|copying|notice|authors|contributors|code_of_conduct|(?:\w+[-_])?requirements)\b[^/]*$"
    r"|(?:^|/)(?:\.[^/]+|node_modules|venv|tests?)/|^(?!(?:.*/)?(?:docs?/|readme)).*\.txt$",
    re.IGNORECASE,
)
_LOG_HEADING = re.compile(
    rf"^[ \t]*(?:(?:\#+|=+)[ \t]*(?:{_LOG_NAMES})\b.*|(?:{_LOG_NAMES})[ \t]*\n[=\-~^*+\#`\"]{{3,}}[ \t]*)$",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading in Markdown, AsciiDoc or reStructuredText."""
_PLACE = re.compile(
    rf"\s+(?:section\s+|entry\s+)?(?:(?P<there>there\b)|(?:in|of)\s+(?:the\s+)?['\"`]?(?P<file>{DOCUMENT_NAME}))",
    re.IGNORECASE,
)
"""`the release notes in README.rst` are a part of that file."""
_CHANGE_OF = "a change of "


def parts_asked_for(task: str) -> list[str]:
    """Return the parts that a task, or the name of a step, asks for. The verb decides: a part that is only read, run
    or named is not asked for. A document that the task names as the place to write to is a part of its own."""
    if _ANY_NOUN.search(task) is None:
        return []
    sentences = re.split(r"(?<=[.!?])\s+|[;\n。；！？]", task)
    asked = {part: [where for s in sentences for where in (*_asks(part, s), *_asks_zh(part, s))] for part in _NOUNS}
    documents = [where for places in asked.values() for where in places if where] + documents_asked_for(task)
    return [
        *(part for part, places in asked.items() if "" in places),
        *(f"{_CHANGE_OF}{path}" for path in dict.fromkeys(documents)),
    ]


def asks_for_documents(task: str) -> bool:
    """Whether a task asks for documentation, or for a change of a document that it names."""
    return any(part == "documentation" or part.startswith(_CHANGE_OF) for part in parts_asked_for(task))


def _asks(part: str, sentence: str) -> Iterator[str]:
    """Yield for each time that the sentence asks for the part the document that it belongs in, empty if any will do."""
    verbs = list(_VERB.finditer(sentence))
    for noun in _NOUNS[part].finditer(sentence):
        verb = next((verb for verb in reversed(verbs) if verb.end() <= noun.start()), None)
        if verb is None or verb["look"] or _NEGATED.search(sentence[: verb.start()]):
            continue
        kind, between = next(k for k in _JOINED if verb[k]), sentence[verb.end() : noun.start()]
        # `named_documents` decides on the other wordings with the name of a file.
        direct = kind == "make" and "." not in noun[0] and (_DIRECT.search(between) or _INTO.search(between))
        if direct or _JOINED[kind].search(between):
            yield "" if part == "tests" else _place_of(noun, sentence)


def _place_of(noun: re.Match[str], sentence: str) -> str:
    """Return the document that a part belongs in; empty if the sentence does not say so."""
    if "." in noun[0]:
        return noun[0]  # `implement it with README.md`
    place = _PLACE.match(sentence, noun.end())
    if place is None or place["file"]:
        return place["file"] if place else ""
    before = re.findall(DOCUMENT_NAME, sentence[: noun.start()], re.IGNORECASE)
    return str(before[-1]) if before else ""


def _asks_zh(part: str, sentence: str) -> Iterator[str]:
    for clause in re.split(r"[，,]", sentence):
        verbs = list(_ZH_VERB.finditer(clause))
        for noun in re.finditer(rf"(?:{_ZH_NOUNS[part]}){_ZH_AFTER}", clause, re.IGNORECASE):
            verb = next((verb for verb in reversed(verbs) if verb.end() <= noun.start()), None)
            if verb is None or verb["look"] or _ZH_NEGATED.search(clause[: verb.start()]):
                continue
            between = clause[verb.end() : noun.start()]
            if (verb["make"] and len(between) <= _ZH_MAX_GAP) or _ZH_JOINED.search(between):
                # In `在 doc/guide.md 里补充说明`, the file is the part.
                yield "" if part == "tests" else next(reversed(documents_asked_for(clause)), "")


def missing_parts(
    task: str, changed: Collection[str], *, existing: Collection[str] = (), logged: Collection[str] = ()
) -> list[str]:
    """Return the parts that a task asks for and that no changed file provides.

    `existing` are the files of the project, and `logged` the changed documents with a new entry in a changelog section
    (see `has_new_log_entry`). A changelog is no documentation, unless the project has no other.
    """
    other = any(map(_is_documentation, (*existing, *changed)))
    is_there = {
        "tests": any(map(is_test, changed)),
        "documentation": any(_DOCUMENT.search(p) and not (other and _IS_LOG.search(p)) for p in changed),
        "a changelog entry": bool(logged) or any(_CHANGELOG.search(path) for path in changed),
    }
    return [
        part
        for part in parts_asked_for(task)
        if not (is_there[part] if part in is_there else is_changed(part.removeprefix(_CHANGE_OF), changed))
    ]


def _is_documentation(path: str) -> bool:
    return bool(_DOCUMENT.search(path)) and not (_IS_LOG.search(path) or _NOT_DOCUMENTATION.search(path))


def is_document(path: str) -> bool:
    """Whether a file is a text for people, such as documentation or a changelog."""
    return _DOCUMENT.search(path) is not None


def has_new_log_entry(before: str, after: str) -> bool:
    """Whether a document has a section such as *Changelog* or *Release notes*, and changed in or below it."""
    section, earlier = _LOG_HEADING.search(after), _LOG_HEADING.search(before)
    if section is None:
        return False
    return earlier is None or after[section.start() :] != before[earlier.start() :]


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
