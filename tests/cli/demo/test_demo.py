"""`surefoot demo`: a run with recorded answers, its page, and nothing left of it."""

import asyncio
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.conftest import TIMEOUT, Surefoot
from support.pages import snippets
from support.reader import Reader
from support.stories import good_script
from surefoot.cli.demo import playing
from surefoot.config.extras import install_command

pytestmark = pytest.mark.slow


async def test_the_demo_shows_a_check_that_heals_and_a_verified_result_on_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(playing, "no_page", str)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "own"))
    playing_it = asyncio.create_task(playing.play(1000, open_page=False, exit_after=True))
    link = ""
    while "/#t=" not in link:
        assert not playing_it.done(), playing_it
        await asyncio.sleep(0.05)
        link += capsys.readouterr().out
    base, _, rest = link.strip().partition("/#t=")
    token, _, run_id = rest.partition("&run=")
    seen: list[Any] = []
    async with httpx2.AsyncClient(timeout=30, headers={"Authorization": f"Bearer {token}"}) as client:
        assert (await client.get(f"{base}/")).status_code == 200
        while not playing_it.done():
            try:
                seen = (await client.get(f"{base}/api/runs/{run_id}")).json()["rows"]
            except httpx2.TransportError:
                break
            if seen[0]["verdict"] is not None:
                break
            await asyncio.sleep(0.1)
    assert await playing_it == 0
    rows = {row["key"]: row for row in seen}
    assert {row["id"]: row["status"] for row in seen if row["kind"] == "step"} == dict.fromkeys(
        ("s1", "s2", "s3", "s4"), "succeeded"
    )
    for step in ("s1", "s2", "s3", "s4"):
        assert ("red", "green") in [(check["before"], check["now"]) for check in rows[f"step:{step}"]["checks"]]
    # The first check of the first step fails, and the model looks at the data before it writes again.
    assert [rows[f"action:s1.a{number}"]["tool"] for number in (1, 2, 3)] == ["write_file", "run_command", "edit_file"]
    red = rows["try:s1:1"]["red_looks"]
    assert [look["checks"] for look in red] == [["python3 -m unittest -q test_report.LoadTest"]]
    assert "ValueError" in red[0]["detail"]
    assert rows["run"]["proof"] == "A"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_demo_that_is_ended_leaves_nothing_behind(surefoot: Surefoot, number: signal.Signals) -> None:
    scratch = surefoot.home / "tmp"
    scratch.mkdir()
    surefoot.environ["TMPDIR"] = str(scratch)
    process = surefoot.start("demo")
    assert process.stderr is not None
    lines = [""]
    while "execution" not in lines[-1] and "understanding" not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], "the demo has ended"
    assert any("at 3 times the speed at which they were recorded" in line for line in lines)
    assert [path.name.startswith("surefoot-demo-") for path in scratch.iterdir()] == [True]
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    for hint in ("surefoot resume", "surefoot show", "surefoot watch"):
        assert hint not in out + err, "the run is gone"
    assert err.endswith(f"{playing.NEXT}\n")
    assert process.returncode in (0, 130)
    assert list(scratch.iterdir()) == []
    assert not surefoot.state.exists()


WITHOUT_PAGE = """
import pathlib, sys
import surefoot.server.page as page
page.FOLDER = pathlib.Path("/nonexistent")
from surefoot.cli.main import main
sys.exit(main())
"""
"""A program that is `surefoot` of an installation without the page. The demo then shows its run in the terminal."""


def test_the_readme_shows_what_the_demo_prints(surefoot: Surefoot) -> None:
    command = [sys.executable, "-c", WITHOUT_PAGE, "demo", "--speed", "1000"]
    done = subprocess.run(
        command, env=surefoot.variables(), capture_output=True, text=True, timeout=TIMEOUT, check=True
    )
    (shown,) = snippets("README.md", "text")
    reader = Reader(surefoot)
    reader.output = done.stderr + done.stdout
    reader.saw(shown)


def test_a_run_of_a_demo_names_no_commands_for_itself(surefoot: Surefoot) -> None:
    with_hints, without = surefoot(*good_script(surefoot)), surefoot(*good_script(surefoot), "--no-hints")
    assert "surefoot show" in with_hints.out
    assert (without.code, "surefoot show" in without.out) == (3, False)
    assert "--no-hints" in playing.DemoFolder(surefoot.home, "", "").words()


@pytest.mark.slow
def test_on_a_terminal_serve_says_what_the_link_is_for(surefoot: Surefoot) -> None:
    serving = surefoot.on_terminal("serve", "--no-open", "--port", "0")
    serving.wait_for("Ctrl-C ends the server")
    serving.signal(signal.SIGINT)
    serving.end()
    first, second, *_ = serving.output.splitlines()
    assert (first, "/#t=" in second) == ("Open this in a browser:", True)


def test_without_the_page_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("surefoot.server.page.FOLDER", tmp_path)
    assert "make web" in playing.no_page()
    (tmp_path / "index.html").touch()
    assert playing.no_page() == ""
    monkeypatch.setitem(sys.modules, "socketio", None)
    assert install_command("server") in playing.no_page()
