"""Tools that start processes: shell commands, Python snippets, searches."""

import asyncio
from pathlib import Path

import pytest

from support.calling import Run
from surefoot.errors import PathOutsideWorkspace, ToolError
from surefoot.tools import ToolContext, call
from surefoot.tools.builtin.python import run_python
from surefoot.tools.builtin.search import search
from surefoot.tools.builtin.shell import run_command
from surefoot.workspace.sandbox.sandbox import Sandbox, choose_sandbox


class TestCommand:
    async def test_runs_in_the_workspace_and_reports_the_exit_code(self, root: Path, run: Run) -> None:
        result = await run(run_command, command="echo hello > out.txt; pwd; echo bad >&2; exit 3")
        assert (root / "out.txt").read_text() == "hello\n"
        assert result.summary == f"exit code 3\n{root}\nbad"
        assert (result.ok, result.command, result.data) == (
            False,
            "echo hello > out.txt; pwd; echo bad >&2; exit 3",
            {"exit_code": 3, "timed_out": False},
        )

    async def test_success_without_output(self, run: Run) -> None:
        result = await run(run_command, command="true")
        assert result.ok
        assert result.summary == "exit code 0, no output"

    async def test_a_timeout_stops_the_command_and_keeps_its_output(self, run: Run) -> None:
        result = await run(run_command, command="echo started; sleep 600", timeout="4")
        assert not result.ok
        assert result.summary.startswith("stopped: it did not end within 4 seconds")
        assert "started" in result.output
        assert result.data["timed_out"]
        assert not result.temporary

    async def test_the_timeout_argument_cannot_exceed_the_configured_one(self, root: Path) -> None:
        result = await call(
            run_command, ToolContext(root=root, command_timeout=0.5), {"command": "sleep 600", "timeout": 9999}
        )
        assert "within 0.5 seconds" in result.summary

    async def test_long_output_is_summarised_and_complete_in_the_result(self, run: Run) -> None:
        result = await run(run_command, command="seq 1 20000; echo 'error: it broke'; seq 1 20000; exit 1")
        assert len(result.summary) < 2500
        assert "error: it broke" in result.summary
        assert 'read_result("a7")' in result.summary
        assert len(result.output.splitlines()) == 40_001

    async def test_output_is_streamed(self, root: Path) -> None:
        pieces: list[str] = []
        await call(run_command, ToolContext(root=root, on_output=pieces.append), {"command": "echo one; echo two"})
        assert "".join(pieces) == "one\ntwo\n"

    async def test_a_signal_is_reported(self, run: Run) -> None:
        assert "killed by signal 9" in (await run(run_command, command="kill -9 $$")).summary

    @pytest.mark.parametrize("command", ["", "  ", "echo \0"])
    async def test_an_invalid_command_is_refused(self, run: Run, command: str) -> None:
        with pytest.raises(ToolError) as caught:
            await run(run_command, command=command)
        assert (caught.value.tool, caught.value.argument) == ("run_command", "command")

    async def test_the_sandbox_prevents_writes_outside_the_workspace(self, root: Path) -> None:
        sandbox, _ = choose_sandbox("auto", root, state_folders=[])
        if sandbox is None:
            pytest.skip("no sandbox works here")
        outside = root.parent / "outside.txt"
        context = ToolContext(root=root, sandbox=sandbox)
        await call(run_command, context, {"command": f"echo in > inside.txt; echo out > {outside}"})
        assert (root / "inside.txt").read_text() == "in\n"
        assert not outside.exists()

    async def test_cancellation_ends_the_command(self, root: Path) -> None:
        started = asyncio.Event()
        context = ToolContext(root=root, on_output=lambda _: started.set())
        task = asyncio.create_task(
            call(run_command, context, {"command": "echo started; (sleep 1; touch late) & sleep 600"})
        )
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(1.5)
        assert not (root / "late").exists()


class TestPython:
    async def test_imports_modules_of_the_workspace(self, root: Path, run: Run) -> None:
        (root / "helper.py").write_text("def double(x):\n    return 2 * x\n")
        (root / "json.py").write_text("raise SystemExit('not the real json')")
        result = await run(
            run_python, code="import json\nfrom helper import double\nprint(json.dumps(double(21)), 'ü')"
        )
        assert (result.ok, result.summary) == (True, "exit code 0\n42 ü")
        assert not (root / "__pycache__").exists()

    async def test_a_traceback_quotes_the_lines_of_the_snippet(self, run: Run) -> None:
        result = await run(run_python, code="def f(x):\n    return 1 / x\n\nf(0)\n")
        assert not result.ok
        assert result.summary == (
            "exit code 1\nTraceback (most recent call last):\n"
            '  File "snippet.py", line 4, in <module>\n    f(0)\n'
            '  File "snippet.py", line 2, in f\n    return 1 / x\n           ~~^~~\n'
            "ZeroDivisionError: division by zero"
        )

    async def test_a_syntax_error_is_reported(self, run: Run) -> None:
        result = await run(run_python, code="def f(:")
        assert not result.ok
        assert "SyntaxError: invalid syntax" in result.summary

    async def test_the_exit_code_of_the_snippet_is_reported(self, run: Run) -> None:
        assert (await run(run_python, code="raise SystemExit(4)")).data["exit_code"] == 4

    async def test_empty_or_invalid_code_is_refused(self, run: Run) -> None:
        for code in ("", "\ud800"):
            with pytest.raises(ToolError) as caught:
                await run(run_python, code=code)
            assert caught.value.argument == "code"

    async def test_runs_in_the_sandbox(self, root: Path) -> None:
        sandbox: Sandbox | None = choose_sandbox("auto", root, state_folders=[])[0]
        if sandbox is None:
            pytest.skip("no sandbox works here")
        context = ToolContext(root=root, sandbox=sandbox)
        result = await call(run_python, context, {"code": "open('new.txt', 'w').write('x'); print('done')"})
        assert result.summary == "exit code 0\ndone"
        assert (root / "new.txt").exists()


