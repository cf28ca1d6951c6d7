"""Splits a shell command line into the words of every command in it, as a shell would.

Quotes are removed; command substitutions, subshells and here-documents are read as well. Parts that are known only at
run time (variables, globs, the output of commands) appear in a word as `ANY` or `ONE`.
"""

import re
from dataclasses import dataclass, field

ANY = "\0"
"""Stands for any text. A word that is only `ANY` may also be several words, or none."""
ONE = "\1"
"""Stands for any text that is not split into words, because it is quoted."""

_OPERATORS = ";&|()\n"
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])")
_BRACES = re.compile(r"\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}")
_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_REDIRECTION = re.compile(r"<<<|<<-|<<|&>>|&>|[<>]&|>>|>\||<>|[<>]")
_QUOTE = re.compile(r"[ \t]*['\"\\]")
_ANSI_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class NotParsed(Exception):
    """The text is not a complete command line."""


@dataclass
class Lines:
    commands: list[list[str]] = field(default_factory=list)
    """The words of every simple command, without redirections."""
    inputs: list[str] = field(default_factory=list)
    """The texts of here-documents and here-strings."""


def split(text: str) -> Lines:
    """Split a whole command line. Raises NotParsed if a quote or bracket is not closed."""
    reader = _Reader(text, Lines())
    reader.read()
    return reader.lines


