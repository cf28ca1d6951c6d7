"""Reading, writing, listing, deleting and moving real files."""

import os
import stat
from pathlib import Path

import pytest

from surefoot.errors import PathOutsideWorkspace, PathProtected, ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.fileio import MAX_FILE_BYTES, TEMPORARY_PREFIX
from surefoot.tools.files import delete_file, list_files, move_file, read_file, write_file
from tools.calling import Run


class TestRead:
    async def test_a_short_file_is_shown_whole_without_line_numbers(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text("one\ntwo\n")
        assert (await run(read_file, path="a.py")).summary == "a.py (2 lines):\none\ntwo"

    async def test_some_lines_of_it(self, root: Path, run: Run) -> None:
        (root / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 21)))
        result = await run(read_file, path="a.py", start_line="5", end_line=6)
        assert result.summary == "a.py, lines 5 to 6 of 20:\nline 5\nline 6"

    async def test_a_long_file_says_how_to_read_on_and_reading_on_covers_it(self, root: Path, run: Run) -> None:
        lines = [f"line {n} of many" for n in range(1, 2001)]
        (root / "a.txt").write_text("\n".join(lines) + "\n")
        seen: list[str] = []
        start = 1
        while start:
            text = (await run(read_file, path="a.txt", start_line=start)).summary
            body = [line for line in text.split("\n") if line.startswith("line ")]
            seen += body
            assert len(text) < 9000
            start = start + len(body) if "more lines; read_file with start_line=" in text else 0
            assert not start or f"start_line={start} " in text
        assert seen == lines

    async def test_a_missing_file_suggests_what_was_meant(self, root: Path, run: Run) -> None:
        (root / "src").mkdir()
        (root / "src/app.py").write_text("")
        with pytest.raises(ToolError, match=r"no file 'app\.py'") as caught:
            await run(read_file, path="app.py")
        assert caught.value.tool == "read_file"
        assert caught.value.remedy == "did you mean src/app.py?"

    @pytest.mark.parametrize(("start", "end"), [(9, None), (3, 2)])
    async def test_lines_that_are_not_there(self, root: Path, run: Run, start: int, end: int | None) -> None:
        (root / "a").write_text("1\n2\n3\n")
        with pytest.raises(ToolError, match="3 lines") as caught:
            await run(read_file, path="a", start_line=start, end_line=end)
        assert "between 1 and 3" in caught.value.remedy

    async def test_folders_binaries_pipes_and_giants_are_refused_kindly(self, root: Path, run: Run) -> None:
        (root / "folder").mkdir()
        (root / "image").write_bytes(b"\x89PNG\0\0data")
        os.mkfifo(root / "pipe")
        with (root / "giant").open("wb") as giant:
            giant.truncate(MAX_FILE_BYTES + 1)
        for path, reason in [("folder", "folder"), ("image", "binary"), ("pipe", "ordinary"), ("giant", "large")]:
            with pytest.raises(ToolError, match=reason) as caught:
                await run(read_file, path=path)
            assert caught.value.remedy

    async def test_what_is_not_utf8_is_read_with_a_note(self, root: Path, run: Run) -> None:
        (root / "latin").write_bytes("café\n".encode("latin-1"))
        summary = (await run(read_file, path="latin")).summary
        assert "not UTF-8" in summary
        assert "caf\ufffd" in summary

    async def test_one_endless_line_is_cut(self, root: Path, run: Run) -> None:
        (root / "min.js").write_text("x" * 500_000)
        summary = (await run(read_file, path="min.js")).summary
        assert len(summary) < 3000
        assert "498,000 more characters" in summary

    async def test_empty_and_linked_files(self, root: Path, run: Run) -> None:
        (root / "empty").touch()
        (root / "real").write_text("text\n")
        (root / "link").symlink_to("real")
        assert (await run(read_file, path="empty")).summary == "empty is empty"
        assert "text" in (await run(read_file, path="link")).summary


