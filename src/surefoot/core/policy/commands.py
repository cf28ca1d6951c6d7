"""Finds every command that a command line or a Python program would start, and matches it with a rule's pattern.

This is for deny rules. A match is certain or only possible, because words such as `$X` are known only at run time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import fnmatchcase
from itertools import pairwise

from surefoot.core.policy.python_commands import Started, started_by
from surefoot.core.policy.shell_words import ANY, ONE, Lines, NotParsed, split

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "busybox"})
WRAPPERS = frozenset({
    "env", "sudo", "doas", "nice", "ionice", "timeout", "time", "nohup", "setsid", "stdbuf", "command", "exec", "xargs",
    "builtin", "chronic", "unbuffer", "taskset", "chrt", "prlimit", "strace", "ltrace", "parallel", "flock", "watch",
    "script", "ssh", "su", "runuser", "chroot", "unshare", "nsenter", "eval", "trap", "alias", "caffeinate",
})  # fmt: skip
"""Programs that run the command in their arguments."""
INTERPRETERS = frozenset({"perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "awk", "gawk", "mawk"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")
_RUNS_COMMANDS = re.compile(r"system|exec|popen|spawn|child_process|fork|`|%x|\|", re.IGNORECASE)
_DATA = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "ls", "test", "[", "true", "false", ":", "cd"})
"""Programs that never run their arguments as commands."""
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "time", "coproc", "function", "{"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_MAX_DEPTH = 6
_MAX_WORDS = 500
"""A longer command is cut off here, and sets `FoundCommands.doubt`."""
_UNKNOWN = ANY + ONE
_MAX_GLOB = 200


class Match(IntEnum):
    NO = 0
    POSSIBLE = 1
    CERTAIN = 2


@dataclass
class FoundCommands:
    commands: list[list[str]] = field(default_factory=list)
    """The words of every command, with `ANY` for parts that are known only at run time."""
    doubt: bool = False
    """Whether a part could not be parsed, so that other commands may run as well."""
    seen: set[str] = field(default_factory=set)


def in_command_line(text: str) -> FoundCommands:
    found = FoundCommands()
    _add_line(found, text, 0)
    return found


def in_python(source: str) -> FoundCommands:
    found = FoundCommands()
    _add_started(found, started_by(source), 0)
    return found


def _add_line(found: FoundCommands, text: str, depth: int) -> None:
    text = text.replace(ONE, ANY)  # another shell splits it into words
    if text in found.seen or not text.strip(ANY + " \t\n"):
        found.doubt = found.doubt or ANY in text
        return
    found.seen.add(text)
    if depth > _MAX_DEPTH:
        found.doubt = True
        return
    try:
        lines = split(text)
    except (NotParsed, RecursionError):
        found.doubt = True
        parts = re.split(r"[;&|<>`\n(){}]", re.sub(r"['\"\\]", "", text))
        found.commands += [part.split() for part in parts if part.strip()]
        return
    for words in lines.commands:
        _add_command(found, words, lines, depth)


def _add_command(found: FoundCommands, words: list[str], lines: Lines, depth: int) -> None:
    if len(words) > _MAX_WORDS:
        found.doubt, words = True, words[:_MAX_WORDS]
    head = head_of(words)
    names = [_base(word) for word in words]
    if "xargs" in names or "parallel" in names:
        words = [*words, ANY]
    if names[head] in _DATA and not _feeds_a_shell(lines):
        found.commands.append(words[head : head + 1])
        return
    found.commands.append(words)
    if names[head] in _DATA:
        # A shell reads the printed text.
        for text in (" ".join(words[head + 1 :]), *words[head + 1 :]):
            _add_line(found, text, depth + 1)
    for position, name in enumerate(names):
        _add_arguments(found, name, words[position + 1 :], lines, depth)
        if name in SHELLS and position >= head:
            _add_input(found, words[position + 1 :], lines, depth)


def _add_arguments(found: FoundCommands, name: str, rest: list[str], lines: Lines, depth: int) -> None:
    """Add the commands that a program runs from its arguments."""
    if name in SHELLS or name in WRAPPERS:
        for text in (*rest, *([" ".join(rest)] if name == "eval" else [])):
            if re.search(r"[\s;&|`$'\"\\]", text) or (text.strip(_UNKNOWN) == "" and _runs_text(name, rest)):
                _add_line(found, text.partition("=")[2] if name == "alias" else text, depth + 1)
    if _PYTHON.match(name):
        _add_python(found, rest, lines, depth)
    elif name in INTERPRETERS and any(_RUNS_COMMANDS.search(text) for text in (*rest, *lines.inputs)):
        found.doubt = True


def _runs_text(name: str, rest: Sequence[str]) -> bool:
    """Whether the program would run an unknown word as a command line."""
    return name == "eval" or (name in SHELLS and any(re.match(r"-\w*c", word) for word in rest))


def _add_input(found: FoundCommands, rest: list[str], lines: Lines, depth: int) -> None:
    """Add the commands that a shell without a script reads from its input."""
    if any(not word.startswith("-") for word in rest):
        return
    for text in lines.inputs:
        _add_line(found, text, depth + 1)
    others = [words for words in lines.commands if _base(words[head_of(words)]) not in SHELLS]
    found.doubt = found.doubt or any(_base(words[head_of(words)]) not in ("echo", "printf", "cd") for words in others)


def _add_python(found: FoundCommands, rest: list[str], lines: Lines, depth: int) -> None:
    code = [word for option, word in pairwise(rest) if re.fullmatch(r"-[A-Za-z]*c", option)]
    code += [option[2:] for option in rest if option.startswith("-c") and len(option) > 2]
    if not any(not word.startswith("-") for word in rest):
        code += lines.inputs
    for source in code:
        if ANY in source or ONE in source:
            found.doubt = True
        _add_started(found, started_by(re.sub(f"[{_UNKNOWN}]", "_", source)), depth + 1)


def _add_started(found: FoundCommands, started: Started, depth: int) -> None:
    found.doubt = found.doubt or started.hidden
    for words in started.commands:
        if words:
            _add_command(found, words, Lines([words]), depth)
    for text in started.lines:
        if text == ANY:
            found.commands.append([ANY])
        _add_line(found, text, depth + 1)


def _feeds_a_shell(lines: Lines) -> bool:
    names = {_base(word) for words in lines.commands for word in words}
    return bool(names & (SHELLS | {"xargs", "parallel", "source", ".", "eval"}))


def head_of(words: Sequence[str]) -> int:
    """The position of the program's name, after keywords and assignments."""
    for position, word in enumerate(words):
        if word not in _KEYWORDS and not _ASSIGNMENT.match(word):
            return position
    return len(words) - 1


