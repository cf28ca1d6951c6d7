"""What the routes of the server give and do, asked by somebody hostile with a valid token."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import click
import pytest

from server.conftest import Site
from support.recorded import RUN_ID, answered, asking, first_step, phases, records, whole_run
from surefoot.cli.commands.run import run
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.server import launch, page

PASSWORD = "correct-horse-battery-9Xq"
OTHER_ID = "20261115-2045-calm-heron"


@pytest.fixture
async def secret_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    """A server that knows a secret, with a run whose every free text and content has it, as by an older version."""
    monkeypatch.setenv("SERVICE_PASSWORD", PASSWORD)
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    site = Site(home, work)
    await site.start()
    journal = SqliteJournal(home / "journal.sqlite")
    blob = journal.put_blob(f"a {PASSWORD} b".encode())
    events: list[e.Event] = []
    for event in [*phases(), *first_step(), answered("act", "s0")]:
        match event:
            case e.ActionStarted():
                event = event.with_(arguments={"command": f"login {PASSWORD}"}, body=blob)
            case e.ActionFinished():
                event = event.with_(summary=f"it printed {PASSWORD}", output=blob)
            case e.Decided():
                event = event.with_(thought=f"use {PASSWORD}")
            case e.ModelAnswered():
                event = event.with_(prompt=blob, answer=blob)
        events.append(event)
    await journal.append(RUN_ID, [*events, e.Warned(message=f"beware of {PASSWORD}")])
    journal.close()
    yield site
    await site.stop()


@pytest.mark.attack("the server's door")
async def test_no_route_gives_a_known_secret(secret_site: Site) -> None:
    journal = SqliteJournal(secret_site.home / "journal.sqlite")
    blob = journal.put_blob(f"a {PASSWORD} b".encode())
    journal.close()
    paths = ["", "/events", "/steps/s0", "/conversation", "/plan", "/diff", f"/blobs/{blob}"]
    for path in paths:
        answer = await secret_site.http("GET", f"/api/runs/{RUN_ID}{path}", "view")
        assert PASSWORD not in answer.text, path
        if path not in ("/diff", "/plan"):
            assert answer.status_code == 200, path
            assert "[redacted]" in answer.text, path
    assert PASSWORD not in (await secret_site.http("GET", "/api/runs", "view")).text


@pytest.mark.attack("the server's door")
async def test_contents_of_other_runs_are_not_given(site: Site) -> None:
    await site.store(whole_run())
    journal = SqliteJournal(site.home / "journal.sqlite")
    digest = journal.put_blob(b"of the other run")
    created, *rest = [record.event for record in whole_run()]
    assert isinstance(created, e.RunCreated)
    other = [e_.with_(output=digest) if isinstance(e_, e.ActionFinished) else e_ for e_ in rest]
    await journal.append(OTHER_ID, [created.with_(run_id=OTHER_ID), *other])
    journal.close()
    assert (await site.http("GET", f"/api/runs/{OTHER_ID}/blobs/{digest}")).content == b"of the other run"
    names = [digest, digest.upper(), f"{digest}/", f"../{digest}", "..%2fjournal.sqlite", "%00", digest[:16], "*"]
    for name in names:
        answer = await site.http("GET", f"/api/runs/{RUN_ID}/blobs/{name}")
        assert answer.status_code in (307, 400, 404), name
        assert b"of the other run" not in answer.content


async def test_a_page_of_the_list_skips_no_run(site: Site) -> None:
    """Also if somebody asks for pages of 0 runs."""
    await site.store(whole_run())
    answer = (await site.http("GET", "/api/runs?limit=0")).json()
    assert [row["id"] for row in answer["runs"]] == [RUN_ID]
    assert answer["next"] is None


@pytest.mark.attack("the server's door")
async def test_unknown_runs_leave_nothing_behind(site: Site) -> None:
    """Also a token that only looks can ask for any number of runs that do not exist."""
    from surefoot.errors import UnknownRun
    from surefoot.server.hub import Hub

    async with Hub(site.home) as hub:
        for number in range(20):
            with pytest.raises(UnknownRun):
                await hub.view(f"{number}/../../etc/passwd")
        assert not hub._loading
        assert not hub._views
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "*", "' OR 1=1 --"):
        assert (await site.http("GET", f"/api/runs/{name}", "view")).status_code == 404


@pytest.mark.attack("the server's door")
async def test_no_path_leads_out_of_the_page(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    for file in (folder / "assets" / "a.js", tmp_path / "secret.json", folder / "notes.txt"):
        file.write_text(f"content of {file.name}")
    (folder / "assets" / "link.json").symlink_to(tmp_path / "secret.json")
    monkeypatch.setattr(page, "FOLDER", folder)
    assert b"content of a.js" in await raw(site, "/assets/a.js")
    paths = [
        *("../../secret.json", "..%2f..%2fsecret.json", "%2e%2e/%2e%2e/secret.json", "....//....//secret.json"),
        *(f"/{tmp_path}/secret.json", f"%2f{str(tmp_path)[1:]}/secret.json", "..\\..\\secret.json", "link.json"),
        *("../notes.txt", "a.js/../../notes.txt", "a.js%00.json"),
    ]
    for path in paths:
        assert b"content of" not in await raw(site, f"/assets/{path}"), path


async def raw(site: Site, path: str) -> bytes:
    """The answer to a request whose path no client has tidied."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("task", ["--sandbox=off", "-y", "--approve=auto --yes", "-- --yes", "--help"])
