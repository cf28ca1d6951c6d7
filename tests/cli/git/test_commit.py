"""`run --commit` and `surefoot commit`: what is committed, what is not, and that nothing of the user changes."""

import json
import os
from pathlib import Path

import pytest

from cli.conftest import Surefoot
from cli.git.stories import CHECK, COMMAND, git, make_repository, message, run, state_of_user, story

pytestmark = pytest.mark.slow

HOOK = "#!/bin/sh\n"


def hook(folder: Path, name: str, body: str) -> None:
    path = folder / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


def test_only_what_the_run_changed_is_committed_and_everything_of_the_user_stays(surefoot: Surefoot) -> None:
    """Staged, unstaged, both in one file, untracked, deleted, renamed, intent-to-add: all of it stays as it was."""
    work = surefoot.workspace
    make_repository(work, both="a\n", gone="g\n", moved="a long enough text to be a rename\n", unstaged="u\n")
    (work / "both").write_text("staged\n")
    git(work, "add", "both")
    (work / "both").write_text("staged and more\n")
    git(work, "rm", "--quiet", "--cached", "gone")
    git(work, "mv", "moved", "moved2")
    (work / "unstaged").write_text("not staged\n")
    (work / "kept.txt").unlink()
    (work / "new").write_text("untracked\n")
    (work / "soon").write_text("intended\n")
    git(work, "add", "--intent-to-add", "soon")
    before = state_of_user(work)
    files = {path.name: path.read_bytes() for path in work.iterdir() if path.is_file()}
    done = run(surefoot, "--commit")
    assert done.code == 0, done.err + done.out
    notice = next(line for line in done.lines if line.startswith("git: "))
    assert "3 staged" in notice, notice
    assert "untracked" in notice
    assert "your changes stay, and undo restores the state that has them" in notice
    assert "--commit commits only what the run changes" in notice
    assert git(work, "show", "--name-status", "--format=", "HEAD").split() == ["M", "notes.txt"]
    assert git(work, "show", "HEAD:notes.txt") == "ready\n"
    staged, entries = state_of_user(work)
    assert staged == before[0]
    others = [entry for entry in entries.split("\0") if not entry.endswith("notes.txt")]
    assert others == [entry for entry in before[1].split("\0") if not entry.endswith("notes.txt")]
    assert "notes.txt" not in git(work, "status", "--porcelain"), "the committed file shows no reverse change"
    now = {path.name: path.read_bytes() for path in work.iterdir() if path.is_file()}
    assert now == {**files, "notes.txt": b"ready\n"}
    (outcome,) = [json.loads(surefoot("show", "--json").out)]
    (commit,) = outcome["commits"]
    assert (commit["commit"], commit["branch"], commit["paths"]) == (head(work), "main", ["notes.txt"])
    assert f"commit  {head(work)[:10]} on main, 1 file" in done.out
    text = message(work)
    assert text.startswith("Make the notes ready\n\n"), text
    assert f"- {CHECK}: failed before, passes now" in text
    assert "uncommitted changes in both" in text
    trailers = git(work, "interpret-trailers", "--parse", stdin=text)
    assert trailers.splitlines() == [f"Surefoot-Run: {outcome['task_id']}", "Surefoot-Proof: A"]
    again = surefoot("commit")
    assert again.code == 2
    assert f"is committed already, as {head(work)[:10]}" in again.err


