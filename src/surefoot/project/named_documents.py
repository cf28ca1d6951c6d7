"""Find the documents that a task names as places to write to: `mention it in doc/guide.md`. Pure.

Programs, data and tests are not found here: `file_roles` does that for files that a plan has to make or change.
"""

import re
from collections.abc import Collection

from surefoot.project.task_text import to_be_left_alone

_PROJECT_TEXTS = (
    r"readme|change[-_]?log|changes|history|news|release[-_]?notes|releases|whats[-_]?new|upgrading|migration"
)
DOCUMENT_NAME = (
    r"(?<![A-Za-z0-9_/.-])(?:"
    r"(?:\.{0,2}/)?(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]*[A-Za-z0-9_-]\.(?:md|markdown|rst|adoc|rdoc)"
    r"|(?:\./)?(?:[A-Za-z0-9_.-]+/)*docs?/(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]*[A-Za-z0-9_-]\.txt"
    rf"|(?:[A-Za-z0-9_.-]+/)*(?:{_PROJECT_TEXTS})[A-Za-z0-9_.-]*\.txt"
    r"|(?-i:NEWS|HISTORY|CHANGES|UPGRADING)"
    r")(?![A-Za-z0-9_/-]|\.[A-Za-z0-9])"
)
"""A pattern, to be compiled without regard to case. It contains no group."""
_NAME = re.compile(DOCUMENT_NAME, re.IGNORECASE)

_TELL = (
    r"mention(?:ing)?|document(?:ing)?|describ(?:e|ing)|explain(?:ing)?|not(?:e|ing)|record(?:ing)?|stat(?:e|ing)|"
    r"say(?:ing)?|announc(?:e|ing)"
)
"""Verbs whose place is a document: `describe it in X`."""
_PUT = r"add(?:ing)?|append(?:ing)?|insert(?:ing)?|put(?:ting)?|writ(?:e|ing)|list(?:ing)?|includ(?:e|ing)"
"""Verbs whose place is a document if it comes after `to`, or if their object is text: `add a note in X`."""
_EDIT = (
    r"updat(?:e|ing)|edit(?:ing)?|extend(?:ing)?|adapt(?:ing)?|adjust(?:ing)?|revis(?:e|ing)|rewrit(?:e|ing)|"
    r"chang(?:e|ing)|creat(?:e|ing)"
)
"""Verbs whose object is a document: `update X`."""
_OTHER = (
    r"read(?:ing)?|see|look(?:ing)?|follow(?:ing)?|check(?:ing)?|us(?:e|ing)|compar(?:e|ing)|review(?:ing)?|"
    r"inspect(?:ing)?|open(?:ing)?|study(?:ing)?|find(?:ing)?|search(?:ing)?|verify(?:ing)?|run(?:ning)?|test(?:ing)?|"
    r"summari[sz](?:e|ing)|analy[sz](?:e|ing)|understand(?:ing)?|delet(?:e|ing)|remov(?:e|ing)|skip(?:ping)?|"
    r"leav(?:e|ing)|keep(?:ing)?|touch(?:ing)?|implement(?:ing)?|build(?:ing)?|fix(?:ing)?|refactor(?:ing)?|"
    r"renam(?:e|ing)|mov(?:e|ing)|convert(?:ing)?|render(?:ing)?|pars(?:e|ing)|load(?:ing)?|copy(?:ing)?|match(?:ing)?|"
    r"consult(?:ing)?|refer(?:ring)?|generat(?:e|ing)|sav(?:e|ing)|export(?:ing)?|print(?:ing)?|tell|show(?:ing)?"
)
_VERB = re.compile(
    r"(?<![-`_./\w'\"])(?<!\ba )(?<!\ban )(?<!\bthe )(?<!\bits )(?<!\bnew )(?<!\bhow to )(?<!\bwhen to )"
    rf"(?:(?P<tell>{_TELL})|(?P<put>{_PUT})|(?P<edit>{_EDIT})|(?P<other>{_OTHER}))(?![\w.(/-])",
    re.IGNORECASE,
)
_BY_PROGRAM = re.compile(
    r"\b(?:script|program|tool|command|option|flag|function|method|class|parameter|argument|mode|switch|helper|module|"
    r"code|able|used|that|which|it|they)\s+(?:(?:to|can|will|should|must|may|shall|could|would)\s+)+(?:\w+ly\s+)?$"
    r"|\b(?:that|which|who)\s+$",
    re.IGNORECASE,
)
"""Words before a verb that say what a program does: `an option to write the list to out.md`."""
_NEGATED = re.compile(r"(?:\b(?:not|never|without|no need to|instead of|rather than)|n['\u2019]t)\s+(?:\w+\s+)?$", re.I)
_STOP = re.compile(
    r"\b(?:that|so|which|until|from|against|by|like|per|because|than|according|whether)\b|\bto\s+(?:match|follow|fit|see)\b",
    re.IGNORECASE,
)
"""Words after which a document is read and not written to."""
_INTO = (
    r"(?:(?:at\s+)?(?:the\s+)?(?:end|top|bottom|beginning|start)\s+of|{})\s+"
    r"(?:(?:the|our|its|a|new|file|document)\s+)*['\"`]?$"
)
_IN_OR_TO = re.compile(rf"\s{_INTO.format('in|to|into|at|under|inside')}", re.IGNORECASE)
_TO = re.compile(rf"\s{_INTO.format('to|into')}", re.IGNORECASE)
_REFERS = re.compile(
    r"\b(?:described|documented|specified|defined|listed|explained|mentioned|shown|given|stated|found|noted|recorded|"
    r"outlined|proposed|used|as|format|spec|specification|rules?|grammar|schema)\s+(?:in|at|under|inside)\s+"
    r"|\b(?:links?|references?|pointers?|paths?|due|next|equal|similar|compared|refers?|refer|points?|goes|moved)\s+to\s+",
    re.IGNORECASE,
)
_TEXT = re.compile(
    r"\b(?:entry|entries|lines?|notes?|sections?|examples?|sentences?|paragraphs?|words?|description|docs|documentation|"
    r"mentions?|remarks?|chapters?|bullets?|items?|rows?|tables?|headings?|changelog|release notes?|explanation|"
    r"instructions|it|this|them|that|new)\b",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"describe|explain|list|state|say", re.IGNORECASE)
