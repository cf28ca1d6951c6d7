"""Commands run for real: their results, their limits, and that nothing of them is left, however nasty they are."""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes import KINDS, sandbox_of
from surefoot.errors import ToolError
from surefoot.workspace import process
from surefoot.workspace.bounded import BoundedOutput
from surefoot.workspace.process import Limits, ProcessResult, command_env, run_process, shell_argv
from surefoot.workspace.sandbox import Sandbox
from tricks import processes_like

EVERY_KIND = ("none", *KINDS)
_unique = itertools.count(10_000_000 + os.getpid() * 100)


@pytest.fixture(params=EVERY_KIND)
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox | None:
    return None if request.param == "none" else sandbox_of(request.param, tmp_path)


@pytest.fixture
def marked() -> Iterator[str]:
    """A sleep of a length that nobody else uses, by which a command's processes are found."""
    seconds = str(next(_unique))
    yield seconds
    for pid in survivors(seconds):
        os.kill(pid, signal.SIGKILL)


def survivors(seconds: str) -> list[int]:
    return processes_like(f"\0{seconds}\0".encode())


async def shell(
    command: str,
    folder: Path,
    sandbox: Sandbox | None = None,
    *,
    limits: Limits | None = None,
    stdin: bytes | None = None,
) -> ProcessResult:
    limits = limits or Limits()
    return await run_process(
        shell_argv(command), cwd=folder, env=command_env(), sandbox=sandbox, limits=limits, stdin=stdin
    )


async def until_there(seconds: str) -> None:
    while not survivors(seconds):  # noqa: ASYNC110 - other processes set no events here
        await asyncio.sleep(0.02)


# --- results --------------------------------------------------------------------------------------------------