def _base(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]


# -- matching with a pattern ---------------------------------------------------------------------------------------


def matches(pattern: str, found: FoundCommands) -> Match:
    """Whether one of the commands fits a pattern such as `git push *`.

    The program is compared by the last component of its path, at any position in the command. The command may have
    more options, with or without a value, before and between the words of the pattern. The pattern's own options may
    be anywhere.
    """
    patterns = re.split(r"[ \t]+", pattern.strip(" \t"))
    best = max((_command_matches(patterns, words) for words in found.commands), default=Match.NO)
    return max(best, Match.POSSIBLE) if found.doubt else best


def _command_matches(patterns: Sequence[str], words: Sequence[str]) -> Match:
    open_end = patterns[-1] == "*"
    required = patterns[1:-1] if open_end else patterns[1:]
    plain = [word for word in required if not word.startswith("-")]
    options = [word for word in required if word.startswith("-")]
    heads = _heads(words)
    best = Match.NO
    for start, word in enumerate(words):
        if _is_unknown(word) and start not in heads:
            continue
        program = max(_word_matches(patterns[0], word), _word_matches(patterns[0], _base(word)))
        if word == ANY:
            best = max(best, Match.POSSIBLE)
        if program > best:
            rest = words[start + 1 :]
            option_match = min((_option_matches(option, rest) for option in options), default=Match.CERTAIN)
            best = max(best, min(program, option_match, _rest_matches(plain, rest, open_end=open_end)))
    return best


def _heads(words: Sequence[str]) -> set[int]:
    """Return the positions where a program's name can be: at the beginning, and after each wrapper."""
    heads, position = set(), head_of(words)
    while position < len(words):
        heads.add(position)
        if _base(words[position]) not in WRAPPERS:
            break
        position += 1
        while position < len(words) and re.match(r"-|\d|[A-Za-z_]\w*=", words[position]):
            position += 1
    return heads


def _rest_matches(plain: Sequence[str], rest: Sequence[str], *, open_end: bool) -> Match:
    """Match the words after the program, by dynamic programming from the end."""
    ends = range(len(rest) + 1)
    after = [Match.CERTAIN if open_end else _end_matches(rest[start:]) for start in ends]
    for pattern in reversed(plain):
        now = [Match.NO] * (len(rest) + 1)
        for start in range(len(rest) - 1, -1, -1):
            word = rest[start]
            now[start] = min(_word_matches(pattern, word), after[start + 1])
            if word == ANY:
                now[start] = max(now[start], min(Match.POSSIBLE, max(now[start + 1], after[start])))
            elif word.startswith("-"):
                now[start] = max(now[start], now[start + 1], now[start + 2] if start + 2 <= len(rest) else Match.NO)
        after = now
    return after[0]


def _end_matches(rest: Sequence[str]) -> Match:
    """Whether nothing but options is left."""
    left = [word for word in rest if not word.startswith("-")]
    if not left:
        return Match.CERTAIN
    return Match.POSSIBLE if all(word == ANY for word in left) else Match.NO


def _option_matches(option: str, rest: Sequence[str]) -> Match:
    """Match an option. Short options may be combined or separate: `-rf`, `-fr`, `-r -f`."""
    letters = {letter for word in rest if re.match(r"-[A-Za-z]", word) for letter in word[1:]}
    if re.fullmatch(r"-[A-Za-z]+", option) and set(option[1:]) <= letters:
        return Match.CERTAIN
    return max((_word_matches(option, word) for word in rest), default=Match.NO)


def _word_matches(pattern: str, word: str) -> Match:
    if not _is_unknown(word):
        return Match.CERTAIN if fnmatchcase(word, pattern) else Match.NO
    return Match.POSSIBLE if _overlap(pattern, word) else Match.NO


def _is_unknown(word: str) -> bool:
    return ANY in word or ONE in word


def _overlap(pattern: str, word: str) -> bool:
    """Whether some text fits both the pattern and the word, in which `ANY` is any text."""
    if len(pattern) > _MAX_GLOB or len(word) > _MAX_GLOB or "[" in pattern:
        return True
    reached = {0}
    for letter in (*word, ""):
        reached |= {at + 1 for at in range(len(pattern)) if at in reached and pattern[at] == "*"}
        if not letter:
            break
        if letter in _UNKNOWN:
            reached = set(range(min(reached, default=len(pattern) + 1), len(pattern) + 1))
        else:
            stay = {at for at in reached if at < len(pattern) and pattern[at] == "*"}
            reached = stay | {at + 1 for at in reached if at < len(pattern) and pattern[at] in (letter, "?")}
    return len(pattern) in reached
