"""The roles of the files that a task names: to be made or changed, only read, or made later by the program that the
task asks for. Pure."""

import re
from collections.abc import Collection, Sequence

from surefoot.project.asked_changes import asks_to_change
from surefoot.project.task_text import files_named_in, is_code, is_computed, is_file_like, is_prose, is_source

_READS = re.compile(
    r"\b(?:read|reads|reading|load|loads|parse|parses|use|uses|using|from|according to|given|based on|see|described in|"
    r"following|compare|with the (?:data|numbers|values|rows) (?:in|of)|as in|like in|specified in|defined in)\b"
    r"[^,;]{0,40}$|读取?[^，。；]{0,8}$|根据[^，。；]{0,8}$|从[^，。；]{0,8}$|参考[^，。；]{0,8}$|按照?[^，。；]{0,8}$",
    re.IGNORECASE,
)
"""Words before a file that is only read."""
_USED_IN = re.compile(r"\buse[sd]?\s+(?:it|them|this|that)\b.*\bin\b", re.IGNORECASE)
"""`use it in cart.py` changes cart.py."""
_LISTS = re.compile(
    r"\b(?:have|has|contains?|consists? of|comes with|there (?:is|are)|here (?:is|are)|existing|provided|available|"
    r"is in the folder|are in the folder)\b|里有|中有|下有|已有|现有|包含|包括|提供了",
    re.IGNORECASE,
)
"""Words before a list of existing files."""
_CHANGES = re.compile(
    r"\b(?:add|change|correct|create|delete|edit|extend|fix|implement|make|modify|move|put|refactor|remove|rename|repair|"
    r"replace|rewrite|save|split|update|write)\b|修改|更新|添加|增加|编写|写|创建|新建|改|修复|删除|生成|加",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"^['\"`]?\s+(?:is (?:an?|the|one of|our)|are|holds?|contains?|lists?|describes?|has|have)\b"
    r"|^['\"`]?\s*(?:是|里是|包含|记录|有)",
    re.IGNORECASE,
)
"""Words after a file that describe it."""
_FAULT = re.compile(
    r"\b(?:wrong|broken|bugs?|errors?|mistakes?|problems?|fails?|failing|crash\w*|hangs?|slow|missing|incorrect|lost)\b"
    r"|\bnot\b|错|坏|问题|失败|缺|丢|慢",
    re.IGNORECASE,
)
_MAKING = r"(?:write|save|create|produce|output|generate|export|store|dump|put)"
_PROGRAM_MAKES = re.compile(
    rf"\b{_MAKING}s\b"
    r"|\b(?:it|that|which|script|program|tool|command)\s+(?:\w+\s+)?(?:should|must|will|shall|has to|needs to)\s+"
    rf"(?:\w+\s+)?{_MAKING}\b"
    r"|(?:脚本|程序|工具).*(?:写到|写入|写出|输出|生成|保存|导出)",
    re.IGNORECASE,
)
"""Words before a file that a program makes. `writes` has the program as its subject; `write` is an order."""
_COMMAND = re.compile(r"(?:^|[\s`'\"])(?:python[\d.]*|sh|bash|node|\./\S+)\s+[^.;,。；，]*\S+\.\w+(?:\s+[\w./-]+)*\s+$")
"""A command line, up to its next argument."""
_RUN = re.compile(
    r"\b(?:then|and|now)\s+run\b|\brun\s+it\b(?!\s+again)|\bexecute\s+it\b|运行它|并运行|然后运行", re.IGNORECASE
)
_SEVERAL = re.compile(
    rf"\b(?:make|{_MAKING})\b[^.:]*\bfiles\s*:|(?:生成|写|创建|新建|输出)[^:：]*文件\s*[:：]", re.IGNORECASE
)
"""Words before a list of files to make."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[。！？\n]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def plain_targets(task: str, existing: Collection[str], protected: Collection[str]) -> list[str]:
    """Return the files that the task is about, if its wording and the folder leave no doubt; else none.

    That is one file, or several new ones that one program can compute from existing files.
    """
    known = {*existing, *(path.rsplit("/", 1)[-1] for path in existing)}
    # `customers.id` is a field of customers.csv, not a file: a name that does not exist must look like one.
    named = [f for f in files_named_in(task) if f not in protected and (f in known or is_file_like(f))]
    new = [path for path in named if path not in known]
    sources = [path for path in existing if is_code(path) and path not in protected]
    if len(new) == 1 and is_code(new[0]) and all(is_prose(path) for path in named if path not in new):
        return new
    if len(new) == 1 and is_computed(new[0], task, existing):
        return new
    if len(sources) == 1 and set(named) <= set(sources):
        return sources
    targets = [path for path in named if path in new or needs_step(path, task, existing)]
    targets = [path for path in targets if not is_made_by_program(path, task, new)]
    if not set(targets) <= set(new) or any(is_input(path, task) for path in targets):
        return []
    if len(targets) == 1:
        # Prose may be about files that the task does not name, so the whole project may have to be read.
        return targets if is_code(targets[0]) or len(named) > 1 else []
    return targets if all(is_computed(path, task, existing) for path in targets) else []


def new_files_asked_for(task: str, existing: Collection[str]) -> list[str]:
    """Return the new files that the task asks to make, except those that its program makes."""
    new = [path for path in files_named_in(task) if path not in existing]
    asked = [path for path in new if asks_to_change(path, task) and not is_input(path, task)]
    return [path for path in asked if not is_made_by_program(path, task, new)]


def is_input(path: str, task: str) -> bool:
    """Whether a missing data file is an input, not an output as in `write two files: a.csv and b.csv`."""
    return is_source(path, task) and not any(_SEVERAL.search(before) for before, _, _ in _mentions(path, task))


def needs_step(path: str, task: str, existing: Collection[str]) -> bool:
    """Whether a file needs a step that makes or changes it. An existing file that the task only reads or lists does
    not."""
    if path not in existing or path.rsplit("/", 1)[-1] not in task:
        return True
    return asks_to_change(path, task) or not (is_source(path, task) or is_only_read(path, task))


def is_only_read(path: str, task: str) -> bool:
    """Whether every mention of an existing file says that it is read, or only that it exists."""
    mentions = list(_mentions(path, task))
    return bool(mentions) and all(_is_read(before, after, listed) for before, after, listed in mentions)


def is_made_by_program(path: str, task: str, new: Sequence[str]) -> bool:
    """Whether a new file is the output of a new program that the task does not ask to run."""
    programs = [name for name in new if is_code(name)]
    if len(programs) != 1 or path == programs[0] or is_code(path) or _RUN.search(task):
        return False
    if task.find(programs[0]) > task.find(path):
        return False
    mentions = list(_mentions(path, task))
    return bool(mentions) and all(_PROGRAM_MAKES.search(before) or _COMMAND.search(before) for before, _, _ in mentions)


def _mentions(path: str, task: str) -> list[tuple[str, str, bool]]:
    """Each mention of a file: its sentence before and after the name, and whether it is in a list of existing files."""
    name = re.escape(path.rsplit("/", 1)[-1])
    pattern = re.compile(rf"(?<![\w.-])(?:[\w./-]+/)?{name}(?![\w-]|\.\w)")
    mentions = []
    heading = ""
    for sentence in _SENTENCE.split(task):
        bullet = _BULLET.match(sentence) is not None
        for match in pattern.finditer(sentence):
            before = sentence[: match.start()].rstrip("`'\"")
            in_list = bullet and not _BULLET.sub("", before).strip("`'\" ") and not _CHANGES.search(heading)
            mentions.append((before, sentence[match.end() :], in_list))
        if sentence.strip() and not bullet:
            heading = sentence
    return mentions


def _is_read(before: str, after: str, in_list: bool) -> bool:
    if _FAULT.search(after) or _USED_IN.search(before):
        return False
    if in_list or _READS.search(before.rstrip()[-80:]) or _COMMAND.search(before):
        return True
    if _CHANGES.search(before):
        return False
    return _LISTS.search(before) is not None or _DESCRIBED.search(after) is not None
