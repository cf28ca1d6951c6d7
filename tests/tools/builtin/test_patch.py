"""The tool apply_patch: its format, how hunks are matched, and that all of a patch is done or nothing."""

import errno
from pathlib import Path
from typing import Any

import pytest

from support.calling import Run
from surefoot.errors import PathOutsideWorkspace, PathProtected, ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.builtin import patch as patch_tool
from surefoot.tools.builtin.patch import apply_patch
from surefoot.tools.fs.fileio import write_bytes
from surefoot.tools.text.hunks import apply_hunks
from surefoot.tools.text.patch import patch_in_command, read_patch

CODE = (
    "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\n\ndef h():\n    return 2\n"
)
CHANGED = CODE.replace("1\n\n\n", "5\n\n\n")
ONE = "*** Update File: a.py\n@@\n def h():\n-    return 2\n+    return 3\n"


def wrapped(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


def changed(text: str, hunks: str) -> str:
    return apply_hunks("a.py", text, read_patch(wrapped(f"*** Update File: a.py\n{hunks}"))[0].hunks).text


@pytest.mark.req("X11")
async def test_one_patch_updates_adds_deletes_and_moves(run: Run, root: Path) -> None:
    (root / "a.py").write_text(CODE)
    (root / "old.txt").write_text("x\n")
    (root / "run.sh").write_text("echo 1\n")
    (root / "run.sh").chmod(0o755)
    body = f"{ONE}*** Add File: pkg/new.py\n+a = 1\n+\n+b = 2\n*** Delete File: old.txt\n"
    body += "*** Update File: run.sh\n*** Move to: bin/run.sh\n@@\n-echo 1\n+echo 2\n"
    result = await run(apply_patch, patch=wrapped(body))
    assert (root / "a.py").read_text() == CODE.replace("return 2", "return 3")
    assert (root / "pkg/new.py").read_text() == "a = 1\n\nb = 2\n"
    assert not (root / "old.txt").exists()
    assert not (root / "run.sh").exists()
    assert (root / "bin/run.sh").read_text() == "echo 2\n"
    assert (root / "bin/run.sh").stat().st_mode & 0o777 == 0o755
    for line in ("updated a.py (+1 -1 lines)", "added pkg/new.py", "deleted old.txt", "moved run.sh to bin/run.sh"):
        assert line in result.summary


@pytest.mark.req("X11")
async def test_nothing_is_written_if_one_part_does_not_fit(run: Run, root: Path) -> None:
    (root / "a.py").write_text(CODE)
    (root / "b.py").write_text("value = 1\nother = 2\n")
    body = f"*** Add File: new.py\n+x\n{ONE}*** Update File: b.py\n@@\n value = 1\n-other = 3\n+other = 4\n"
    with pytest.raises(ToolError) as caught:
        await run(apply_patch, patch=wrapped(body + "*** Delete File: missing.py\n"))
    message = str(caught.value)
    assert "hunk 1 of 1 for b.py" in message
    assert "2| other = 2" in message
    assert "nowhere in the file: other = 3" in message
    assert "missing.py" in message
    assert "nothing was changed" in message
    assert (root / "a.py").read_text() == CODE
    assert not (root / "new.py").exists()


async def test_a_write_that_fails_puts_back_what_was_written(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.py").write_text(CODE)
    (root / "c.txt").write_text("c\n")
    (root / "m.txt").write_text("m\n")
    real = write_bytes

    def full(where: Path, file: Path, content: bytes) -> None:
        if file.name == "last.py":
            raise OSError(errno.ENOSPC, "no space left")
        real(where, file, content)

    monkeypatch.setattr(patch_tool, "write_bytes", full)
    body = "*** Update File: m.txt\n*** Move to: n.txt\n" + ONE + "*** Delete File: c.txt\n*** Add File: new.py\n+x\n"
    with pytest.raises(ToolError, match="no space"):
        await run(apply_patch, patch=wrapped(body + "*** Add File: last.py\n+x\n"))
    files = {path.name: path.read_text() for path in root.iterdir()}
    assert files == {"a.py": CODE, "c.txt": "c\n", "m.txt": "m\n"}


@pytest.mark.parametrize(
    ("text", "hunks", "expected"),
    [
        # An @@ line tells equal places apart, also two of them.
        (CODE, "@@ def g(self):\n-        return 1\n+        return 5\n", CHANGED),
        (CODE, "@@ class A:\n@@     def g(self):\n-        return 1\n+        return 5\n", CHANGED),
        # So does the order of the hunks.
        ("x\na\nx\n", "@@\n a\n+b\n@@\n-x\n+y\n", "x\na\nb\ny\n"),
        ("x\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\ny\n"),
        # Only added lines: below the @@ line, or at the end.
        (CODE, "@@ def h():\n+    x = 1\n", CODE.replace("def h():\n", "def h():\n    x = 1\n")),
        ("a", "+b\n", "a\nb\n"),
        ("", "@@\n+b\n", "b\n"),
        # Formatting: trailing space, indentation with the file's own, punctuation. Lines that stay are not touched.
        ("a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n"),
        ("if x:\n\ty = 1\n\tz = 2\n", "@@\n if x:\n     y = 1\n-    z = 2\n+    z = 3\n", "if x:\n\ty = 1\n\tz = 3\n"),
        ("say “hi” – now\nold\n", '@@\n say "hi" - now\n-old\n+new\n', "say “hi” – now\nnew\n"),
        # Line endings, and no newline at the end.
        ("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+B\n+BB\n c\n", "a\r\nB\r\nBB\r\nc\r\n"),
        ("a\nb", "@@\n-a\n+A\n b\n", "A\nb"),
        # What models write: line numbers in @@, no space before lines that stay, a blank line between hunks.
        ("a\nb\nc\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n@@\n-c\n+C\n", "a\nB\nC\n"),
        ("def f():\n    a\n\n    b\n", "@@\ndef f():\n     a\n\n-    b\n+    c\n", "def f():\n    a\n\n    c\n"),
    ],
)  # fmt: skip
def test_where_a_hunk_belongs(text: str, hunks: str, expected: str) -> None:
    assert changed(text, hunks) == expected


def test_the_way_of_a_match_is_said() -> None:
    hunks = read_patch(wrapped("*** Update File: a\n@@\n-  a = 1\n+  a = 2\n"))[0].hunks
    assert apply_hunks("a", "    a = 1\n", hunks) == ("    a = 2\n", ("hunk 1 matched apart from spacing",))


@pytest.mark.parametrize(
    ("text", "hunks", "message"),
    [
        ("x\ny\nx\n", "@@\n-x\n+z\n", r"in 2 places, at the lines 1, 3"),
        ("a\nnew\n", "@@\n a\n-old\n+new\n", "done already"),
        ("aaaa\n", "@@\n-zzzzzzzzzz\n+y\n", "nor anything like them"),
        (CODE, "@@ def nowhere():\n+    x\n", "'def nowhere\\(\\):' of its @@ is not in the file"),
    ],
)
def test_a_hunk_that_does_not_fit_says_why(text: str, hunks: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        changed(text, hunks)


@pytest.mark.parametrize(
    "text",
    [
        wrapped(ONE),
        f"*** Begin Patch\n{ONE}",
        ONE,
        f"Here is the patch:\n```\n{wrapped(ONE)}```\nI changed h.",
        f"```diff\n*** Begin Patch\n{ONE}```\n",
        f"apply_patch <<'EOF'\n{wrapped(ONE)}EOF\n",
        f"apply_patch <<'EOF'\n*** Begin Patch\n{ONE}EOF\n",
        wrapped(ONE).replace("\n", "\r\n"),
        wrapped(ONE.replace("a.py\n", "a.py\n--- a/a.py\n+++ b/a.py\n")),
    ],
)
def test_wrappers_prose_and_a_missing_end_are_tolerated(text: str) -> None:
    (section,) = read_patch(text)
    assert (section.kind, section.path) == ("update", "a.py")
    assert apply_hunks("a.py", CODE, section.hunks).text == CODE.replace("return 2", "return 3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "no file section"),
        (wrapped("*** Add File: a\n+x\ny\n"), "does not begin with \\+: 'y'"),
        (wrapped("*** Update File: a\n"), "has no lines"),
        (wrapped("*** Update File: a\n@@\n x\n"), "neither removes nor adds"),
        (wrapped("*** Delete File: a\n-x\n"), "a deleted file has no lines"),
    ],
)
def test_a_malformed_patch_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        read_patch(text)


@pytest.mark.parametrize("header", ["Update File", "Add File", "Delete File"])
@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../out.txt", PathOutsideWorkspace),
        ("/etc/passwd", PathOutsideWorkspace),
        ("link/out.txt", PathOutsideWorkspace),
        (".git/config", PathProtected),
        ("kept.py", PathProtected),
    ],
)
async def test_paths_are_checked_as_those_of_other_tools(
    root: Path, tmp_path: Path, header: str, path: str, error: type[ToolError]
) -> None:
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "kept.py").write_text("x\n")
    (root / "a.py").write_text(CODE)
    lines = {"Update File": "@@\n-x\n+y\n", "Add File": "+y\n", "Delete File": ""}[header]
    context = ToolContext(root=root, not_writable=frozenset({"kept.py"}))
    with pytest.raises(error):
        await call(apply_patch, context, {"patch": wrapped(f"{ONE}*** {header}: {path}\n{lines}")})
    moved = f"*** Update File: a.py\n*** Move to: {path}\n"
    with pytest.raises(error):
        await call(apply_patch, context, {"patch": wrapped(moved)})
    assert (root / "a.py").read_text() == CODE
    assert not list((tmp_path / "outside").iterdir())