"""`Explain the terms in docs/terms.md` asks for an answer; `Explain it in docs/terms.md` does not."""
_PRONOUN = re.compile(r"\s+(?:it|this|that|them|these)\b", re.IGNORECASE)
_CODE = re.compile(
    r"\b(?:to|tests?|code|parsers?|functions?|scripts?|modules?|program|class(?:es)?)\b(?=.*\sin\s)", re.I
)
_ADJECTIVE = re.compile(
    r"['\"`]?\s+(?:parser|reader|writer|loader|checker|linter|renderer|generator|converter|format|support|template|check)"
    r"s?\b",
    re.IGNORECASE,
)
"""`update the README.md parser` does not ask for a change of README.md."""
_DIRECT = re.compile(r"^\s+(?:(?!(?:to|of|in|on|at|for|about|as|with|without|not|no)\b)[\w-]+\s+){0,4}['\"`]?$")
_JOIN = re.compile(r"['\"`]?\s*(?:,|\b(?:and|plus|as well as)\b|、|和|与|及)\s*(?:and\s+)?(?:also\s+)?", re.IGNORECASE)
_LEAD = re.compile(r"(?:(?:in|to|into)\s+)?(?:(?:the|our)\s+)?['\"`]?$", re.IGNORECASE)
_WANTED = re.compile(
    r"^['\"`]?\s+(?:should|must|needs?|has|have)\s+(?:to\s+)?(?:also\s+)?(?:be\s+(?:updated|extended|adapted|changed)|"
    r"mention|describe|document|explain|say|list|contain|get|an?\s+(?:\w+\s+)?(?:entry|line|note|section|example))\b",
    re.IGNORECASE,
)
"""Words after a document that want it changed: `README.md should mention it`."""
_IN_FIRST = re.compile(rf"^['\"`]?\s*[,:]?\s*(?:please\s+)?(?:also\s+)?(?:{_TELL}|{_PUT}|{_EDIT})\b", re.IGNORECASE)
_BEGINS_WITH_IN = re.compile(r"(?:^|[,;:]|\band|\bthen|\balso)\s*in\s+(?:the\s+)?['\"`]?$", re.IGNORECASE)

