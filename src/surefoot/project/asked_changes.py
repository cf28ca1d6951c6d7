"""Find out from the wording of a task which tests, scripts and settings it asks to change. Pure.

These files decide what checks do, so being named is not enough: `make tests/test_a.py pass` names a file that must stay
as it is. A task asks for a change by a verb with the file as its object: `add a case to tests/test_a.py`, `the Makefile
needs a lint target`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from surefoot.project.task_text import to_be_left_alone

_VERB = (
    r"(?:add|append|adapt|adjust|bump|change|configure|convert|correct|create|delete|drop|edit|extend|fill in|fix"
    r"|generate|implement|insert|introduce|make|mark|migrate|modify|move|port|provide|put|refactor|regenerate|register|remove"
    r"|rename|replace|rewrite|save|set|split|translate|turn|update|write)"
)
_DOING = r"(?:adding|changing|creating|editing|extending|modifying|rewriting|updating|writing)"
_BETWEEN = (
    r"(?!(?:that|which|so|until|till|when|while|if|because|since|against|per|by|using|with|without|via|like|from|shown"
    r"|described|specified|required|needed|expected|failing|failed|fails|pass|passes|passing|satisfy|match|fit|meet|follow"
    r"|run|runs|make|makes|see|not|is|are|was|were)\b)(?:\S*[^\s.,;:!?]|[\w./-]+\.\w+,)\s+"
)
"""A word that may stand between the verb and its object."""
_LAST = r"(?!(?:for|by|with|from|against|under|via|like|per|of\s+what)\b)"
_NOT_TO_PASS = (
    r"(?!\W*\s*(?:to\s+)?"
    r"(?:pass|passes|passing|succeed|succeeds|green|work|works|run|runs|exit|fail|fails|failing)\b)"
)
"""`make X pass` does not ask to change X."""
_NEEDS = (
    r"\W*\s+(?:file\s+)?(?:should|must|needs?|has to|is to)\s+(?:to\s+)?(?:be\s+)?"
    r"(?:adapt|adjust|chang|contain|correct|creat|defin|edit|extend|includ|modif|renam|replac|rewrit|updat|written|a|an|new)"
)
_VERB_ZH = r"(?:修改|更新|扩展|补充|添加|增加|新增|编写|写|创建|新建|更改|改|修复|调整|配置|重写|删除|生成)"


def asks_to_change(path: str, task: str) -> bool:
    """Whether the task asks to make, change or remove this file, by its own name or that of its folder."""
    if path in to_be_left_alone(task, [path]):
        return False
    words = task.lower()
    *folders, name = path.split("/")
    asks = False
    if name.lower() in words:
        # `__init__.py` alone is ambiguous: many folders have one.
        needed = 1 if folders and name in _COMMON_NAMES else 0
        asks = _asks(_with_folders(name, folders, needed), task)
    parents = ("/".join(folders[: n + 1]) + "/" for n in range(len(folders)))
    return asks or any(_asks(re.escape(folder), task) for folder in parents if folder.lower() in words)


def asks_to_move(path: str, task: str) -> bool:
    """Whether the task asks to move or rename this file."""
    if path in to_be_left_alone(task, [path]):
        return False
    *folders, name = path.split("/")
    quoted = rf"['\"`]?(?<![\w/-])(?:\./)?{_with_folders(name, folders, 0)}(?![\w/-]|\.\w)['\"`]?"
    moves = rf"(?<!not )(?<!n't )(?<!never )\b(?:move|rename)\s+(?:\S+\s+){{0,3}}?{quoted}|(?:移动|重命名)\s*{quoted}"
    return (
        re.search(rf"{moves}|(?:把|将)\s*{quoted}[^，。；,;\n]{{0,8}}(?:移|改名|重命名)", task, re.IGNORECASE)
        is not None
    )


_COMMON_NAMES = frozenset(("__init__.py", "__main__.py", "index.js", "index.ts", "mod.rs", "main.go", "package.json"))


def _with_folders(name: str, folders: Sequence[str], needed: int) -> str:
    """Return a pattern for a file's name with or without its folders; the innermost `needed` ones are required."""
    pattern = ""
    for depth, folder in enumerate(folders):
        written = f"(?:{pattern}{re.escape(folder)}/)"
        pattern = written if len(folders) - depth <= needed else f"{written}?"
    return pattern + re.escape(name)


def asks_for_tests(task: str) -> bool:
    """Whether new tests are part of the task: `write unit tests for it`, `补充测试`."""
    return _asks(r"(?:\w+\s+)?tests?(?:\s+(?:cases?|suite|coverage|functions?|file))?", task, _WRITES) or bool(
        re.search(rf"{_VERB_ZH}[^，。；,;.\n]{{0,12}}测试", task)
    )


def asks_to_configure(tool: str, task: str) -> bool:
    """Whether the settings of a tool are part of the task: `configure pytest to ...`, `the ruff rules`."""
    name = re.escape(tool)
    return bool(
        re.search(
            rf"\b(?:configur\w*|set\s+up|enabl\w*|register\w*|tell|teach|integrat\w*|add|make)"
            rf"\s+(?:\S+\s+){{0,2}}?{name}\b{_NOT_TO_PASS}"
            rf"|\b{name}(?:['’]s)?\s+(?:config\w*|settings?|options?|markers?|plugins?|sections?|rules?|scripts?|targets?)\b"
            rf"|\[tool\.{name}\b|配置\s*{name}|{name}\s*(?:的)?配置",
            task,
            re.IGNORECASE,
        )
    )


def asks_to_install(task: str) -> bool:
    """Whether packages or environments are part of the task: `install requests`, `create a virtual environment`."""
    return bool(
        re.search(
            r"\b(?:install|upgrade|downgrade|vendor)\b"
            r"|\b(?:add|bump|pin|update|remove|create|set\s+up|recreate)\s+(?:\S+\s+){0,4}"
            r"(?:dependenc\w+|virtual\s*env\w*|venv|environment|node_modules)\b|安装|依赖|虚拟环境",
            task,
            re.IGNORECASE,
        )
    )


_WRITES = r"(?:add|append|create|extend|include|introduce|provide|write)"


def _asks(name: str, task: str, verb: str = _VERB) -> bool:
    return any(pattern.search(task) is not None for pattern in _patterns(name, verb))


@lru_cache(maxsize=256)
def _patterns(name: str, verb: str) -> tuple[re.Pattern[str], ...]:
    quoted = rf"['\"`]?(?<![\w/-])(?:\./)?{name}(?![\w/-]|\.\w)['\"`]?"
    gap = rf"(?:{_BETWEEN}){{0,9}}?{_LAST}"
    return (
        re.compile(rf"(?<![\w-])(?:{verb}|{_DOING})\s+{gap}{quoted}{_NOT_TO_PASS}", re.IGNORECASE),
        re.compile(rf"\bin\s+(?:the\s+)?{quoted}[\s,:]+(?:please\s+)?{verb}\b", re.IGNORECASE),
        re.compile(rf"{quoted}\s*:\s*{verb}\b", re.IGNORECASE),
        re.compile(rf"{quoted}{_NEEDS}", re.IGNORECASE),
        re.compile(rf"{_VERB_ZH}[^，。；,;\n]{{0,10}}?(?<!使)(?<!让){quoted}(?!\s*(?:通过|能|成功))"),
        re.compile(rf"(?:在|给|为|往|向|把|将)\s*{quoted}[^，。；,;\n]{{0,8}}{_VERB_ZH}"),
    )
