"""Compares the subjects of a task, an understanding and a plan, by their words and paths. Pure.

Texts in different languages cannot be compared by words, and a task of two words says too little. The answer is then
None, and a gate warns instead of refusing.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from surefoot.project.task_text import files_named_in, is_named_in
from surefoot.prompting.drafts.full import AnyStepDraft

MIN_WORDS = 6
"""A task with fewer words can be rephrased without any of them, unless it names a file: names are repeated."""
_MIN_STEM = 4
_PLACEHOLDERS = frozenset(
    ("string", "text", "todo", "tbd", "n/a", "na", "none", "null", "...", "…", "xxx", "placeholder")
)


def is_placeholder(text: str) -> bool:
    """Whether a text says nothing: empty, a type name, dots."""
    plain = text.strip().strip("<>[]{}\"'`.").lower()
    return not any(c.isalnum() for c in plain) or plain in _PLACEHOLDERS


def same_subject(task: str, text: str) -> bool | None:
    """Whether a text is about the same thing as a task; None if the words do not show it."""
    if task.strip() and task.strip() in text:
        return True
    own, other = subject_words(task), subject_words(text)
    if common := _common(own, other):
        return True if common - _GENERIC else None
    names_file = bool(files_named_in(task))
    if not own - _GENERIC - _ABOUT_TESTS and not names_file:
        return None
    enough = len(own) >= MIN_WORDS or names_file
    return False if enough and _language(task) == _language(text) else None


def subject_words(text: str) -> set[str]:
    """Return the words that show what a text is about.

    Names and paths are split into their parts. Where no spaces separate words, pairs of characters count as words.
    """
    words: set[str] = set()
    for token in re.findall(r"[\w./-]+", text):
        for part in re.split(r"[\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", token)):
            words |= _pairs(part) if any(unicodedata.category(c) == "Lo" for c in part) else {part.lower()}
    return {word for word in words if len(word) > 1 and not word.isdigit()} - _ALL_FUNCTION_WORDS - _SUFFIXES


def shared_words(one: str, other: str) -> set[str]:
    """Return the words of `one` that `other` has too, without generic ones."""
    return _common(subject_words(one), subject_words(other)) - _GENERIC


def _common(own: set[str], other: set[str]) -> set[str]:
    stems = {_stem(word) for word in other}
    return {word for word in own if word in other or _stem(word) in stems}


def _stem(word: str) -> str:
    """Return a rough stem, which is the same for `counts`, `counting` and `count`."""
    if not word.isascii() or len(word) <= _MIN_STEM:
        return word.removesuffix("s") if len(word) == _MIN_STEM else word
    return word[: max(_MIN_STEM, len(word) - 4)] if len(word) > 6 else word[:_MIN_STEM]


def _pairs(word: str) -> set[str]:
    plain = "".join(c for c in word if unicodedata.category(c) == "Lo")
    latin = {part.lower() for part in re.findall(r"[A-Za-z]{2,}", word)}
    return latin | {plain[i : i + 2] for i in range(len(plain) - 1)}


def _language(text: str) -> str:
    """Return the script of a text, and for Latin script the language of its function words, English if in doubt."""
    letters = [c for c in text if c.isalpha()]
    # One Chinese character says about as much as three Latin letters.
    scripts: Counter[str] = Counter()
    for c in letters:
        scripts[unicodedata.name(c, "?").split()[0]] += 3 if unicodedata.category(c) == "Lo" else 1
    script = max(scripts, key=lambda name: scripts[name], default="")
    if script in ("HIRAGANA", "KATAKANA") or (script == "CJK" and scripts.keys() & {"HIRAGANA", "KATAKANA"}):
        return "JAPANESE"
    if script != "LATIN":
        return script
    counts = Counter(
        {name: sum(w in words for w in re.findall(r"\w+", text.lower())) for name, words in _WORDS.items()}
    )
    (best, count), (_, second) = counts.most_common(2)
    return f"LATIN {best}" if count > second else "LATIN en"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS = {
    "en": _words(
        "the a an and of to in is it that this with for on as be are by from or must should not its all when if so at"
    ),
    "de": _words(
        "der die das und ein eine einen einer dem den des mit für ist nicht von zu im auf aus wird werden soll als in"
    ),
    "fr": _words("le la les un une des du de et est pour dans avec qui que ne pas sur au aux ce cette il en"),
    "es": _words("el la los las un una de del y es para con que en por se no lo al su como"),
    "it": _words("il lo la gli le un una di del della e è per con che in non si da al"),
    "pt": _words("o a os as um uma de do da e é para com que em não se no na por"),
    "nl": _words("de het een en van voor met dat is niet op te in aan die zijn wordt"),
}
_ALL_FUNCTION_WORDS = frozenset().union(*_WORDS.values()) | _words(
    "have has can will which into than then they there but also"
)
_SUFFIXES = _words("py js ts md txt json toml csv html sh yml yaml")
_GENERIC = _words(
    "write create make add fix change implement update build do done use using file files code function functions task "
    "program script module class work works new existing correct right result results user want wanted need needs "
    "一个 需要 实现 任务 完成 使用 可以 文件 代码 函数 编写 创建 修改 用户 schreibe erstelle datei funktion"
)
"""Words that many tasks share: they show neither that two texts are about the same thing nor that they are not."""
_ABOUT_TESTS = _words(
    "test tests testing tested suite check checks fail fails failed failing failure failures pass passes passed "
    "passing green red error errors bug bugs broken wrong problem find out why what them these those are is all again "
    "please repair repairs fixed fixes mend get run runs make makes look see cause causes reason one some any "
    "more no longer"
)
"""Words of a task that only says that tests fail. Its understanding names the cause, in words that are not its own."""


_MAX_PATH = 300


def is_covered(path: str, steps: Sequence[AnyStepDraft]) -> bool:
    """Whether a step of a plan mentions a file: as a file to write, or anywhere in its text."""
    return any(is_named_in(path, text) for step in steps for text in step.texts)


def impossible_path(path: str, task: str, root: str, existing: Collection[str]) -> bool:
    """Whether a path cannot be a file of the workspace. Paths that the task itself names are accepted."""
    plain = path.strip().strip("`'\"").replace("\\", "/")
    if not plain or plain in task:
        return False
    if is_pattern(plain):
        return not any(fnmatch(name, plain) for name in existing)
    if root and plain.startswith(f"{root}/"):
        plain = plain[len(root) + 1 :]
    outside = plain.startswith(("/", "~")) or bool(re.match(r"[A-Za-z]:/|\w+://", plain))
    return (
        outside or ".." in PurePosixPath(plain).parts or len(plain) > _MAX_PATH or bool(re.search(r"[<>|\0\n]", plain))
    )


def is_pattern(path: str) -> bool:
    return any(c in path for c in "*?")
