"""A map of a repository for a task: its folders, and the files and symbols that matter, most relevant first.

It is built once per run and never refreshed, because it is part of the beginning of every request, which servers cache.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from surefoot.project.asked_for import asks_for_documents, parts_asked_for
from surefoot.project.code.failing import code_of_failures, files_of_failures
from surefoot.project.code.named import (
    NAMED_CHARS,
    TESTS_CHARS,
    definitions_of,
    documents_about,
    plain,
    quote_definitions,
    tests_of,
    uses_of,
)
from surefoot.project.code.quotes import count_lines
from surefoot.project.code.ranking import MAX_FILES, Read, code_words, ranked_files
from surefoot.project.code.symbols import Symbol, symbols
from surefoot.project.folder import is_test
from surefoot.project.task_text import is_named_in

MAX_CHARS = 6_000
"""About 2,000 tokens."""
MAX_FOLDERS = 40
MAX_SYMBOLS = 24
"""How many symbols of one file are listed."""
MAX_OUTLINE = 60
"""How many symbols of the most relevant file are listed."""
MAX_LISTED = 20_000
"""How many files of a folder are considered."""
MAX_SOURCE_CHARS = 400_000
"""A longer file is not read for the map."""
MAX_UNRELATED = 8
"""How many files without a definition named in the task are listed."""
LISTED_WHOLE = 60
"""A folder with no more files than this is listed whole."""


def repo_map(
    files: Sequence[str],
    task: str,
    read: Read,
    limit: int = MAX_CHARS,
    *,
    failing: str = "",
    shown_elsewhere: Collection[str] = (),
) -> str:
    """Describe a folder in about `limit` characters at most, and quote the code that the task names and that the output
    of failing checks points at. Files in `shown_elsewhere` are not quoted."""
    if not files:
        return "(empty)"
    parts = [_folders(files)]
    room = limit - len(parts[0])
    ranked = ranked_files(files, task, read)
    pointed_at = set(files_of_failures(failing, ranked))
    ranked.sort(key=lambda item: item[0] not in pointed_at)
    names = code_words(task)
    # Everything in the most relevant file is listed: the code to change may be near the code that is named.
    main = next((path for path, _ in ranked if not is_test(path)), "")
    unrelated = 0
    for path, text in ranked[:MAX_FILES]:
        rows = _described(path, text, names, whole=is_named_in(path, task), all_of_it=path == main)
        unrelated += "\n" not in rows
        if "\n" not in rows and unrelated > MAX_UNRELATED:
            continue
        if len(rows) > room:
            break
        room -= len(rows) + 1
        parts.append(rows)
    return "\n".join(parts) + _code(files, ranked, task, read, failing, shown_elsewhere)


def _code(
    files: Sequence[str],
    ranked: Sequence[tuple[str, str]],
    task: str,
    read: Read,
    failing: str,
    shown_elsewhere: Collection[str],
) -> str:
    names, asked_for = code_words(task), parts_asked_for(task)
    unseen = [(path, text) for path, text in ranked if path not in shown_elsewhere]
    code, quoted = quote_definitions(definitions_of(names, unseen, task), NAMED_CHARS)
    tests = tests_of(names, unseen) if "tests" in asked_for else []
    test_code, quoted_tests = quote_definitions(tests, TESTS_CHARS)
    quoted |= quoted_tests
    uses = uses_of(definitions_of(names, ranked, task), ranked, quoted)
    rest = [path for path in files if path not in shown_elsewhere and not is_named_in(path, task)]
    documents = documents_about(task, rest, read, quoting=asks_for_documents(task))
    first = "\n" if code or test_code else ""
    return first + code + test_code + code_of_failures(failing, unseen, quoted) + uses + documents


def _folders(files: Sequence[str]) -> str:
    """List all files of a small folder; of a larger one, its folders with the number of their files."""
    if len(files) <= LISTED_WHOLE:
        return "\n".join(f"- {path}" for path in files)
    for depth in (3, 2, 1):
        counts = Counter("/".join(path.split("/")[:-1][:depth]) for path in files)
        if len(counts) <= MAX_FOLDERS:
            break
    top = [f"- {path}" for path in files if "/" not in path][:MAX_FOLDERS]
    rows = [f"- {folder}/ ({count} {'file' if count == 1 else 'files'})" for folder, count in counts.items() if folder]
    more = f"\n- and {len(rows) - MAX_FOLDERS} more folders" if len(rows) > MAX_FOLDERS else ""
    return "\n".join([*top, *rows[:MAX_FOLDERS]]) + more


def _described(path: str, text: str, names: set[str], *, whole: bool = False, all_of_it: bool = False) -> str:
    """List the definitions in a file that are about the names, with their lines; of other files, only their number.

    `whole`: the task names the file. If none of its definitions are about the names, the top-level ones are listed.
    `all_of_it`: if some are about the names, and there are not too many, all definitions are listed.
    """
    all_symbols = symbols(path, text)
    chosen = [symbol for symbol in all_symbols if _is_about(symbol, names)]
    if all_of_it and chosen and len(all_symbols) <= MAX_OUTLINE:
        chosen = all_symbols
    if whole and not chosen:
        chosen = [symbol for symbol in all_symbols if not symbol.depth]
        names = set()
    classes = [symbol for symbol in chosen if names and symbol.text.startswith("class ")]
    inside = [s for s in all_symbols if s.depth and any(c.line < s.line <= c.end for c in classes)]
    rows = [f"{path} ({count_lines(text)} lines, {len(all_symbols)} definition{'' if len(all_symbols) == 1 else 's'})"]
    listed = sorted({*chosen, *inside}, key=lambda symbol: symbol.line)
    limit = MAX_OUTLINE if all_of_it else MAX_SYMBOLS
    for symbol in listed[:limit]:
        rows.append(f"  {symbol.line}-{symbol.end} {'  ' * symbol.depth}{symbol.text}"[:140])
    if len(listed) > limit:
        rows.append(f"  and {len(listed) - limit} more about it")
    return "\n".join(rows)


def _is_about(symbol: Symbol, names: set[str]) -> bool:
    """Whether a symbol is about one of the names: `NumericRangeTests` is about `numeric_range`."""
    own = plain(symbol.name)
    return any(symbol.name == name or (len(name) > 3 and plain(name) in own) for name in names)
