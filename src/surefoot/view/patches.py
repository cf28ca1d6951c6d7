"""Splits a unified diff into files. Pure."""

from collections.abc import Iterator

from surefoot.tools.fs.tool_files import is_listed
from surefoot.view.documents import FileDiff

MAX_PATCH_LINES = 2_000
_HEADERS = ("old mode ", "new mode ", "new file mode ", "deleted file mode ", "owner ", "extended attributes ", "--- ",
            "+++ ", "Binary files ", "Files ")  # fmt: skip
"""Lines that belong to the `diff --git` line before them."""


def file_diffs(text: str) -> list[FileDiff]:
    """The parts of a diff by file. Of a long part, only the first lines are kept."""
    return [_file(part) for part in diff_parts(text)]


def without_tool_files(text: str) -> tuple[str, list[str]]:
    """The diff of the files that are listed, and the paths of the others: of version control, and of tools."""
    parts = [(_path_of(part[0]), part) for part in diff_parts(text)]
    kept = [line for path, part in parts if is_listed(path) for line in part]
    others = dict.fromkeys(path for path, _ in parts if not is_listed(path))
    return "".join(f"{line}\n" for line in kept), list(others)


def diff_parts(text: str) -> Iterator[list[str]]:
    """The lines of a diff, grouped by change: a file, or one line for a change that git cannot express."""
    part: list[str] = []
    in_hunk = False
    for line in text.split("\n")[:-1]:
        in_hunk = is_in_hunk(line, in_hunk)
        if part and not in_hunk and not line.startswith(_HEADERS):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def is_in_hunk(line: str, before: bool) -> bool:
    """Whether a line of a diff belongs to a hunk. `before` says it of the line before."""
    return line.startswith("@@ ") or (before and line[:1] in (" ", "+", "-", "\\"))


def name_of(head: str) -> str:
    """What the first line of a part names: a path, or a kind and a path, such as `Folder docs`."""
    if not head.startswith("diff --git "):
        return head.partition(": ")[0]
    quoted = head.endswith('"') and ' "b/' in head
    if quoted:
        return head.rpartition(' "b/')[2][:-1]
    return head.rpartition(" b/")[2] if " b/" in head else head.removeprefix("diff --git ")


def _path_of(head: str) -> str:
    name = name_of(head)
    return name if head.startswith("diff --git ") else name.partition(" ")[2]


def _file(part: list[str]) -> FileDiff:
    path = name_of(part[0])
    marks = [line for line in part[:6] if not line.startswith(("+", "-", "@", " "))]
    status = "added" if any(m.startswith("new file") or m.endswith(": added") for m in marks) else "modified"
    status = "deleted" if any(m.startswith("deleted") or m.endswith(": removed") for m in marks) else status
    return {
        "path": path,
        "status": status,
        "binary": any(line.startswith("Binary files ") for line in part[:8]),
        "patch": "\n".join(part[:MAX_PATCH_LINES]) + "\n",
        "lines": len(part),
        "truncated": len(part) > MAX_PATCH_LINES,
    }


def changed_lines(file: FileDiff) -> tuple[int, int]:
    """The numbers of added and removed lines in the patch."""
    lines = file["patch"].split("\n")
    start = next((number for number, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    body = lines[start:]
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)
