"""Reads the user's input: with prompt_toolkit on a capable terminal, else with `input()`."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from rich.cells import cell_len

from surefoot.cli.interactive.commands import COMMANDS
from surefoot.cli.interactive.history import StoredLines
from surefoot.cli.interactive.session import Session
from surefoot.cli.report import text as fmt
from surefoot.config import paths

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

PROMPT, CONTINUATION = "> ", ". "
SEPARATOR = "  ·  "
MIN_FOLDER = 8
"""With fewer cells for the folder, the toolbar shows less of the rest."""
MAX_RUNS = 20
"""The number of runs that are offered as completions."""


class LineReader(Protocol):
    def read(self) -> str:
        """Return the next task or command, which may have several lines.

        Raises EOFError on Ctrl-D, and KeyboardInterrupt on Ctrl-C if nothing is typed.
        """
        ...


def choose_reader(session: Session) -> LineReader:
    lines = StoredLines(paths.state_home())
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        return PlainReader(lines)
    try:
        return ToolkitReader(session, lines)
    except ImportError:
        return PlainReader(lines)


class PlainReader:
    """Reads with `input()`. A line that ends with a backslash continues on the next one."""

    def __init__(self, lines: StoredLines, ask: Callable[[str], str] = input) -> None:
        self._lines = lines
        self._ask = ask

    def read(self) -> str:
        rows = [self._ask(PROMPT)]
        while rows[-1].endswith("\\"):
            rows[-1] = rows[-1][:-1]
            rows.append(self._ask(CONTINUATION))
        text = "\n".join(rows).strip()
        if text:
            self._lines.append(text)
        return text


class ToolkitReader:
    def __init__(self, session: Session, lines: StoredLines) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import Condition
        from prompt_toolkit.styles import Style

        self._session = session
        self._prompt: PromptSession[str] = PromptSession(
            multiline=True,
            history=_history(lines),
            completer=_completer(session),
            complete_while_typing=Condition(lambda: self._prompt.default_buffer.text.startswith("/")),
            key_bindings=_keys(),
            bottom_toolbar=lambda: toolbar(session, self._prompt.output.get_size().columns),
            prompt_continuation=lambda width, number, soft: CONTINUATION,
            style=Style.from_dict({"bottom-toolbar": "noreverse fg:#808080", "prompt": "bold fg:ansicyan"}),
            reserve_space_for_menu=6,
        )

    def read(self) -> str:
        return str(self._prompt.prompt([("class:prompt", PROMPT)])).strip()


def _history(lines: StoredLines) -> "History":
    from prompt_toolkit.history import History as Base

    class Stored(Base):
        def load_history_strings(self) -> Iterable[str]:
            return reversed(lines.load())

        def store_string(self, string: str) -> None:
            if string.strip():
                lines.append(string)

    return Stored()


def _keys() -> "KeyBindings":
    """Enter sends, Alt-Enter begins a new line, Ctrl-C clears the input."""
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def _(event: Any) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=KeyboardInterrupt)

    return keys


# -- completion ----------------------------------------------------------------------------------------------------


def completions(session: Session, text: str) -> list[tuple[str, str]]:
    """The completions of a command or its argument, each with a short description."""
    if not text.startswith("/") or "\n" in text:
        return []
    name, space, argument = text[1:].partition(" ")
    if not space:
        return [(f"/{command.name}", command.help) for command in COMMANDS if command.name.startswith(name)]
    match name:
        case "model":
            from surefoot.models.providers.catalog import PROVIDERS

            offered = [(f"{kind}/", "") for kind in PROVIDERS] + [("local", "the embedded model")]
        case "check":
            offered = [*((check, "of the project") for check in session.found_checks), ("clear", "remove all")]
        case "undo" | "diff" | "review" | "commit" | "show" | "continue":
            offered = _runs(session)
        case _:
            offered = []
    return [(word, about) for word, about in offered if word.startswith(argument)]


def _runs(session: Session) -> list[tuple[str, str]]:
    from surefoot.cli.session.runs import current_folder, open_run_list

    journal = open_run_list()
    try:
        summaries = journal.summaries(MAX_RUNS, current_folder(journal, session.folder).workspaces)
    finally:
        journal.close()
    return [(run.run_id, fmt.line(run.task, 60)) for run in summaries]


def _completer(session: Session) -> Any:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.completion import Completion as Offered

    from surefoot.errors import SurefootError

    class Slashes(Completer):
        def get_completions(self, document: "Document", event: "CompleteEvent") -> "Iterable[Completion]":
            text = document.text_before_cursor
            try:
                offered = completions(session, text)
            except (SurefootError, OSError):
                return
            start = -len(text) if " " not in text else -len(text.partition(" ")[2])
            for word, about in offered:
                yield Offered(word, start_position=start, display_meta=about)

    return Slashes()


def toolbar(session: Session, columns: int) -> str:
    """The folder, the model, the checks and the usage so far, on one line. A narrow terminal shows less of it."""
    total = session.total
    checks = session.checks or session.found_checks
    share = max(columns // 4, 16)
    model = fmt.line(session.model_name, share) or "no model"
    checked = fmt.line(f"checks: {', '.join(checks)}", share) if checks else "no checks"
    used = [f"{total.prompt_tokens + total.output_tokens:,} tokens", *([total.cost] if total.cost else [])]
    for parts in ([model, checked, *used], [model, *used], used):
        rest = SEPARATOR.join(parts)
        room = columns - cell_len(rest) - len(SEPARATOR) - 1
        if room >= MIN_FOLDER:
            return f" {fmt.shorten_start(fmt.folder(session.folder), room)}{SEPARATOR}{rest}"
    return f" {rest}"