async def test_guards_of_edits_hold_for_patches(root: Path) -> None:
    (root / "gen.py").write_text("# @generated\nx = 1\n")
    (root / "test_a.py").write_text("def test(): assert f()\n")
    (root / "bin").write_bytes(b"\0\1")
    (root / "secret.py").write_text("key = 'hunter2'\n")
    seen: list[tuple[str, bytes | None]] = []

    def weakens(path: str, content: bytes | None, moved_to: str) -> str:
        seen.append((path, content))
        return "test is gone" if path == "test_a.py" else ""

    options: dict[str, Any] = {"redact": lambda text: text.replace("hunter2", "[redacted]"), "has_hidden": lambda: True}
    context = ToolContext(root=root, weakens=weakens, **options)
    for body, message in [
        ("*** Update File: gen.py\n@@\n-x = 1\n+x = 2\n", "must not be edited by hand"),
        ("*** Delete File: test_a.py\n", "may be extended but not weakened"),
        ("*** Update File: test_a.py\n*** Move to: t.py\n@@\n-def test(): assert f()\n+\n", "not weakened"),
        ("*** Update File: bin\n@@\n-x\n+y\n", "binary"),
        ("*** Add File: gen.py\n+x\n", "exists already"),
        ("*** Update File: secret.py\n@@\n-key = 'hunter2'\n+key = '[redacted]' or None\n", "secrets in it"),
    ]:
        with pytest.raises(ToolError, match=message):
            await call(apply_patch, context, {"patch": wrapped(f"*** Add File: n\n+x\n{body}")})
        assert not (root / "n").exists()
    assert ("test_a.py", None) in seen