_ZH_INTO = re.compile(
    r"(?:写[入到进]|记录?[在到于入]|添加[到进]|[加放]入?到?|加进|补充[到进]|更新到?|修改|补充|完善|扩展|编写|创建|新建|编辑)"
    r"\s*(?:文件|文档)?\s*['\"`「“]?$"
)
_ZH_IN = re.compile(r"[在给为往向于]\s*(?:文件|文档)?\s*['\"`「“]?$")
_ZH_VERB = re.compile(
    r"^['\"`」”]?\s*(?:文件|文档)?\s*(?:的[^，。；\n]{0,10}?)?(?:中|里|内|上|末尾|最后|开头)?[^，。；\n不勿别的]{0,8}?"
    r"(?:说明|写[明上下入]|注明|记录|提及|提到|描述|介绍|添加|增加|新增|补充|更新|列出|加[上一入]|写|记)"
    r"(?![^，。；\n]{0,2}的|过|于)"
)
_ZH_NEGATED = re.compile(
    r"(?:不要|无需|不用|不必|不得|不能|请勿|别|勿|不)(?:再|去|要)?(?:[在给往向]?[^，。；\n]{0,6})?$"
)
_ZH_READ = re.compile(r"(?:根据|按照?|参考|参照|阅读|读取|查看|依据|从)[^，。；\n]{0,6}$")


def documents_asked_for(task: str) -> list[str]:
    """Return the documents that a task names and asks to write to, in order, each once."""
    asked: dict[str, None] = {}
    for sentence in re.split(r"(?<=[.!?])\s+|[;\n。；！？]", task):
        names = list(_NAME.finditer(sentence))
        joined = False
        for index, name in enumerate(names):
            between = sentence[names[index - 1].end() : name.start()] if index else ""
            join = _JOIN.match(between)
            in_list = joined and join is not None and _LEAD.fullmatch(between, join.end()) is not None
            joined = in_list or _asks(sentence, name) or _asks_zh(sentence, name)
            if joined:
                asked.setdefault(name[0].removeprefix("./"))
    kept = to_be_left_alone(task, list(asked))
    return [path for path in asked if path not in kept]


def is_changed(name: str, changed: Collection[str]) -> bool:
    """Whether a document that a task names is among the changed files. A name without its folders, or without a suffix,
    stands for every such file."""
    wanted = name.lower().removeprefix("../")
    for path in map(str.lower, changed):
        stem = path if "." in wanted else re.sub(r"\.\w+$", "", path)
        if stem == wanted or stem.endswith(f"/{wanted}"):
            return True
    return False


def _asks(sentence: str, name: re.Match[str]) -> bool:
    before, after = sentence[: name.start()], sentence[name.end() :]
    if _WANTED.match(after) or (_BEGINS_WITH_IN.search(before) and _IN_FIRST.match(after)):
        return True
    before = re.sub(r"\([^()]*\)", " ", before)
    verb = next(reversed(list(_VERB.finditer(before))), None)
    if verb is None or verb["other"] or _NEGATED.search(before[: verb.start()]):
        return False
    between = before[verb.end() :]
    if _BY_PROGRAM.search(before[: verb.start()]) or _STOP.search(between):
        return False
    if _DIRECT.search(between) and _is_object(verb, after):
        return True
    if _IN_OR_TO.search(between) is None or any(
        found.end() >= len(between.rstrip("'\"`")) - 12 for found in _REFERS.finditer(between)
    ):
        return False
    is_first = before[: verb.start()].strip(" ,").lower() in ("", "please")
    if is_first and _ANSWERS.match(verb[0]) and not _PRONOUN.match(between):
        return False
    if verb["tell"] or _TO.search(between):
        return True
    if _TEXT.search(re.split(r"\b(?:for|of|to|on|about)\b", between)[0]):
        return True
    return bool(verb["edit"]) and not _CODE.search(between)


def _is_object(verb: re.Match[str], after: str) -> bool:
    """Whether a document directly after a verb is what the verb changes: not in `add X to the index`."""
    if _ADJECTIVE.match(after):
        return False
    puts = verb["put"] and not verb[0].lower().startswith(("list", "includ", "put", "insert"))
    return bool(verb["edit"] or (puts and not re.match(r"['\"`]?\s+(?:in|into|to)\b", after)))


def _asks_zh(sentence: str, name: re.Match[str]) -> bool:
    before, after = sentence[: name.start()], sentence[name.end() :]
    clause = re.split(r"[，,]", before)[-1]
    if _ZH_READ.search(clause):
        return False
    if into := _ZH_INTO.search(clause):
        return _ZH_NEGATED.search(clause[: into.start()]) is None
    place = _ZH_IN.search(clause)
    return place is not None and _ZH_NEGATED.search(clause[: place.start()]) is None and bool(_ZH_VERB.match(after))