async def test_what_came_of_a_command(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("echo one; echo two >&2; pwd; exit 3", tmp_path, sandbox)
    assert result.output == f"one\ntwo\n{tmp_path}\n"
    assert (result.exit_code, result.signal, result.timed_out, result.ok) == (3, None, False, False)
    assert (result.output_bytes, result.truncated, result.notes) == (len(result.output), False, ())
    assert (await shell("true", tmp_path, sandbox)).ok


async def test_a_signal_is_told_from_an_exit_code(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("kill -SEGV $$", tmp_path, sandbox)
    assert (result.exit_code, result.signal) == (128 + signal.SIGSEGV, signal.SIGSEGV)


async def test_any_bytes_pass(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("cat; head -c1 >/dev/null", tmp_path, sandbox, stdin=b"zero \0 bad \xff\xfe \xe4\xbd\xa0\n")
    assert result.output == "zero \0 bad \ufffd\ufffd 你\n"


async def test_there_is_no_input_and_no_terminal(tmp_path: Path, sandbox: Sandbox | None) -> None:
    result = await shell("read line || echo none; (: < /dev/tty) 2>/dev/null || echo no terminal", tmp_path, sandbox)
    assert result.output == "none\nno terminal\n"


async def test_a_pipe_that_breaks_ends_its_writer(tmp_path: Path, sandbox: Sandbox | None) -> None:
    """Python ignores SIGPIPE; a command must not inherit that."""
    result = await shell("yes | head -n1; echo ${PIPESTATUS[0]}", tmp_path, sandbox)
    assert result.output == f"y\n{128 + signal.SIGPIPE}\n"


async def test_a_missing_program_is_named(tmp_path: Path, sandbox: Sandbox | None) -> None:
    with pytest.raises(ToolError, match="no-such-program") as caught:
        await run_process(["no-such-program"], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert "no-such-program" in caught.value.remedy


async def test_a_file_that_is_no_program(tmp_path: Path, sandbox: Sandbox | None) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ToolError, match="permission denied") as caught:
        await run_process([str(tmp_path / "text")], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert "chmod" in caught.value.remedy


@pytest.mark.parametrize(
    ("argv", "folder", "words"),
    [
        ([], ".", "no command"),
        (["true"], "missing", "missing"),
        (["echo", "x" * 3_000_000], ".", "too long"),
    ],
    ids=["nothing", "no folder", "too long"],
)
async def test_what_cannot_be_run(argv: list[str], folder: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        await run_process(argv, cwd=tmp_path / folder, env=command_env())
    assert caught.value.remedy


async def test_no_file_is_left_open(tmp_path: Path, sandbox: Sandbox | None) -> None:
    await shell("true", tmp_path, sandbox)
    before = os.listdir("/proc/self/fd")  # noqa: PTH208
    for command in ("true", "exit 1", "sleep 60"):
        await shell(command, tmp_path, sandbox, limits=Limits(timeout=0.5))
    with pytest.raises(ToolError):
        await run_process(["no-such-program"], cwd=tmp_path, env=command_env(), sandbox=sandbox)
    assert os.listdir("/proc/self/fd") == before  # noqa: PTH208


# --- nothing is left ------------------------------------------------------------------------------------------

NASTY = {
    "plain": "sleep {n}",
    "child in the background": "sleep {n} & wait",
    "own session": "setsid sleep {n} & sleep {n}",
    "no hang-up": "nohup sleep {n} >/dev/null 2>&1 & sleep {n}",
    "forked twice": "( ( setsid sleep {n} & ) & ) ; sleep {n}",
    "deaf to polite signals": "trap '' TERM INT HUP; (trap '' TERM; setsid sleep {n}) & while :; do sleep {n}; done",
    "stopped": "sleep {n} & kill -STOP $!; kill -STOP $$",
    "nothing in common": "env -i setsid sleep {n} </dev/null >/dev/null 2>&1 & env -i sleep {n}",
    "many": "for i in $(seq 30); do setsid sleep {n} & done; wait",
}


@pytest.mark.req("D4")
@pytest.mark.parametrize("nasty", NASTY)
async def test_a_timeout_ends_every_process(nasty: str, tmp_path: Path, sandbox: Sandbox | None, marked: str) -> None:
    for seconds in (0.5, 2, 8, 32):  # on a busy machine it takes its time to begin
        result = await shell(
            "echo begun; " + NASTY[nasty].format(n=marked), tmp_path, sandbox, limits=Limits(timeout=seconds)
        )
        if result.output:
            break
    assert survivors(marked) == []
    assert result.timed_out
    assert (result.exit_code, result.ok, result.output) == (None, False, "begun\n")


@pytest.mark.parametrize("nasty", ["own session", "deaf to polite signals", "nothing in common"])
async def test_cancelling_ends_every_process(nasty: str, tmp_path: Path, sandbox: Sandbox | None, marked: str) -> None:
    task = asyncio.create_task(shell(NASTY[nasty].format(n=marked), tmp_path, sandbox))
    await until_there(marked)
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()  # impatience changes nothing
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(marked) == []


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_nothing_outlives_surefoot_itself(kind: str, tmp_path: Path, marked: str) -> None:
    program = f"""
        import asyncio
        from pathlib import Path
        from sandboxes import sandbox_of
        from surefoot.workspace.process import command_env, run_process, shell_argv
        folder = Path({str(tmp_path)!r})
        sandbox = None if {kind!r} == "none" else sandbox_of({kind!r}, folder)
        command = shell_argv({NASTY["deaf to polite signals"].format(n=marked)!r})
        asyncio.run(run_process(command, cwd=folder, env=command_env(), sandbox=sandbox))
    """
    paths = ":".join([str(Path(__file__).parents[1]), *sys.path])
    surefoot = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], env={**os.environ, "PYTHONPATH": paths}
    )
    while len(survivors(marked)) < 2:
        assert surefoot.poll() is None
        time.sleep(0.05)
    surefoot.kill()
    surefoot.wait()
    deadline = time.monotonic() + 60
    while survivors(marked) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert survivors(marked) == []


async def test_a_daemon_does_not_keep_the_command_from_ending(
    tmp_path: Path, sandbox: Sandbox | None, marked: str
) -> None:
    """It holds the output open; a reader that waited for its end would wait for ever."""
    result = await shell(f"setsid sleep {marked} & echo done", tmp_path, sandbox)
    assert survivors(marked) == []
    assert (result.exit_code, result.output) == (0, "done\n")
    assert any("left running in the background" in note for note in result.notes)


async def test_the_last_words_of_a_child_are_waited_for(
    tmp_path: Path, sandbox: Sandbox | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LINGER", 60)
    result = await shell("(sleep 0.1; echo late) & echo first", tmp_path, sandbox)
    assert (result.output, result.notes) == ("first\nlate\n", ())


@pytest.mark.parametrize("kind", ["none", "landlock"])
@pytest.mark.parametrize("blow", ["KILL", "STOP"])
async def test_also_when_the_command_strikes_its_supervisor(
    blow: str, kind: str, tmp_path: Path, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.5)
    sandbox = None if kind == "none" else sandbox_of(kind, tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path.parent))
    command = f"setsid sleep {marked} & kill -{blow} $PPID; sleep {marked}"
    result = await shell(command, tmp_path, sandbox, limits=Limits(timeout=1))
    assert survivors(marked) == []
    assert result.exit_code is None
    assert not list(tmp_path.parent.glob("surefoot-*")), "its temporary folder was left"


async def test_in_bubblewrap_the_supervisor_cannot_be_struck(tmp_path: Path) -> None:
    result = await shell("kill -KILL $PPID; kill -STOP $PPID; echo on", tmp_path, sandbox_of("bubblewrap", tmp_path))
    assert (result.exit_code, result.output) == (0, "on\n")


async def test_a_supervisor_stopped_from_outside_is_killed_with_all_below(
    tmp_path: Path, marked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.5)
    sandbox = sandbox_of("bubblewrap", tmp_path)
    task = asyncio.create_task(shell(f": {marked}; sleep {marked} & wait", tmp_path, sandbox))
    await until_there(marked)
    for pid in processes_like(f"; sleep {marked} ".encode()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(marked) == []


async def test_many_at_a_time(tmp_path: Path, sandbox: Sandbox | None) -> None:
    results = await asyncio.gather(*(shell(f"echo {i}; exit {i}", tmp_path, sandbox) for i in range(6)))
    assert [(r.exit_code, r.output) for r in results] == [(i, f"{i}\n") for i in range(6)]
    assert list(tmp_path.iterdir()) == []


# --- limits ---------------------------------------------------------------------------------------------------


async def test_memory_is_limited(tmp_path: Path, sandbox: Sandbox | None) -> None:
    hungry = [sys.executable, "-S", "-c", "b = bytearray(400_000_000); print(len(b))"]
    for limit, fed in ((200_000_000, False), (None, True)):
        result = await run_process(
            hungry, cwd=tmp_path, env=command_env(), sandbox=sandbox, limits=Limits(memory_bytes=limit)
        )
        assert result.ok is fed, result.output
    assert "400000000" in result.output


async def test_a_fork_bomb_within_limits(tmp_path: Path, sandbox: Sandbox | None, marked: str) -> None:
    bomb = f"for i in $(seq 60); do (setsid sleep {marked} &) ; done; sleep {marked}"
    result = await shell(bomb, tmp_path, sandbox, limits=Limits(timeout=60, processes=25))
    assert survivors(marked) == []
    assert not result.ok
    refused_by_kernel = "Resource temporarily unavailable" in result.output
    assert refused_by_kernel or any("more than it may" in note for note in result.notes)


@pytest.mark.parametrize("size", [300_000_000, pytest.param(10_000_000_000, marks=pytest.mark.nightly)])
async def test_a_long_output_costs_little_memory(tmp_path: Path, sandbox: Sandbox | None, size: int) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = peak_memory()
    result = await shell(f"echo first; yes | head -c {size}; echo last", tmp_path, sandbox, limits=Limits(timeout=3600))
    assert peak_memory() - before < 64_000_000
    assert result.output_bytes == size + len("first\nlast\n")
    assert result.truncated
    assert len(result.output) < 1_001_000
    assert result.output.startswith("first\ny\n")
    assert result.output.endswith("\nlast\n")
    assert "bytes of output left out" in result.output


def peak_memory() -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode), st.integers(0, 60), st.integers(1, 50))
def test_bounded_output_keeps_both_ends(content: bytes, limit: int, step: int) -> None:
    output = BoundedOutput(limit)
    for start in range(0, len(content), step):
        output.feed(content[start : start + step])
    text = output.text()
    assert output.total == len(content)
    if len(content) <= limit:
        assert text == content.decode("utf-8", "replace")
        assert not output.truncated
        return
    assert output.truncated
    head, marker, tail = text.partition("\n[... ")
    assert marker
    tail = tail.partition(" ...]\n")[2]
    whole = content.decode("utf-8", "replace")
    if "\ufffd" not in whole:
        assert "\ufffd" not in text, "a character was cut in two"
        assert whole.startswith(head)
        assert whole.endswith(tail)
        left_out = int(text[len(head) + 6 :].split()[0].replace(",", ""))
        assert len(head.encode()) + left_out + len(tail.encode()) == len(content)


async def test_output_is_seen_as_it_comes(tmp_path: Path, sandbox: Sandbox | None) -> None:
    pieces: list[str] = []

    def show(text: str) -> None:
        pieces.append(text)
        (tmp_path / "seen").touch()

    command = r"printf 'a\xe4\xbd'; until [ -e seen ]; do sleep 0.01; done; printf '\xa0b\xff'"
    result = await run_process(shell_argv(command), cwd=tmp_path, env=command_env(), sandbox=sandbox, on_output=show)
    assert pieces[0] == "a"
    assert "".join(pieces) == result.output == "a你b\ufffd"


async def test_a_viewer_that_breaks_is_told_when_the_command_is_over(tmp_path: Path, marked: str) -> None:
    def broken(text: str) -> None:
        raise ValueError("no screen")

    with pytest.raises(ValueError, match="no screen"):
        await run_process(
            shell_argv(f"echo x; setsid sleep {marked} &"), cwd=tmp_path, env=command_env(), on_output=broken
        )
    assert survivors(marked) == []


# --- the environment ------------------------------------------------------------------------------------------


def test_the_environment_is_a_short_list() -> None:
    given_env = {
        "PATH": "/usr/bin::.:bin:/bin",
        "HOME": "/home/u",
        "LC_TIME": "de_DE.UTF-8",
        "OPENAI_API_KEY": "sk-aaaaaaaaaaaaaaaa",
        "GITHUB_TOKEN": "ghp_whatever",
        "BASH_ENV": "/tmp/evil",
        "LD_PRELOAD": "/tmp/evil.so",
        "SSH_AUTH_SOCK": "/run/agent",
        "MY_SETTING": "1",
        "MY_TOKEN": "chosen-by-the-user",
        "NODE_PATH": "sk-aaaaaaaaaaaaaaaa",
    }
    env = command_env(["MY_SETTING", "MY_TOKEN", "OPENAI_API_KEY"], given_env)
    assert env["PATH"].split(":")[:2] == ["/usr/bin", "/bin"]
    assert all(place.startswith("/") for place in env["PATH"].split(":"))
    assert (env["HOME"], env["LC_TIME"], env["LANG"]) == ("/home/u", "de_DE.UTF-8", "C.UTF-8")
    assert (env["MY_SETTING"], env["MY_TOKEN"]) == ("1", "chosen-by-the-user")
    assert not {"OPENAI_API_KEY", "GITHUB_TOKEN", "BASH_ENV", "LD_PRELOAD", "SSH_AUTH_SOCK", "NODE_PATH"} & env.keys()
    assert (env["NO_COLOR"], env["GIT_TERMINAL_PROMPT"]) == ("1", "0")


async def test_no_start_up_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", "env"):
        (tmp_path / name).write_text("echo read\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "env"))
    assert (await shell("echo only", tmp_path)).output == "only\n"