async def test_a_file_can_be_written_anew_and_updated_twice(run: Run, root: Path) -> None:
    (root / "a.py").write_text(CODE)
    (root / "b.py").write_text("one\ntwo\n")
    body = "*** Delete File: a.py\n*** Add File: a.py\n+fresh\n"
    body += "*** Update File: b.py\n@@\n-one\n+1\n*** Update File: b.py\n@@\n 1\n-two\n+2\n"
    await run(apply_patch, patch=wrapped(body))
    assert (root / "a.py").read_text() == "fresh\n"
    assert (root / "b.py").read_text() == "1\n2\n"


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (f"apply_patch <<'EOF'\n{wrapped(ONE)}EOF\n", "a.py"),
        (f"applypatch <<EOF\n{wrapped(ONE)}EOF", "a.py"),
        (f"cat <<'PATCH' | apply_patch\n{wrapped(ONE)}PATCH", "a.py"),
        (f"apply_patch '{wrapped(ONE)}'", "a.py"),
        (f"apply_patch \"$(cat <<'EOF'\n{wrapped(ONE)}EOF\n)\"", "a.py"),
        (f"cd src/x && apply_patch <<'EOF'\n{wrapped(ONE)}EOF\n", "src/x/a.py"),
        (f"bash -lc \"apply_patch <<'EOF'\n{wrapped(ONE)}EOF\"", "a.py"),
    ],
)
def test_a_command_that_only_calls_apply_patch_is_recognised(command: str, path: str) -> None:
    patch = patch_in_command(command)
    assert patch is not None
    (section,) = read_patch(patch)
    assert section.path == path
    assert section.hunks[0].old == ["def h():", "    return 2"]


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        f"cat > notes.txt <<'EOF'\n{wrapped(ONE)}EOF",
        f"apply_patch <<'EOF'\n{wrapped(ONE)}EOF\nrm -rf build",
        f"cd $X && apply_patch <<'EOF'\n{wrapped(ONE)}EOF",
        "grep apply_patch src",
    ],
)
def test_a_command_that_does_more_is_not_taken_for_a_patch(command: str) -> None:
    assert patch_in_command(command) is None
