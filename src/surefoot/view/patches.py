"""Splits a unified diff into files. Pure."""

from surefoot.view.documents import FileDiff

MAX_PATCH_LINES = 2_000


def file_diffs(text: str) -> list[FileDiff]:
    """The parts of a diff by file. Of a long part, only the first lines are kept."""
    return [_file(part) for part in _parts(text)]


def _parts(text: str) -> list[list[str]]:
    parts: list[list[str]] = []
    for line in text.split("\n")[:-1]:
        if line.startswith("diff --git ") or not parts or not parts[-1][0].startswith("diff --git "):
            parts.append([line])
        else:
            parts[-1].append(line)
    return parts


def _file(part: list[str]) -> FileDiff:
    head = part[0]
    if head.startswith("diff --git "):
        path = head.rpartition(" b/")[2] if " b/" in head else head.removeprefix("diff --git ")
    else:
        # A change that git cannot express, such as a folder.
        path = head.partition(": ")[0]
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