class TestWrite:
    async def test_makes_folders_and_says_what_it_did(self, root: Path, run: Run) -> None:
        assert (await run(write_file, path="a/b/c.py", content="1\n2\n")).summary == "created a/b/c.py (2 lines)"
        assert (await run(write_file, path="a/b/c.py", content="x")).summary == "overwrote a/b/c.py (1 line)"
        assert "nothing changed" in (await run(write_file, path="a/b/c.py", content="x")).summary
        assert (root / "a/b/c.py").read_bytes() == b"x"

    async def test_keeps_the_mode_and_leaves_nothing_else_behind(self, root: Path, run: Run) -> None:
        (root / "run.sh").write_text("old")
        (root / "run.sh").chmod(0o751)
        await run(write_file, path="run.sh", content="new")
        assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
        assert [child.name for child in root.iterdir()] == ["run.sh"]

    async def test_new_files_have_the_mode_that_the_umask_gives(self, root: Path, run: Run) -> None:
        (root / "by_hand").touch()
        await run(write_file, path="by_tool", content="")
        assert (root / "by_tool").stat().st_mode == (root / "by_hand").stat().st_mode

    async def test_a_link_stays_a_link_and_a_hard_link_elsewhere_is_untouched(self, root: Path, run: Run) -> None:
        (root / "real").write_text("old")
        (root / "link").symlink_to("real")
        outside = root.parent / "outside"
        outside.write_text("theirs")
        os.link(outside, root / "hard")
        await run(write_file, path="link", content="new")
        await run(write_file, path="hard", content="mine")
        assert (root / "link").is_symlink()
        assert (root / "real").read_text() == "new"
        assert outside.read_text() == "theirs"

    async def test_content_arrives_byte_for_byte(self, root: Path, run: Run) -> None:
        content = "a\r\nb\n\n  ünï 文字 🙂\u2028end"
        await run(write_file, path="a", content=content)
        assert (root / "a").read_bytes() == content.encode()

    async def test_refusals(self, root: Path, run: Run) -> None:
        (root / "folder").mkdir()
        (root / "file").touch()
        for path in ("folder", "new/", "file/below", "."):
            with pytest.raises(ToolError) as caught:
                await run(write_file, path=path, content="x")
            assert caught.value.tool == "write_file"
            assert caught.value.remedy
        with pytest.raises(PathOutsideWorkspace):
            await run(write_file, path="../x", content="x")
        with pytest.raises(ToolError, match="no valid text"):
            await run(write_file, path="x", content="\ud800")
        assert not (root.parent / "x").exists()

    async def test_a_write_that_breaks_off_leaves_the_old_file(
        self, root: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (root / "a").write_text("old")

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ToolError, match="No space left"):
            await run(write_file, path="a", content="new")
        assert (root / "a").read_text() == "old"
        assert not list(root.glob(TEMPORARY_PREFIX + "*"))

    async def test_a_file_too_large_to_read_can_be_replaced(self, root: Path, run: Run) -> None:
        with (root / "giant").open("wb") as giant:
            giant.truncate(MAX_FILE_BYTES + 1)
        await run(write_file, path="giant", content="small")
        assert (root / "giant").read_text() == "small"


