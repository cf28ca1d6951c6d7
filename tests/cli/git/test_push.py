"""`surefoot push`: a branch in the repository that a run was cloned from, after a yes, once, and never by force."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from cli.conftest import Result, Surefoot
from cli.git.stories import CHECK, COMMAND, git, make_repository, message, run
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.report.html import noscript
from surefoot.workspace.git.remote import without_login

pytestmark = pytest.mark.slow

RUN = "9999-000000-abcd"


@dataclass
class Upstream:
    """A bare repository, and a run that began with a clone of it."""

    surefoot: Surefoot
    folder: Path
    base: str

    @property
    def address(self) -> str:
        return f"file://{self.folder}"

    def branches(self) -> dict[str, str]:
        lines = git(self.folder, "for-each-ref", "--format=%(refname:short) %(objectname)").splitlines()
        return {line.split()[0]: line.split()[1] for line in lines}

    def push(self, *options: str) -> Result:
        return self.surefoot("push", RUN, *options)

    def events(self) -> list[e.Pushed]:
        journal = SqliteJournal(self.surefoot.journal_file)
        found = [record.event for record in journal.read(RUN) if isinstance(record.event, e.Pushed)]
        journal.close()
        return found

    def move(self) -> str:
        """Somebody else commits to main. Returns that commit."""
        other = self.folder.parent / "other"
        git(self.folder.parent, "clone", "--quiet", str(self.folder), str(other))
        (other / "notes.txt").write_text("something else\n")
        who = ("-c", "user.name=Bob", "-c", "user.email=bob@example.com")
        git(other, *who, "commit", "--quiet", "-am", "Something else")
        git(other, "push", "--quiet", "origin", "main")
        return self.branches()["main"]

    def as_cloned(self) -> None:
        """The newest run once more, as if it had begun with a clone."""
        journal = SqliteJournal(self.surefoot.journal_file)
        (summary,) = journal.summaries()
        first, *others = (record.event for record in journal.read(summary.run_id))
        assert isinstance(first, e.RunCreated)
        cloned = e.Cloned(address=self.address, commit=self.base, ref="main")
        asyncio.run(journal.append(RUN, [first.with_(run_id=RUN, cloned=cloned), *others]))
        journal.close()


@pytest.fixture
def upstream(surefoot: Surefoot) -> Upstream:
    return made(surefoot)


def made(surefoot: Surefoot, command: str = COMMAND, check: str = CHECK) -> Upstream:
    work = surefoot.workspace
    make_repository(work, Makefile="all:\n")
    bare = work.parent / "upstream.git"
    git(work.parent, "clone", "--quiet", "--bare", str(work), str(bare))
    (surefoot.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    found = Upstream(surefoot, bare, git(work, "rev-parse", "HEAD").strip())
    run(surefoot, command=command, check=check)
    found.as_cloned()
    return found


def test_nothing_is_pushed_without_a_yes_and_once_with_it(upstream: Upstream) -> None:
    before = upstream.branches()
    refused = upstream.push()
    assert refused.code == 2
    assert "no terminal to ask for confirmation" in refused.err
    terminal = upstream.surefoot.on_terminal("push", RUN)
    terminal.wait_for("Push it?")
    assert upstream.branches() == before == {"main": upstream.base}
    terminal.type("n\n")
    assert terminal.end() == 1
    assert "nothing was pushed" in terminal.output
    assert (upstream.branches(), upstream.events()) == (before, [])

    terminal = upstream.surefoot.on_terminal("push", RUN)
    terminal.wait_for("Push it?")
    assert "to the new branch surefoot/make-the-notes-ready-abcd" in " ".join(terminal.screen)
    terminal.type("y\n")
    assert terminal.end() == 0
    (event,) = upstream.events()
    assert upstream.branches() == {**before, event.branch: event.commit}
    assert (event.branch, event.parent) == ("surefoot/make-the-notes-ready-abcd", upstream.base)
    assert git(upstream.folder, "rev-parse", f"{event.commit}^").strip() == upstream.base
    assert git(upstream.folder, "show", "--name-status", "--format=", event.commit).split() == ["M", "notes.txt"]
    text = message(upstream.folder, event.commit)
    assert text.startswith("Make the notes ready\n")
    assert f"Surefoot-Run: {RUN}\nSurefoot-Proof: A" in text
    assert event.by.endswith(f"(surefoot push {RUN})")

    again = upstream.push("--yes", "--branch", "another")
    assert again.code == 2
    assert f"was pushed already, as {event.commit[:10]}" in again.err
    assert upstream.branches() == {**before, event.branch: event.commit}
    shown = upstream.surefoot("show", RUN).out.split()
    assert shown[shown.index("pushed") + 1] == event.commit[:10]
    at = shown.index("cloned") + 1
    assert shown[at : at + 4] == [f"{upstream.address},", "main", "at", upstream.base[:10]]


def test_json_and_the_reports_say_what_was_pushed_and_where(upstream: Upstream) -> None:
    done = upstream.push("--json", "--yes")
    assert done.code == 0, done.err
    (event,) = upstream.events()
    found = json.loads(done.out)
    assert found == {"run": RUN, **event.model_dump(mode="json")}
    jsonschema.validate(
        {**{key: found[key] for key in found if key != "run"}, "seq": 1, "at": 0.0},
        json.loads(upstream.surefoot("schema", "events").out),
    )
    report = json.loads(upstream.surefoot("report", RUN, "--format", "json", "-o", "-").out)
    assert report["pushes"] == [{"commit": event.commit, "branch": event.branch, "address": upstream.address}]
    line = f"{event.commit[:10]} to {event.branch} of {upstream.address}"
    assert f"- Pushed: `{line}`" in upstream.surefoot("report", RUN, "--format", "md", "-o", "-").out
    assert f"<td>Pushed</td><td>{line}</td>" in "".join(noscript(report))
    again = upstream.push("--json", "--yes")
    assert (again.code, json.loads(again.out)["error"]["kind"]) == (2, "usage_error")


def test_a_branch_that_has_moved_is_not_overwritten(upstream: Upstream) -> None:
    moved = upstream.move()
    refused = upstream.push("--yes", "--branch", "main")
    assert refused.code == 1
    assert "did not push to main" in refused.err
    assert (upstream.branches(), upstream.events()) == ({"main": moved}, [])
    # A new branch begins at the commit of the run, so there is no conflict.
    assert upstream.push("--yes").code == 0
    (event,) = upstream.events()
    assert upstream.branches() == {"main": moved, event.branch: event.commit}
    assert git(upstream.folder, "merge-base", "main", event.branch).strip() == upstream.base


def test_a_branch_that_was_rewritten_still_gives_the_commit_of_the_run(upstream: Upstream) -> None:
    tree = git(upstream.folder, "rev-parse", f"{upstream.base}^{{tree}}").strip()
    who = ("-c", "user.name=Bob", "-c", "user.email=bob@example.com")
    other = git(upstream.folder, *who, "commit-tree", tree, "-m", "Another history").strip()
    git(upstream.folder, "update-ref", "refs/heads/main", other)
    assert upstream.push("--yes").code == 0
    (event,) = upstream.events()
    assert event.parent == upstream.base
    git(upstream.folder, "update-ref", "-d", f"refs/heads/{event.branch}")


def test_a_named_branch_that_has_not_moved_goes_forward_and_no_other(upstream: Upstream) -> None:
    taken = "surefoot/make-the-notes-ready-abcd"
    git(upstream.folder, "branch", taken, "main")
    refused = upstream.push("--yes")
    assert refused.code == 2
    assert f"the branch {taken} exists already" in refused.err
    assert upstream.branches() == {"main": upstream.base, taken: upstream.base}
    for name in ("--force", "a..b"):
        assert upstream.push("--yes", f"--branch={name}").code == 2
    done = upstream.push("--yes", "--branch", "main")
    assert done.code == 0, done.err
    assert f"to the branch main, which ends with {upstream.base[:10]} now" in done.err
    (event,) = upstream.events()
    assert upstream.branches() == {"main": event.commit, taken: upstream.base}


def test_only_a_verified_run_of_a_clone_is_pushed(surefoot: Surefoot) -> None:
    upstream = made(surefoot, command="printf 'nearly\\n' > notes.txt", check="true")
    (local,) = [row["run_id"] for row in surefoot("list", "--json").objects if row["run_id"] != RUN]
    for run_id, why in ((RUN, "is not verified"), (local, "did not begin with a clone")):
        refused = surefoot("push", run_id, "--yes")
        assert refused.code == 2
        assert why in refused.err
    assert upstream.branches() == {"main": upstream.base}


def test_nothing_is_pushed_if_the_run_changed_what_hooks_of_the_user_run(surefoot: Surefoot, tmp_path: Path) -> None:
    upstream = made(surefoot, command=f"{COMMAND}; printf 'all:\\n\\ttouch x\\n' > Makefile")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nmake\n")
    (hooks / "pre-push").chmod(0o755)
    with (surefoot.home / ".gitconfig").open("a") as config:
        config.write(f"[core]\n\thooksPath = {hooks}\n")
    refused = upstream.push("--yes")
    assert refused.code == 1
    assert "Makefile" in refused.err
    assert upstream.branches() == {"main": upstream.base}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("address", "stored"),
    [
        ("https://ghp_secret@example.com/a.git", "https://example.com/a.git"),
        ("https://ada:secret@example.com:8443/a.git", "https://example.com:8443/a.git"),
        ("ssh://git:secret@example.com/a.git", "ssh://git@example.com/a.git"),
        ("git@example.com:a/b.git", "git@example.com:a/b.git"),
        ("file:///srv/a.git", "file:///srv/a.git"),
    ],
)
def test_tokens_in_addresses_are_not_stored(address: str, stored: str) -> None:
    assert without_login(address) == stored