def test_words_from_the_page_are_no_options(task: str) -> None:
    words = launch.run_arguments(task, [task], task, {"approve": task}, plan_only=False)
    plain = launch.run_arguments("x", ["x"], "x", {"approve": "x"}, plan_only=False)
    assert [word.partition("=")[0] for word in words[:-1]] == [word.partition("=")[0] for word in plain[:-1]]
    words = [*(word for word in words[:-1] if not word.startswith("--approve=")), words[-1]]
    context = click.Context(run, info_name="run", resilient_parsing=True)
    run.parse_args(context, words[1:])
    assert context.params["task"] == (task,)
    assert not context.params.get("yes")


@pytest.mark.attack("the server's door")
@pytest.mark.parametrize("name", ["yes", "C", "network", "writable", "record", "deny", "allow", "--yes", ""])
def test_only_offered_options_are_passed_on(name: str) -> None:
    with pytest.raises(UsageError, match="there is no option"):
        launch.run_arguments("x", [], "", {name: "1"}, plan_only=False)


@pytest.mark.attack("the server's door")
async def test_an_answer_to_another_question_is_refused(site: Site) -> None:
    await site.store(records([*phases(), *first_step(), *asking()]))
    commands = f"/api/runs/{RUN_ID}/commands"
    shown = {"command": "answer", "question": "q1", "answer": "yes", "expectHash": "0" * 32, "commandId": "c1"}
    answer = await site.http("POST", commands, json=shown)
    assert answer.status_code == 409
    assert "the question has changed since it was shown" in answer.json()["reason"]
    for wrong in ({"question": "q2"}, {"answer": "always run_command(*)", "expectHash": ""}):
        answer = await site.http("POST", commands, json={**shown, **wrong, "commandId": str(wrong)})
        assert answer.status_code == 409 or answer.json() == {}, answer.text
    journal = SqliteJournal(site.home / "journal.sqlite")
    sent = [item.body for item in journal.receive(RUN_ID)]
    journal.close()
    assert not [message for message in sent if getattr(message, "answer", "") == "yes"]


@pytest.mark.attack("escape")
def test_a_run_of_the_page_imports_nothing_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("json", "sitecustomize", "click", "surefoot", "asyncio"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([".", str(folder), os.environ.get("PYTHONPATH", "")]))
    driver = launch.start(tmp_path / "home", folder, ["--version"])
    assert driver.process.wait() == 0
    assert not (tmp_path / "ran").exists()
