"""Git settings: reads them, tells the harmless ones from the others, and finds the files that they name."""

import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

MAX_BYTES = 1_000_000
MAX_INCLUDES = 20


class Setting(NamedTuple):
    section: str
    subsection: str | None
    key: str
    value: str | None

    @property
    def name(self) -> str:
        return ".".join(part for part in (self.section, self.subsection, self.key) if part is not None)


# --- reading and writing --------------------------------------------------------------------------------------

_HEADER = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|(?=[#;\r\n]|$))")
_BLANK = re.compile(r"\s*(?:[#;][^\n]*)?(?:\n|$)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


def parse(text: str) -> list[Setting]:
    """Return the settings in the text of a config file, in order. Raises ValueError if git would refuse it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    settings: list[Setting] = []
    section: tuple[str, str | None] | None = None
    at = 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = max(blank.end(), at + 1)
        elif header := _HEADER.match(text, at):
            section, at = _section(header), header.end()
        elif section and (key := _KEY.match(text, at)):
            value, at = _value(text, key.end()) if key[2] else (None, key.end())
            settings.append(Setting(*section, key[1].lower(), value))
        else:
            raise ValueError(f"line {text.count(chr(10), 0, at) + 1} is not a setting")
    return settings


def _section(header: "re.Match[str]") -> tuple[str, str | None]:
    name = header[1].lower()
    if header[2] is not None:
        return name, re.sub(r"\\(.)", r"\1", header[2])
    first, dot, rest = name.partition(".")
    return first, rest if dot else None


def _value(text: str, at: int) -> tuple[str, int]:
    """Read a value to the end of its line; a backslash continues it on the next one."""
    characters: list[str] = []
    quoted = False
    length = 0
    while at < len(text) and text[at] != "\n":
        character = text[at]
        if character == "\\":
            after = text[at + 1 : at + 2]
            if after != "\n":
                if after not in _ESCAPES or not after:
                    raise ValueError("an unknown escape")
                characters.append(_ESCAPES[after])
                length = len(characters)
            at += 2
            continue
        if character == '"':
            quoted = not quoted
            length = len(characters)
        elif character in "#;" and not quoted:
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
            break
        elif characters or quoted or not character.isspace():
            characters.append(character)
            if quoted or not character.isspace():
                length = len(characters)
        at += 1
    if quoted:
        raise ValueError("a quote is not closed")
    return "".join(characters[:length]), at


def format_settings(settings: Iterable[Setting]) -> str:
    """Return the text of a config file that can be read in only one way: every value is quoted."""
    lines: list[str] = []
    current: tuple[str, str | None] | None = None
    for setting in settings:
        if (setting.section, setting.subsection) != current:
            current = (setting.section, setting.subsection)
            sub = "" if setting.subsection is None else f' "{_escape(setting.subsection)}"'
            lines.append(f"[{setting.section}{sub}]")
        value = "" if setting.value is None else f' = "{_escape(setting.value)}"'
        lines.append(f"\t{setting.key}{value}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\b", "\\b")


# --- harmless settings ----------------------------------------------------------------------------------------

_HARMLESS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol "
    "safecrlf quotepath abbrev bigfilethreshold compression sharedrepository sparsecheckout sparsecheckoutcone",
    "user": "name email", "author": "name email", "committer": "name email", "init": "defaultbranch",
    "remote": "url pushurl fetch push tagopt prune prunetags mirror promisor partialclonefilter skipfetchall",
    "branch": "remote merge rebase description pushremote autosetupmerge autosetuprebase sort",
    "submodule": "url active path branch ignore recurse fetchjobs",
    "extensions": "objectformat refstorage partialclone worktreeconfig noop relativeworktrees compatobjectformat",
    "gc": "auto autodetach pruneexpire reflogexpire", "pull": "rebase ff", "fetch": "prune prunetags parallel",
    "push": "default autosetupremote followtags", "merge": "ff conflictstyle renames", "tag": "gpgsign sort",
    "rebase": "autostash autosquash updaterefs", "commit": "gpgsign verbose", "status": "short branch",
    "diff": "renames algorithm colormoved noprefix mnemonicprefix", "rerere": "enabled autoupdate", "color": "ui",
    "log": "date decorate follow",
}  # fmt: skip
_ALLOWED = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_WITH_SUBSECTION = frozenset({"remote", "branch", "submodule"})


def is_harmless(setting: Setting) -> bool:
    """Whether this setting certainly makes git run no program. Unknown settings are not harmless."""
    if setting.key not in _ALLOWED.get(setting.section, ()):
        return False
    if setting.subsection is not None and setting.section not in _WITH_SUBSECTION:
        return False
    value = setting.value or ""
    # `ext::sh -c ...` runs a program, and an address with a leading dash becomes an option of one.
    return not (setting.key in ("url", "pushurl") and ("::" in value or value.startswith("-")))


# --- files that settings name ---------------------------------------------------------------------------------

_RUNS = re.compile(
    r"core\.(fsmonitor|pager|editor|sshcommand|askpass|gitproxy|alternaterefscommand)|diff\.external|diff\..*\.(command|textconv)"
    r"|filter\..*\.(clean|smudge|process)|merge\..*\.driver|pager\..*|alias\..*|sequence\.editor|interactive\.difffilter"
    r"|credential\..*helper|gpg\..*program|(diff|merge)tool\..*\.(cmd|path)|trailer\..*\.(command|cmd)|.*\.(vcs|uploadpack|receivepack)",
    re.IGNORECASE,
)


def named_files(top: Path, configs: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the paths that settings make git read or run: ("hooks", folder), ("include", file) or ("run", file).

    `top` is the top folder of the repository, where git looks for relative paths.
    """
    pending = list(configs)
    seen: set[Path] = set()
    while pending and len(seen) < MAX_INCLUDES:
        config = pending.pop(0)
        if config in seen:
            continue
        seen.add(config)
        for setting in read(config):
            value = os.path.expanduser(setting.value or "")  # noqa: PTH111 - it may not be a path
            if not value:
                continue
            if setting.name == "core.hookspath":
                yield "hooks", Path(os.path.normpath(top / value))
            elif setting.section in ("include", "includeif") and setting.key == "path":
                included = Path(os.path.normpath(config.parent / value))
                pending.append(included)
                yield "include", included
            elif _RUNS.fullmatch(setting.name) and (setting.section != "alias" or value.startswith("!")):
                # A plain word is a program on the PATH, or an argument.
                files = [top / word for word in _words(value) if "/" in word or "." in word]
                yield from (("run", Path(os.path.normpath(file))) for file in files if file.is_file())


def read(config: Path) -> list[Setting]:
    """Return the settings in a config file; none if it is missing, unreadable, invalid or not an ordinary file."""
    try:
        # Only a regular file of ordinary size: reading a pipe would never end.
        status = config.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return []
        return parse(config.read_text(errors="surrogateescape"))
    except (OSError, ValueError):
        return []


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value.removeprefix("!"))
    except ValueError:
        return value.removeprefix("!").split()