class _Reader:
    """Reads from `position` to the end of the text; with `inside`, to the closing bracket."""

    def __init__(self, text: str, lines: Lines, position: int = 0, *, inside: bool = False) -> None:
        self.text, self.lines, self.position, self.inside = text, lines, position, inside
        self._words: list[str] = []
        self._word: str | None = None
        self._redirected = ""
        self._awaited: list[tuple[str, bool, bool]] = []
        """Here-documents that begin after this line: delimiter, expanded, indented."""

    def read(self) -> None:
        depth = 0
        while self.position < len(self.text):
            char = self.text[self.position]
            if char == "(":
                depth += 1
            elif char == ")":
                if not depth and self.inside:
                    self._end_command()
                    self.position += 1
                    return
                depth = max(depth - 1, 0)
            self._take(char)
        if self.inside:
            raise NotParsed("a bracket is not closed")
        self._end_command()
        if self._awaited:
            self._read_documents()

    def _take(self, char: str) -> None:
        rest = self.text[self.position : self.position + 3]
        if char in "\\'\"$`":
            self._take_quote(char, rest)
        elif char in "<>" or rest.startswith("&>"):
            self._redirection(rest)
        elif char in _OPERATORS:
            self._end_command()
            self.position += 1
            if char == "\n" and self._awaited:
                self._read_documents()
        elif char in " \t\r":
            self._end_word()
            self.position += 1
        elif char == "#" and self._word is None:
            end = self.text.find("\n", self.position)
            self.position = end if end >= 0 else len(self.text)
        else:
            self._take_letter(char, rest)

    def _take_quote(self, char: str, rest: str) -> None:
        if rest.startswith("\\\n"):
            self.position += 2
        elif char == "\\":
            self._add(rest[1:2], 2)
        elif char == "'":
            end = self._closing("'")
            self._add(self.text[self.position + 1 : end], end + 1 - self.position)
        elif char == '"' or rest.startswith('$"'):
            self.position += 2 if char == "$" else 1
            self._quoted()
        elif rest.startswith("$'"):
            self._ansi()
        else:
            self._expansion(rest)

    def _take_letter(self, char: str, rest: str) -> None:
        if char in "*?[":
            self._add(ANY, 1)
        elif char == "{" and (braces := _BRACES.match(self.text, self.position)):
            self._add(ANY, len(braces.group()))
        elif char in "{}" and self._word is None and re.match(r"[{}](?:\s|;|$)", rest):
            self._end_command()
            self.position += 1
        else:
            self._add(char, 1)

    def _add(self, text: str, length: int) -> None:
        self._word = (self._word or "") + text
        self.position += length

    def _end_word(self) -> None:
        if self._word is None:
            return
        word, self._word = self._word, None
        kind, self._redirected = self._redirected, ""
        if kind == "<<<":
            self.lines.inputs.append(word)
        elif kind.startswith("<<"):
            self._awaited[-1] = (word, *self._awaited[-1][1:])
        elif not kind:
            self._words.append(word)

    def _end_command(self) -> None:
        self._end_word()
        if self._words:
            self.lines.commands.append(self._words)
        self._words, self._redirected = [], ""

    def _closing(self, quote: str) -> int:
        end = self.text.find(quote, self.position + 1)
        if end < 0:
            raise NotParsed("a quote is not closed")
        return end

    def _quoted(self) -> None:
        """Read the inside of double quotes."""
        self._add("", 0)
        while self.position < len(self.text):
            rest = self.text[self.position : self.position + 3]
            if rest[0] == '"':
                self.position += 1
                return
            if rest.startswith("\\\n"):
                self.position += 2
            elif rest[0] == "\\" and rest[1:2] in ("$", "`", '"', "\\"):
                self._add(rest[1], 2)
            elif rest[0] in "$`":
                self._expansion(rest, ANY if rest.startswith(("$@", "${")) else ONE)
            else:
                self._add(rest[0], 1)
        raise NotParsed("a quote is not closed")

    def _ansi(self) -> None:
        quoted = _ANSI.match(self.text, self.position)
        if quoted is None:
            raise NotParsed("a quote is not closed")
        self._add(_ANSI_ESCAPE.sub(_unescaped, quoted[1]), len(quoted.group()))

    def _expansion(self, rest: str, unknown: str = ANY) -> None:
        """Read a variable, a substitution or a lone dollar sign."""
        if rest.startswith("$(("):
            self._add(unknown, 0)
            self._nested(3)  # `$((` may also be a substitution with a subshell in it
        elif rest.startswith("$("):
            self._add(unknown, 0)
            self._nested(2)
        elif rest.startswith("${"):
            end = self._closing("}")
            inside = self.text[self.position : end]
            if "$(" in inside or "`" in inside:
                raise NotParsed("a substitution inside a variable")
            self._add(unknown, end + 1 - self.position)
        elif rest[0] == "`":
            quoted = _BACKQUOTED.match(self.text, self.position)
            if quoted is None:
                raise NotParsed("a quote is not closed")
            _Reader(re.sub(r"\\([`$\\])", r"\1", quoted[1]), self.lines).read()
            self._add(unknown, len(quoted.group()))
        elif variable := _VARIABLE.match(self.text, self.position):
            self._add(unknown, len(variable.group()))
        else:
            self._add("$", 1)

    def _nested(self, skip: int) -> None:
        inner = _Reader(self.text, self.lines, self.position + skip, inside=True)
        inner.read()
        self.position = inner.position
        if skip == 3 and self.text[self.position : self.position + 1] == ")":
            self.position += 1

    def _redirection(self, rest: str) -> None:
        if rest.startswith(("<(", ">(")):
            self._add(ANY, 0)
            self._nested(2)
            return
        if self._word is not None and self._word.isdigit():
            self._word = None
        self._end_word()
        sign = _REDIRECTION.match(self.text, self.position)
        assert sign is not None
        self.position = sign.end()
        self._redirected = sign.group()
        if self._redirected in ("<<", "<<-"):
            quoted = _QUOTE.match(self.text, self.position)
            self._awaited.append(("", quoted is None, self._redirected == "<<-"))

    def _read_documents(self) -> None:
        for delimiter, expanded, indented in self._awaited:
            body: list[str] = []
            while self.position < len(self.text):
                end = self.text.find("\n", self.position)
                row = self.text[self.position : end if end >= 0 else None]
                self.position += len(row) + 1
                if (row.lstrip("\t") if indented else row) == delimiter:
                    break
                body.append(row)
            text = "\n".join(body)
            self.lines.inputs.append(text)
            if expanded and ("$(" in text or "`" in text):
                quoted = text.replace('"', '\\"')
                _Reader(f'"{quoted}"', self.lines).read()
        self._awaited = []


def _unescaped(match: re.Match[str]) -> str:
    hexadecimal, unicode_code, octal, letter = match.groups()
    if hexadecimal or unicode_code:
        return chr(int(hexadecimal or unicode_code, 16))
    return chr(int(octal, 8)) if octal else _CONTROLS.get(letter, letter)