@pytest.fixture
def tree(root: Path) -> Path:
    (root / "src").mkdir()
    (root / "src/app.py").write_text("import os\n\ndef main(argv):\n    return run(argv)\n")
    (root / "src/util.py").write_text("def run(argv):\n    print('Main loop')\n")
    (root / "notes.md").write_text("main ideas: run(argv)\n")
    (root / "image.png").write_bytes(b"\x89PNG\0main")
    return root


class TestSearch:
    async def test_matches_are_shown_with_the_lines_around_them(self, tree: Path, run: Run) -> None:
        result = await run(search, pattern=r"def \w+")
        assert result.summary == (
            "2 matches in 2 files\nsrc/app.py:\n  2-\n  3: def main(argv):\n  4-     return run(argv)\n"
            "src/util.py:\n  1: def run(argv):\n  2-     print('Main loop')"
        )
        assert result.data == {"total": 2}

    async def test_path_and_glob_limit_the_search(self, tree: Path, run: Run) -> None:
        assert (await run(search, pattern="main", glob="*.md")).summary.startswith("1 match in 1 file\nnotes.md:")
        assert "util" not in (await run(search, pattern="argv", path="src/app.py")).summary
        assert "notes" not in (await run(search, pattern="argv", path="src")).summary

    async def test_falls_back_to_plain_text(self, tree: Path, run: Run) -> None:
        unclosed = (await run(search, pattern="run(")).summary
        assert "no valid regular expression" in unclosed
        assert "3 matches in 3 files (as plain text)" in unclosed
        assert "3 matches in 3 files (as plain text)" in (await run(search, pattern="run(argv)")).summary

    async def test_falls_back_to_ignoring_case(self, tree: Path, run: Run) -> None:
        assert "(in any case)" in (await run(search, pattern="MAIN LOOP")).summary

    async def test_no_match(self, tree: Path, run: Run) -> None:
        result = await run(search, pattern="zebra")
        assert result.ok
        assert result.summary == "no match for 'zebra' in 4 files"

    async def test_many_matches_are_counted_and_the_first_shown(self, root: Path, run: Run) -> None:
        (root / "a.txt").write_text("needle\n" * 5000)
        result = await run(search, pattern="needle")
        assert result.summary.startswith("5000 matches in 1 file, the first 50 shown; narrow it")
        assert len(result.summary) <= 2400

    async def test_a_slow_regular_expression_falls_back_to_plain_text(
        self, root: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("surefoot.tools.builtin.search.REGEX_SECONDS", 1.5)
        monkeypatch.setenv("PATH", "/nowhere")  # ripgrep would not be slow
        (root / "a.txt").write_text("a" * 60 + "!\nliteral (a+)+$ here\n")
        result = await run(search, pattern="(a+)+$")
        assert "takes too long" in result.summary
        assert "2: literal (a+)+$ here" in result.summary

    async def test_links_outside_the_workspace_are_not_followed(self, tree: Path, run: Run) -> None:
        secret = tree.parent / "secret"
        secret.mkdir()
        (secret / "s.txt").write_text("topsecret")
        (tree / "link.txt").symlink_to(secret / "s.txt")
        (tree / "folder").symlink_to(secret)
        assert "no match" in (await run(search, pattern="topsecret")).summary
        with pytest.raises(PathOutsideWorkspace):
            await run(search, pattern="topsecret", path="folder")

    async def test_invalid_arguments_are_refused(self, tree: Path, run: Run) -> None:
        with pytest.raises(ToolError, match="empty"):
            await run(search, pattern="")
        with pytest.raises(ToolError, match="no file"):
            await run(search, pattern="x", path="scr")

    async def test_long_lines_are_shortened(self, root: Path, run: Run) -> None:
        (root / "min.js").write_text("x" * 100_000 + "needle" + "y" * 100_000)
        summary = (await run(search, pattern="needle")).summary
        assert "needle" in summary
        assert len(summary) < 400