class TestList:
    async def test_whole_paths_without_the_noise(self, root: Path, run: Run) -> None:
        for path in ("b.py", "src/a.py", ".git/config", "node_modules/x.js", "src/__pycache__/a.pyc", ".env"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        (root / "empty").mkdir()
        assert (await run(list_files)).summary == ".env\nb.py\nempty/\nsrc/a.py"

    async def test_gitignore_hides_and_says_so(self, root: Path, run: Run) -> None:
        (root / ".gitignore").write_text("# comment\nbuild/\n*.log\n!keep.log\n/only_here\nsub/*.tmp\n")
        (root / "sub").mkdir()
        (root / "sub/.gitignore").write_text("secret*\n")
        for path in (
            "build/x",
            "a.log",
            "keep.log",
            "only_here",
            "sub/only_here",
            "sub/a.tmp",
            "sub/secret1",
            "z/build",
        ):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        summary = (await run(list_files)).summary
        listed, _, note = summary.partition("\n(not shown: ")
        assert listed.split("\n") == [".gitignore", "keep.log", "sub/.gitignore", "sub/only_here", "z/build"]
        assert note == "a.log, build/, only_here, sub/a.tmp, sub/secret1)"
        assert (await run(list_files, path="build")).summary == "build/x"

    async def test_globs(self, root: Path, run: Run) -> None:
        for path in ("a.py", "src/b.py", "src/deep/c.py", "src/d.ts", "src/e.js"):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        expected = {
            "*.py": "a.py\nsrc/b.py\nsrc/deep/c.py",
            "src/*.py": "src/b.py",
            "src/**/*.py": "src/b.py\nsrc/deep/c.py",
            "**/*.py": "a.py\nsrc/b.py\nsrc/deep/c.py",
            "*.{ts,js}": "src/d.ts\nsrc/e.js",
            "./src/deep/**": "src/deep/c.py",
            "*a*a*a*a*a*a*a*a*a*a*b": "no file in the workspace matches *a*a*a*a*a*a*a*a*a*a*b",
        }
        for glob, listed in expected.items():
            assert (await run(list_files, glob=glob)).summary == listed

    async def test_many_files_are_folded_into_their_folders(self, root: Path, run: Run) -> None:
        for folder in ("src", "data/raw", "data/clean"):
            (root / folder).mkdir(parents=True)
        (root / "README.md").touch()
        (root / "src/a.py").touch()
        for n in range(300):
            (root / f"data/raw/{n}.csv").touch()
        result = await run(list_files)
        assert result.summary == "README.md\ndata/clean/\ndata/raw/ (300 files)\nsrc/a.py"
        assert result.output.count("\n") == 302
        assert "[... and 100 more]" in (await run(list_files, path="data/raw")).summary

    async def test_links_out_of_the_workspace_are_not_followed(self, root: Path, run: Run) -> None:
        (root / "etc").symlink_to("/etc")
        (root / "round").symlink_to(".")
        assert (await run(list_files)).summary == "etc\nround"
        with pytest.raises(PathOutsideWorkspace):
            await run(list_files, path="etc")

    async def test_an_empty_workspace_and_a_missing_folder(self, root: Path, run: Run) -> None:
        assert (await run(list_files)).summary == "there are no files in the workspace"
        with pytest.raises(ToolError, match="no file 'nowhere'"):
            await run(list_files, path="nowhere")

    async def test_a_gitignore_that_is_a_pipe_does_not_hang(self, root: Path, run: Run) -> None:
        os.mkfifo(root / ".gitignore")
        assert (await run(list_files)).summary == ".gitignore"


class TestDeleteAndMove:
    async def test_delete(self, root: Path, run: Run) -> None:
        (root / "a").touch()
        (root / "target").touch()
        (root / "link").symlink_to("target")
        (root / "folder").mkdir()
        assert (await run(delete_file, path="a")).summary == "deleted a"
        await run(delete_file, path="link")
        assert sorted(child.name for child in root.iterdir()) == ["folder", "target"]
        for path in ("a", "folder", "."):
            with pytest.raises(ToolError):
                await run(delete_file, path=path)

    async def test_move(self, root: Path, run: Run) -> None:
        (root / "a").write_text("a")
        (root / "folder").mkdir()
        assert (await run(move_file, source="a", target="new/b")).summary == "moved a to new/b"
        assert (await run(move_file, source="new/b", target="folder")).summary == "moved new/b to folder/b"
        assert (root / "folder/b").read_text() == "a"

    async def test_move_replaces_nothing(self, root: Path, run: Run) -> None:
        (root / "a").write_text("a")
        (root / "b").write_text("b")
        with pytest.raises(ToolError, match="exists already") as caught:
            await run(move_file, source="a", target="b")
        assert caught.value.argument == "target"
        assert (root / "b").read_text() == "b"

    async def test_protected_files_are_neither_deleted_nor_moved_nor_written(self, root: Path) -> None:
        (root / "test_a.py").write_text("assert True")
        context = ToolContext(root=root, protected=frozenset({"test_a.py"}))
        for tool, arguments in [
            (delete_file, {"path": "test_a.py"}),
            (move_file, {"source": "test_a.py", "target": "x"}),
            (move_file, {"source": "x", "target": "test_a.py"}),
            (write_file, {"path": "test_a.py", "content": ""}),
        ]:
            with pytest.raises(PathProtected, match="tests that existed before"):
                await call(tool, context, arguments)
        assert "assert True" in (await call(read_file, context, {"path": "test_a.py"})).summary
