"""What a prompt shows of the workspace."""

from support.kit import Bench, fenced, understanding

FILE = understanding("add.py")


async def first_prompt(bench: Bench, task: str = "write add.py") -> str:
    await bench.run(task, [FILE, fenced("def add(a, b):\n    return a + b")])
    return bench.prompts()[0]


async def test_files_that_git_ignores_are_not_listed(bench: Bench) -> None:
    (bench.root / "build").mkdir()
    bench.write(__gitignore="build/\n*.log\n", notes__txt="x")
    (bench.root / "build" / "out.js").write_text("compiled")
    (bench.root / "debug.log").write_text("noise")
    prompt = await first_prompt(bench)
    assert "- notes.txt" in prompt
    assert "out.js" not in prompt
    assert "debug.log" not in prompt


async def test_an_ignored_file_is_shown_if_the_task_names_it(bench: Bench) -> None:
    bench.write(__gitignore="*.log\n", debug__log="the error is here", other__log="noise")
    prompt = await first_prompt(bench, "write add.py, which counts the lines of debug.log")
    assert "the error is here" in prompt
    assert "other.log" not in prompt


async def test_long_agents_file_is_quoted_from_its_beginning(bench: Bench) -> None:
    bench.write(AGENTS__md="Use tabs.\n" + "x" * 20_000)
    prompt = await first_prompt(bench)
    assert "# AGENTS.md says\nUse tabs.\nxxx" in prompt
    assert "(the first 8,000 of 20,010 characters)" in prompt


async def test_short_agents_file_is_quoted_whole(bench: Bench) -> None:
    bench.write(AGENTS__md="Use tabs.\n")
    assert "# AGENTS.md says\nUse tabs.\n" in await first_prompt(bench)
