"""Completion: the real shells with the printed script, and the protocol that the scripts use."""

import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cli.conftest import PROGRAM, OnTerminal, Surefoot
from support import recorded
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal


async def store(surefoot: Surefoot, run_id: str, text: str, folder: Path | None = None) -> None:
    created, *others = (record.event for record in recorded.whole_run())
    assert isinstance(created, e.RunCreated)
    task = created.task.with_(workspace=str(folder or surefoot.workspace), text=text)
    journal = SqliteJournal(surefoot.journal_file)
    await journal.append(run_id, [created.with_(run_id=run_id, task=task, model="openai/gpt-5.4"), *others])
    await journal.aclose()


@pytest.fixture
async def filled(surefoot: Surefoot) -> Surefoot:
    """Two runs here and one in another folder. Tasks are texts of people: they may hold anything."""
    await store(surefoot, "1115-2044", "add a --json flag, please")
    await store(surefoot, "1116-0900", "evil\n\x1b[2J$(touch owned) `touch owned` *")
    await store(surefoot, "2222-0001", "elsewhere", surefoot.home)
    await store(surefoot, "$(touch${IFS}owned)", "an id that is a command")
    await store(surefoot, "*", "an id that is a pattern")
    return surefoot


def asked(surefoot: Surefoot, shell: str, *words: str) -> str:
    """What the program answers a script of click for this line; the last word is the one that is being typed."""
    line = " ".join(["surefoot", *words])
    typed = words[-1] if shell == "fish" else str(len(words))
    surefoot.environ |= {"_SUREFOOT_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": typed}
    result = surefoot()
    for name in ("_SUREFOOT_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        del surefoot.environ[name]
    assert (result.code, result.err) == (0, "")
    return result.out


def values(surefoot: Surefoot, *words: str) -> list[str]:
    return [line.partition(",")[2] for line in asked(surefoot, "bash", *words).split()]


def test_runs_newest_first_with_their_tasks(filled: Surefoot) -> None:
    assert values(filled, "show", "") == ["1116-0900", "1115-2044", "last"]
    assert values(filled, "run", "--based-on", "1115") == ["1115-2044"]
    assert values(filled, "show", "2222") == ["2222-0001"], "ids of other folders are found by their beginning"
    assert values(filled, "show", "--all", "")[0] == "2222-0001"
    zsh = asked(filled, "zsh", "show", "1115").splitlines()
    assert zsh == ["plain", "1115-2044", "verified: add a --json flag please"]
    evil = asked(filled, "fish", "show", "1116").splitlines()
    assert len(evil) == 1
    assert evil[0].startswith("plain,1116-0900\tverified: evil")
    assert "\x1b" not in evil[0]


def test_steps_of_the_run_that_is_named(filled: Surefoot) -> None:
    assert values(filled, "retry", "1115-2044", "") == ["s0", "s1", "s2"]
    assert values(filled, "fork", "last", "--at", "s1") == ["s1"]
    assert values(filled, "undo", "1115-2044", "--step", "") == ["s0", "s1", "s2"]
    assert "2. Write report.py" in asked(filled, "zsh", "skip", "last", "s1").splitlines()


def test_models_phases_options_and_places(filled: Surefoot) -> None:
    models = values(filled, "run", "-m", "")
    assert models[0] == "local"
    assert {"openai/gpt-5.4", "anthropic/claude-sonnet-5-5", "ollama/"} <= set(models)
    assert len(models) == len(set(models))
    assert values(filled, "fork", "last", "--phase", "pl") == ["planning"]
    assert values(filled, "run", "--until-phase", "ex") == ["execution"]
    assert values(filled, "rep") == ["report", "replay"]
    assert "--proofs" in values(filled, "show", "--p")
    assert asked(filled, "bash", "run", "-C", "sr").splitlines() == ["dir,sr"]
    assert asked(filled, "bash", "edit", "--file", "st").splitlines() == ["file,st"]
    assert "exit-codes" in values(filled, "help", "e")


def test_nothing_that_is_wrong_is_said(surefoot: Surefoot) -> None:
    assert values(surefoot, "show", "") == []
    assert values(surefoot, "retry", "nope", "") == []
    assert not surefoot.state.exists()
    surefoot.state.mkdir(parents=True)
    surefoot.journal_file.write_text("not a journal " * 100)
    assert values(surefoot, "show", "") == []
    assert values(surefoot, "retry", "last", "") == []
    assert "local" in values(surefoot, "run", "-m", "l")
    assert values(surefoot, "list", "--database", "x", "") == []
    config = surefoot.home / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[storage\n")
    assert values(surefoot, "show", "") == []


def test_the_real_bash_completes(filled: Surefoot) -> None:
    """The function that the script defines is called as bash calls it when a key is pressed."""
    bash = shutil.which("bash")
    assert bash, "bash is part of every system that this runs on"
    words = """
        eval "$(surefoot completion bash)"
        ask() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _surefoot_completion surefoot
            echo "${COMPREPLY[*]}"
        }
        complete -p surefoot
        ask surefoot show ""
        ask surefoot retry 1115-2044 s
        ask surefoot fork last --phase e
        ask surefoot und
    """
    env = {**filled.variables(), "PATH": f"{PROGRAM.parent}:{filled.variables()['PATH']}"}
    done = subprocess.run(
        [bash, "--norc", "-c", words], capture_output=True, text=True, env=env, cwd=filled.workspace, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _surefoot_completion surefoot",
        "1116-0900 1115-2044 last",
        "s0 s1 s2",
        "execution",
        "undo",
    ]
    assert not (filled.workspace / "owned").exists()


def find_shell(name: str) -> str:
    """`make test` installs it where it may."""
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def install(surefoot: Surefoot, shell: str, place: str) -> dict[str, str]:
    """Put the script where it says that it belongs. Returns the environment for the shell."""
    file = surefoot.home / place
    file.parent.mkdir(parents=True)
    printed = surefoot("completion", shell).out
    assert f"> ~/{place}\n" in printed
    file.write_text(printed)
    return {"TERM": "xterm", **surefoot.variables(), "PATH": f"{PROGRAM.parent}:{surefoot.variables()['PATH']}"}


def test_the_real_fish_completes(filled: Surefoot) -> None:
    fish = find_shell("fish")
    env = install(filled, "fish", ".config/fish/completions/surefoot.fish")
    for line, words in (
        ("surefoot show ", ["1116-0900", "1115-2044", "last"]),
        ("surefoot retry 1115-2044 s", ["s0", "s1", "s2"]),
        ("surefoot fork last --phase e", ["execution"]),
        ("surefoot und", ["undo"]),
    ):
        command = [fish, "--command", f"complete --do-complete {shlex.quote(line)}"]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=filled.workspace, check=True)
        assert done.stderr == ""
        rows = [row.split("\t") for row in done.stdout.splitlines()]
        assert [row[0] for row in rows] == words, line
        if line == "surefoot show ":
            assert rows[1][1] == "verified: add a --json flag please"
    assert not (filled.workspace / "owned").exists()


def test_the_real_zsh_completes(filled: Surefoot) -> None:
    """Zsh completes only where keys are pressed."""
    zsh = find_shell("zsh")
    env = install(filled, "zsh", ".zfunc/_surefoot")
    (filled.home / ".zshrc").write_text(
        "PS1='ready> '; fpath=(~/.zfunc $fpath); autoload -Uz compinit; compinit -u -D\n"
    )
    terminal = OnTerminal([zsh, "-d", "-i"], env, filled.workspace, forked=False)
    terminal.wait_for("ready> ")
    seen = len(terminal.output)

    def press(keys: str, *expected: str) -> None:
        """Press keys, and wait for texts in this order."""
        nonlocal seen
        terminal.type(keys)
        for text in expected:
            terminal.wait_for_matching(partial(has, text))
            seen = terminal.output.index(text, seen) + len(text)

    def has(text: str, output: str) -> bool:
        return text in output[seen:]

    def write(line: str) -> None:
        press(line, line)

    tab, listing, clear, at_start = "\t", "\x04", "\x15", "\x01"
    write("surefoot show 111")
    press(listing, "1116-0900  -- verified: evil", "1115-2044  -- verified: add a --json flag")
    terminal.type(clear)
    write("surefoot retry 1115-2044 s")
    press(listing, "s0  -- 1. Read", "s1  -- 2. Write", "s2  -- 3. Run")
    terminal.type(clear)
    for begun, whole in (("surefoot show 1115", "surefoot show 1115-2044"), ("surefoot und", "surefoot undo")):
        write(begun)
        press(tab, whole.removeprefix(begun))
        # The line is printed instead of carried out.
        press(f"{at_start}print -r -- \r", f"{whole}\r\n", "ready> ")
    terminal.type("exit\r")
    terminal.end()
    assert not (filled.workspace / "owned").exists()


def test_the_scripts_say_how_to_install_them(surefoot: Surefoot) -> None:
    for shell in ("bash", "zsh", "fish"):
        printed = surefoot("completion", shell).out
        assert f"surefoot completion {shell}" in printed
        assert f"_SUREFOOT_COMPLETE={shell}_complete" in printed
    assert surefoot("completion", "zsh").out.startswith("#compdef surefoot\n")
    assert surefoot("completion", "tcsh").code == 2
    assert not any(surefoot.home.iterdir()), "nothing is installed"


def test_completing_imports_neither_pydantic_nor_the_engine(filled: Surefoot) -> None:
    """A shell waits for the answer. A time limit would depend on the machine."""
    code = (
        "import sys; sys.argv = ['surefoot']\n"
        "from surefoot.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as result:\n    assert result.code == 0\n"
        "print(sorted({'rich.console', 'pydantic', 'asyncio', 'surefoot.journal.events'} & set(sys.modules)))"
    )
    asking = {"_SUREFOOT_COMPLETE": "bash_complete", "COMP_WORDS": "surefoot retry last s1", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=filled.workspace,
        env=filled.variables(**asking),
    )
    assert done.stdout.splitlines() == ["plain,s1", "[]"]