def test_a_run_without_proof_is_not_committed_and_json_says_so(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    begin = head(work)
    done = run(surefoot, "--commit", "--json", check="true")
    assert done.code == 3
    (warning,) = [item["message"] for item in done.objects if item["type"] == "warned" and "commit" in item["message"]]
    assert "is not verified (proof C), so it is not committed" in warning
    assert "git add" in warning
    assert (done.objects[-1]["type"], done.objects[-1]["exit_code"], done.objects[-1]["commits"]) == ("outcome", 3, [])
    assert head(work) == begin
    later = surefoot("commit")
    assert later.code == 2
    assert "not verified" in later.err


def test_a_run_that_stops_early_can_be_committed_when_it_has_ended(surefoot: Surefoot) -> None:
    make_repository(surefoot.workspace)
    arguments = story(surefoot)
    stopped = surefoot(*arguments, "--commit", "--until-phase", "planning")
    assert stopped.code == 3
    assert "git: nothing is committed yet; when it has ended: surefoot commit" in stopped.err
    assert "not committed" not in stopped.out
    ended = surefoot("resume", "-m", surefoot.script(*json.loads(Path(arguments[3][9:]).read_text())[1:]))
    assert ended.code == 0, ended.err
    (surefoot.workspace / "notes.txt").write_text("ready, and edited since\n")
    assert surefoot("commit").code == 0
    assert git(surefoot.workspace, "log", "-1", "--format=%s") == "Make the notes ready\n"
    assert git(surefoot.workspace, "show", "HEAD:notes.txt") == "ready\n", "what the checks have seen"
    assert git(surefoot.workspace, "status", "--porcelain") == " M notes.txt\n", "the later edit stays"


def test_a_commit_in_json_is_an_event_before_the_outcome(surefoot: Surefoot) -> None:
    make_repository(surefoot.workspace)
    done = run(surefoot, "--commit", "--branch=topic/notes", "--json")
    assert done.code == 0, done.err
    committed, outcome = done.objects[-2:]
    assert (committed["type"], committed["branch"]) == ("committed", "topic/notes")
    assert (outcome["type"], outcome["branch"], outcome["exit_code"]) == ("outcome", "topic/notes", 0)
    assert outcome["commits"][0]["commit"] == committed["commit"] == head(surefoot.workspace)
    report = json.loads(surefoot("report", "--format", "json", "-o", "-").out)
    assert (report["branch"], report["commits"]) == ("topic/notes", [committed["commit"]])


@pytest.mark.parametrize("how", ["modified", "staged", "untracked"])
def test_a_file_that_the_user_had_changed_too_is_not_committed(surefoot: Surefoot, how: str) -> None:
    work = surefoot.workspace
    make_repository(work)
    if how == "untracked":
        git(work, "rm", "--quiet", "--cached", "notes.txt")
        git(work, "commit", "--quiet", "-m", "Forget the notes")
    else:
        (work / "notes.txt").write_text("mine\n")
    if how == "staged":
        git(work, "add", "notes.txt")
        (work / "notes.txt").write_text("not yet\n")
    begin, before = head(work), state_of_user(work)
    done = run(surefoot, "--commit")
    assert done.code == 1, "the run is verified, but what was asked for was not done"
    assert "you had changed notes.txt before the run, and the run changed it too" in done.out
    assert "git add -p" in done.out
    assert (head(work), state_of_user(work)) == (begin, before)
    assert (work / "notes.txt").read_text() == "ready\n"


def test_all_kinds_of_paths_and_changes_are_committed(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    odd = os.fsdecode(b"caf\xe9 1\nline")
    make_repository(work, **{"tool.sh": "echo\n", "old name": "the same text in another place\n", "dead": "x\n"})
    (work / ".gitignore").write_text("*.log\n")
    git(work, "add", ".gitignore")
    git(work, "commit", "--quiet", "-m", "Ignore")
    script = surefoot.home / "change.py"
    script.write_text(
        "import os\n"
        "os.chmod('tool.sh', 0o755)\nos.makedirs('a b/c', exist_ok=True)\nos.rename('old name', 'a b/c/new name')\n"
        f"open(os.fsencode({os.fsencode(odd)!r}), 'w').write('odd')\nos.symlink('../kept.txt', 'a b/link')\n"
        "os.remove('dead')\nopen(':(glob)*', 'w').write('magic')\nopen('debug.log', 'w').write('ignored')\n"
        "os.makedirs('__pycache__', exist_ok=True)\nopen('__pycache__/x.pyc', 'w').write('cache')\n"
        "open('notes.txt', 'w').write('ready\\n')\n"
    )
    done = run(surefoot, "--commit", command=f"python3 - <<'END'\n{script.read_text()}END")
    assert done.code == 0, done.err + done.out
    shown = git(work, "show", "--no-renames", "--raw", "-z", "--format=", "HEAD").split("\0")
    modes = dict(zip(shown[1::2], (entry.split()[1] for entry in shown[::2] if entry), strict=True))
    assert modes == {
        ":(glob)*": "100644",
        "a b/c/new name": "100644",
        "a b/link": "120000",
        odd: "100644",
        "dead": "000000",
        "notes.txt": "100644",
        "old name": "000000",
        "tool.sh": "100755",
    }
    assert git(work, "cat-file", "-p", "HEAD:a b/link") == "../kept.txt"
    assert git(work, "status", "--porcelain", "-z") == "?? __pycache__/\0"
    undone = surefoot("undo", "last", "--yes")
    assert undone.code == 0, undone.err
    assert f"the commit stays: {head(work)[:10]}" in undone.out
    assert "git commit -a -m" in undone.out, "names with line breaks are not put on a command line"


def test_hooks_and_signing_of_the_user_apply(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    hook(work, "pre-commit", 'git diff --cached --name-only > "$(git rev-parse --git-dir)/seen"')
    hook(work, "commit-msg", 'echo "Reviewed-by: nobody" >> "$1"')
    program = surefoot.home / "sign"
    program.write_text(
        "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED D 1 2 00 1 0\\n' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nnone\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    program.chmod(0o755)
    git(work, "config", "commit.gpgsign", "true")
    git(work, "config", "gpg.program", str(program))
    done = run(surefoot, "--commit")
    assert done.code == 0, done.err + done.out
    assert (work / ".git/seen").read_text() == "notes.txt\n", "the hook sees the index of this commit"
    assert message(work).strip().endswith("Reviewed-by: nobody")
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in git(work, "cat-file", "commit", "HEAD")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo 'lines are too long' >&2; exit 1", "lines are too long"),
        ("echo changed >> kept.txt; echo more > new.txt; exit 1", "put back as they were"),
        ("for f in $(git diff --cached --name-only); do echo fixed >> $f; git add $f; done", "a hook changed"),
        ("echo fixed >> kept.txt", "a hook changed kept.txt after the checks ran"),
    ],
    ids=["refuses", "refuses and changes files", "changes the commit", "changes another file"],
)
def test_a_hook_that_refuses_or_changes_files_leaves_everything_as_it_was(
    surefoot: Surefoot, body: str, message: str
) -> None:
    work = surefoot.workspace
    make_repository(work)
    hook(work, "pre-commit", body)
    (work / "mine").write_text("staged\n")
    git(work, "add", "mine")
    begin, before = head(work), state_of_user(work)
    done = run(surefoot, "--commit")
    assert done.code == 1
    assert message in done.out, done.out
    assert "not committed" in done.out
    assert (head(work), state_of_user(work)) == (begin, before)
    files = {path.name: path.read_text() for path in work.iterdir() if path.is_file()}
    assert files == {"notes.txt": "ready\n", "kept.txt": "one\n", "mine": "staged\n"}
    (work / ".git/hooks/pre-commit").unlink()
    later = surefoot("commit")
    assert later.code == 0, later.err
    assert later.out == f"{head(work)[:10]} on main, 1 file\n"


@pytest.mark.parametrize(
    ("files", "command", "named"),
    [
        ({}, "echo 'repos: []' > .pre-commit-config.yaml", ".pre-commit-config.yaml"),
        ({"lint.sh": "true\n"}, "echo 'touch owned' > lint.sh", "lint.sh"),
        ({"Makefile": "lint:\n"}, "printf 'lint:\\n\\ttouch owned\\n' > Makefile", "Makefile"),
    ],
    ids=["settings of a hook manager", "a script that the hook names", "a task runner's file"],
)
def test_nothing_is_committed_if_the_run_changed_what_hooks_run(
    surefoot: Surefoot, files: dict[str, str], command: str, named: str
) -> None:
    work = surefoot.workspace
    make_repository(work, **files)
    hook(work, "pre-commit", "touch hook-ran; sh ./lint.sh")
    begin = head(work)
    done = run(surefoot, "--commit", command=f"{command}; {COMMAND}")
    assert done.code == 1, done.out
    assert f"the run changed {named}, which your git hooks execute or read" in done.out
    assert "surefoot diff" in done.out
    assert head(work) == begin
    assert not (work / "hook-ran").exists()
    assert not (work / "owned").exists()


def test_new_hooks_of_the_run_do_not_run(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    planted = "mkdir .husky; printf '#!/bin/sh\\ntouch owned\\n' > .husky/pre-commit; chmod +x .husky/pre-commit"
    done = run(surefoot, "--commit", command=f"{planted}; {COMMAND}")
    assert done.code == 1, done.out
    assert "the run changed .husky" in done.out
    assert git(work, "log", "--format=%s") == "Begin\n"
    assert not (work / "owned").exists()


def test_one_commit_for_each_step(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    steps = [
        {"id": name, "name": title, "tool": "run_command", "parameters": {"command": command}}
        for name, title, command in (
            ("first", "Write the draft", "echo draft > draft.txt; echo 'almost' > notes.txt"),
            ("look", "Look at it", "ls"),
            ("second", "Finish the notes", COMMAND),
        )
    ]
    needs = [{"step_id": "look", "depends_on": "first"}, {"step_id": "second", "depends_on": "look"}]
    given = surefoot.home / "given.json"
    given.write_text(json.dumps({"plan": {"steps": steps, "dependencies": needs}}))
    arguments = ("--given", str(given), "--from-phase", "execution", "--static", "--commit=step")
    done = surefoot(*story(surefoot), *arguments)
    assert done.code == 0, done.err + done.out
    assert git(work, "log", "--format=%s", "--reverse").splitlines() == ["Begin", "Write the draft", "Finish the notes"]
    assert git(work, "show", "HEAD~1:notes.txt") == "almost\n"
    assert git(work, "show", "HEAD:notes.txt") == "ready\n"
    assert git(work, "status", "--porcelain") == ""
    shown = json.loads(surefoot("show", "--json").out)["commits"]
    assert [commit["step"] for commit in shown] == ["first", "second"]
    assert git(work, "log", "--format=%(trailers:key=Surefoot-Proof,valueonly)", "-2").split() == ["A", "A"]


def test_a_folder_in_a_repository_a_submodule_and_a_first_commit(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "config", "user.name", "Ada")
    git(work, "config", "user.email", "ada@example.com")
    inner = surefoot.elsewhere("work/inner")
    (inner.workspace / "notes.txt").write_text("not yet\n")
    (work / "other.txt").write_text("outside the workspace\n")
    sub = inner.workspace / "sub"
    sub.mkdir()
    make_repository(sub)
    git(work, "add", "inner/notes.txt")
    git(work, "commit", "--quiet", "-m", "Begin")
    done = run(inner, "--commit", command=f"echo changed > sub/kept.txt; {COMMAND}")
    assert done.code == 0, done.err + done.out
    assert git(work, "show", "--name-only", "--format=", "HEAD") == "inner/notes.txt\n"
    assert "belong to another repository: inner/sub/kept.txt" in done.err
    assert git(sub, "log", "--format=%s") == "Begin\n"
    first = surefoot.elsewhere("first")
    git(first.workspace, "init", "--quiet", "--initial-branch=main")
    git(first.workspace, "config", "user.name", "Ada")
    git(first.workspace, "config", "user.email", "ada@example.com")
    made = run(first, "--commit")
    assert made.code == 0, made.err + made.out
    assert git(first.workspace, "ls-tree", "--name-only", "HEAD") == "notes.txt\n"
    assert git(first.workspace, "status", "--porcelain") == ""


def test_without_a_name_or_a_repository_the_run_does_not_begin(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    nowhere = run(surefoot, "--commit")
    assert nowhere.code == 2
    assert "needs a git repository" in nowhere.err
    assert "git init" in nowhere.err
    make_repository(work)
    git(work, "config", "--unset", "user.name")
    git(work, "config", "--unset", "user.email")
    git(work, "config", "user.useConfigOnly", "true")
    unknown = run(surefoot, "--commit")
    assert unknown.code == 2
    assert "git does not know who you are" in unknown.err
    assert "git config --global user.name" in unknown.err
    assert not surefoot.journal_file.exists() or not surefoot("list", "--json").objects


def test_a_run_that_commits_itself_leaves_nothing_to_commit(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    done = run(surefoot, "--commit", command=f"{COMMAND}; git commit --quiet -am 'By the run'")
    assert done.code == 0, done.out
    assert "is in the last commit, or git ignores it" in done.out
    assert git(work, "log", "--format=%s").splitlines() == ["By the run", "Begin"]


def test_own_tests_are_enough_if_the_user_accepts_them(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    test = "import unittest\nfrom adder import add\nclass A(unittest.TestCase):\n    def test_it(self):\n"
    test += "        self.assertEqual(add(2, 3), 5)\n"
    write = f"cat > test_adder.py <<'END'\n{test}END\nprintf 'def add(a, b):\\n    return a + b\\n' > adder.py"
    done_answer = {"thought": "", "decision": "done", "reason": "", "tool": "", "arguments": {}}
    arguments = story(surefoot, write)
    model = json.loads(Path(arguments[3].removeprefix("scripted:")).read_text())
    arguments = [
        "run",
        "Add an adder.",
        "-m",
        surefoot.script(*model, done_answer),
        "--accept",
        "own-tests",
        "--commit",
    ]
    done = surefoot(*arguments)
    assert done.code == 0, done.err + done.out
    assert "Surefoot-Proof: B" in message(work)
    assert git(work, "show", "--name-only", "--format=", "HEAD").split() == ["adder.py", "test_adder.py"]


def test_copies_and_remote_runs_are_refused_and_applied_changes_can_be_committed(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    recorded = run(surefoot, "--record", "a.cassette", "--remote")
    assert recorded.code == 2
    assert "--record is not possible with --remote" in recorded.err
    for option in ("--commit", "--branch"):
        copied = run(surefoot, option, "--worktree")
        assert copied.code == 2
        assert f"{option} is not possible with --worktree" in copied.err
        remote = run(surefoot, option, "--remote")
        assert remote.code == 2
        assert f"{option} is not possible with --remote" in remote.err
    assert run(surefoot, "--worktree").code == 0
    early = surefoot("commit")
    assert early.code == 2
    assert "surefoot apply" in early.err
    assert surefoot("apply", "last", "--yes").code == 0
    done = surefoot("commit")
    assert done.code == 0, done.err
    assert git(work, "show", "HEAD:notes.txt") == "ready\n"
    assert git(work, "status", "--porcelain") == ""


def test_undo_of_a_committed_run_leaves_the_commit_and_says_how_to_revert_it(surefoot: Surefoot) -> None:
    """Also if the run itself used git, so that it wrote to the repository too."""
    work = surefoot.workspace
    make_repository(work)
    done = run(surefoot, "--commit", command=f"{COMMAND}; git add notes.txt; git reset --quiet notes.txt")
    assert done.code == 0, done.err + done.out
    made = head(work)
    undone = surefoot("undo", "last", "--yes")
    assert undone.code == 0, undone.err
    assert "undo restores the files and leaves the commit" in undone.err
    assert f"git revert {made[:10]}" in undone.err
    assert head(work) == made
    assert (work / "notes.txt").read_text() == "not yet\n"
    command = undone.out.splitlines()[-1].strip()
    run_id = json.loads(surefoot("show", "--json").out)["task_id"]
    assert command == f"git commit -m 'Undo Surefoot run {run_id}' -- notes.txt"
    again = undone.out.partition("to undo this: ")[2].splitlines()[0]
    redone = surefoot(*again.split()[1:], "--yes")
    assert redone.code == 0, redone.err
    assert "git commit" not in redone.out, "a redo is no undo"
    assert surefoot("undo", "last", "--yes").code == 0
    git(work, "commit", "--quiet", "-m", f"Undo Surefoot run {run_id}", "--", "notes.txt")
    assert git(work, "status", "--porcelain") == ""
    assert git(work, "show", "HEAD:notes.txt") == "not yet\n"


def test_the_state_of_the_tree_is_read_without_running_anything_of_the_repository(surefoot: Surefoot) -> None:
    work = surefoot.workspace
    make_repository(work)
    owned = surefoot.home / "owned"
    program = surefoot.home / "planted"
    program.write_text(f"#!/bin/sh\ntouch {owned}\ncat\n")
    program.chmod(0o755)
    git(work, "config", "core.fsmonitor", str(program))
    git(work, "config", "filter.x.clean", str(program))
    git(work, "config", "filter.x.required", "true")
    hook(work, "post-index-change", f"touch {owned}")
    (work / ".gitattributes").write_text("*.txt filter=x\n")
    (work / "kept.txt").write_text("two\n")
    done = run(surefoot)
    assert done.code == 0, done.err
    assert any(line.startswith("git: ") for line in done.lines)
    assert not owned.exists()
