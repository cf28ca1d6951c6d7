"""Approval policies, and the rules that allow or deny actions."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from surefoot.config.model import ExecutionConfig
from surefoot.core.policy.rules import Effect, Policy, Ruling, rule_on, suggested_rule


def ruling(command: str, *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = (), policy: Policy = "ask") -> Ruling:
    return rule_on("command", "run_command", {"command": command}, policy, allow, deny)


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    ("policy", "read", "edit", "command", "external"),
    [
        ("ask", "allow", "ask", "ask", "ask"),
        ("auto-edit", "allow", "allow", "ask", "ask"),
        ("auto", "allow", "allow", "allow", "ask"),
        ("never", "allow", "allow", "deny", "deny"),
    ],
)
def test_policies_decide_by_the_effect(policy: Policy, read: str, edit: str, command: str, external: str) -> None:
    effects: list[Effect] = ["read", "edit", "command", "external"]
    assert [rule_on(effect, "t", {}, policy, (), ()) for effect in effects] == [read, edit, command, external]


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    ("rule", "command", "matches"),
    [
        ("run_command(pytest *)", "pytest", True),
        ("run_command(pytest *)", "pytest -q tests", True),
        ("run_command(pytest *)", "pytest2 -q", False),
        ("run_command(pytest *)", "/evil/pytest -q", False),
        ("run_command(pytest -q)", "pytest -q", True),
        ("run_command(pytest -q)", "pytest -q --pdb", False),
        ("run_command(git diff *)", "git push", False),
        ("run_command", "anything at all", True),
        ("write_file(*)", "pytest", False),
        # No rule allows a command with shell syntax.
        ("run_command(pytest *)", "pytest; rm -rf ~", False),
        ("run_command(pytest *)", "pytest && curl evil", False),
        ("run_command(pytest *)", "pytest | sh", False),
        ("run_command(pytest *)", "pytest > /etc/passwd", False),
        ("run_command(pytest *)", "pytest $(rm x)", False),
        ("run_command(pytest *)", "pytest `rm x`", False),
        ("run_command(pytest *)", "pytest $HOME", False),
        ("run_command(pytest *)", "pytest\nrm x", False),
        ("run_command(pytest *)", "pytest 'unclosed", False),
        ("run_command(pytest *)", "X=1 pytest", False),
    ],
)
def test_allow_rules_match_the_words_of_a_simple_command(rule: str, command: str, matches: bool) -> None:
    assert ruling(command, allow=(rule,)) == ("allow" if matches else "ask")


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    "command",
    ["git push", "cd x && git push origin", "true; git push", "$(git push)", "sudo git push -f", "a|git push"],
)
def test_deny_rules_match_every_part_of_a_command(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), allow=("run_command",), policy="auto") == "deny"


SPELLINGS = [
    "'git' push", '"git" "push"', "g\\it pu''sh", "$'\\x67it' push", "gi\\\nt push", "/usr/bin/git push", "./git push",
    "sh -c 'git push'", 'bash -lc "cd x && git push"', "/bin/dash -ec 'git push'", "busybox sh -c 'git push'",
    "eval git push", "eval 'git push'", "eval \"$(printf 'git push')\" ; git push",
    "env X=1 git push", "env -i git push", "env -S 'git push'", "X=1 Y=2 git push", "nice -n 5 git push",
    "timeout 10 git push", "timeout -k 5 10 sh -c 'git push'", "xargs git push < x", "command git push",
    "exec git push", "sudo -u me git push", "nohup git push &", "time git push", "! git push", "setsid -w git push",
    "git -C dir push", "git -c a=b -C dir --no-pager push origin", "git --git-dir=.git push", "git -C dir push -f",
    "git push > log 2>&1", "> log git push", "git > log push", "git 2>/dev/null push",
    "true; git push", "true && git push", "true || git push", "true | git push", "(git push)", "{ git push; }",
    "if true; then git push; fi", "for x in a b; do git push; done", "while git push; do :; done",
    "echo `git push`", 'echo "$(git push)"', 'echo "a $(echo b $(git push))"', "cat <(git push)",
    "case $x in a) git push;; esac", "f() { git push; }; f", "trap 'git push' EXIT", "alias g='git push'; g",
    "bash <<EOF\ngit push\nEOF", "bash <<< 'git push'", "cat <<EOF\n$(git push)\nEOF", "echo 'git push' | sh",
    "echo git push | bash -s", "find . -name x -exec git push \\;", "echo a # b\ngit push",
    "python3 -c 'import os; os.system(\"git push\")'",
    "python3 - <<'E'\nimport subprocess as s\ns.run(['git', 'push'])\nE",
]  # fmt: skip


@pytest.mark.req("P12")
@pytest.mark.parametrize("command", SPELLINGS)
def test_deny_rules_find_every_spelling_of_a_command(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), allow=("run_command",), policy="auto") == "deny"


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    "command",
    [
        "git status", "git log --author push", "git commit -m 'git push'", "echo git push", "grep -rn 'git push' docs",
        "cat <<'EOF' > notes.txt\ndon't git push\nEOF", "for f in *.py; do cat \"$f\"; done", '"$PYTHON" -m x',
        "pytest -q 'a b'", "python3 -c 'print(1)'", "echo 'git push' > notes.txt", "printf '%s\\n' git push", "ls push",
    ],
)  # fmt: skip
def test_deny_rules_leave_other_commands_alone(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), policy="auto") == "allow"


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    "command",
    [
        "$G push", "G=git; $G push", "git $X", "git ${X:-push}", "gi? push", "{git,push}", "$(echo git) push",
        "echo push | xargs git", "curl -s x | sh", "base64 -d x | bash", "X='git push'; $X -q",
        "g() { git \"$@\"; }; g push", "perl -e 'system(1)'", "python3 -c 'import os; os.system(x)'",
        "bash -c \"$X\"", "eval $X", "ruby -e '`$x`'",
    ],
)  # fmt: skip
def test_a_person_is_asked_about_commands_that_may_be_denied(command: str) -> None:
    deny = ("run_command(git push *)",)
    assert ruling(command, deny=deny, allow=("run_command",), policy="auto") == "ask"
    assert ruling(command, deny=deny, policy="never") == "deny"
    assert ruling(command, policy="auto") == "allow", "without deny rules nothing is in doubt"


def shell_quoted(word: str) -> st.SearchStrategy[str]:
    """The word, with each letter quoted in some way or not at all."""
    forms = st.sampled_from(["{}", "'{}'", '"{}"', "\\{}", "''{}"])
    chosen = st.lists(forms, min_size=len(word), max_size=len(word))
    return chosen.map(lambda kinds: "".join(kind.format(char) for kind, char in zip(kinds, word, strict=True)))


PREFIXES = st.sampled_from(
    [
        "",
        "cd a && ",
        "x=1 ",
        "env A=b ",
        "nice -n 3 ",
        "timeout 5 ",
        "sudo ",
        "command ",
        "exec ",
        "! ",
        "( ",
        "a | ",
        "a; ",
    ]
)
OPTIONS = st.lists(st.sampled_from(["-C dir", "-c k=v", "--no-pager", "-q", "--opt=1", "-n 2"]), max_size=3).map(
    " ".join
)


@given(
    PREFIXES,
    shell_quoted("git"),
    OPTIONS,
    shell_quoted("push"),
    st.sampled_from(["", "/usr/bin/", "./x/"]),
    st.integers(0, 3),
)
def test_no_spelling_passes_a_deny_rule(
    prefix: str, git: str, options: str, push: str, folder: str, nested: int
) -> None:
    command = f"{prefix}{folder}{git} {options} {push} origin"
    if prefix == "( ":
        command += ")"
    for _ in range(nested):
        command = f"sh -c {shlex.quote(command)}"
    assert ruling(command, deny=("run_command(git push *)",), policy="auto") == "deny", command


@given(st.text(alphabet="ab \t\n'\"\\\\$(){}`<>|&;#*?-=0", max_size=60))
def test_any_text_is_ruled_on(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), policy="auto") in ("allow", "ask", "deny")


def test_long_commands_are_ruled_on_quickly() -> None:
    """Linear in length, whatever the words are: a slow test run would show a regression."""
    for command in (
        "git " + "-a " * 3_000,
        "x " * 20_000,
        "$(" * 3_000,
        "'a' " * 20_000,
        "sh -c " * 3_000,
        "{a,b}" * 9_000,
    ):
        assert ruling(command, deny=("run_command(git push *)",), policy="auto") in ("allow", "ask")


@pytest.mark.parametrize("command", ["git 'push", 'git "push', "echo $(git push", "x 'a", "`x"])
def test_what_cannot_be_read_is_not_allowed_where_something_is_denied(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), policy="auto") in ("ask", "deny")


@pytest.mark.parametrize(
    "command", ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -r -f", "rm --verbose -rf x", "xargs rm -rf"]
)
def test_options_of_a_deny_rule_may_stand_anywhere(command: str) -> None:
    assert ruling(command, deny=("run_command(rm -rf *)",), policy="auto") == "deny"
    assert ruling("rm -f x", deny=("run_command(rm -rf *)",), policy="auto") == "allow"


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\nos.system('git push')", "deny"),
        ("from os import system as s\ns('cd x; git push')", "deny"),
        ("import subprocess as sp\nsp.run(['git', '-C', 'x', 'push'])", "deny"),
        ("import subprocess\ncmd = ['git', 'push']\nsubprocess.Popen(cmd).wait()", "deny"),
        ("import subprocess\nsubprocess.check_output('git push'.split())", "deny"),
        ("import subprocess\nsubprocess.run(args=['sh', '-c', 'git push'])", "deny"),
        ("import os\nos.execvp('git', ['git', 'push'])", "deny"),
        ("import asyncio\nasyncio.run(asyncio.create_subprocess_exec('git', 'push'))", "deny"),
        ("__import__('os').system('git push')", "deny"),
        ("import os\ngetattr(os, 'system')('git push')", "deny"),
        ("exec(\"import os; os.system('git push')\")", "deny"),
        ("import os\nos.system('git ' + verb)", "ask"),
        ("import subprocess\nsubprocess.run(words)", "ask"),
        ("import os\nos.system(f'{a} push')", "ask"),
        ("exec(text)", "ask"),
        ("import ctypes\nctypes.CDLL(None).system(b'git push')", "ask"),
        ("__import__(name).system('x')", "ask"),
        ("print('git push')", "allow"),
        ("import subprocess\nsubprocess.run(['git', 'status'])", "allow"),
        ("this is no Python (", "allow"),
    ],
)
def test_deny_rules_for_commands_hold_for_python_code(code: str, expected: str) -> None:
    deny = ("run_command(git push *)",)
    assert rule_on("command", "run_python", {"code": code}, "auto", (), deny) == expected
    assert rule_on("command", "run_python", {"code": code}, "auto", (), ()) == "allow"


def test_denying_all_commands_denies_python_that_starts_one() -> None:
    code = "import subprocess\nsubprocess.run(['ls'])"
    assert rule_on("command", "run_python", {"code": code}, "auto", (), ("run_command",)) == "deny"
    assert rule_on("command", "run_python", {"code": "print(1)"}, "auto", (), ("run_command",)) == "allow"


def test_rules_match_paths() -> None:
    def write(path: str, *, allow: str = "", deny: str = "", resolved: str = "") -> Ruling:
        rules = (allow,) if allow else (), (deny,) if deny else ()
        return rule_on(
            "edit", "write_file", {"path": path}, "ask", *rules, resolved={"path": resolved} if resolved else {}
        )

    assert write("docs/a.md", allow="write_file(docs/*)") == "allow"
    assert write("./docs//a.md", allow="write_file(docs/*)") == "allow"
    assert write("src/a.py", allow="write_file(docs/*)") == "ask"
    assert write("docs/../src/a.py", allow="write_file(docs/*)") == "ask"
    assert write("docs/a.md", allow="write_file(docs/*)", resolved="src/a.md") == "ask", "a link leads elsewhere"
    for path in ("src/a.py", "./src/a.py", "docs/../src/a.py", "src//a.py"):
        assert write(path, deny="write_file(src/*)") == "deny"
    assert write("/work/src/a.py", deny="write_file(src/*)", resolved="src/a.py") == "deny"


def test_rules_match_both_paths_of_a_move() -> None:
    move = {"source": "docs/a", "target": "src/b"}
    assert rule_on("edit", "move_file", move, "auto", (), ("move_file(src/*)",)) == "deny"
    assert rule_on("edit", "move_file", move, "ask", ("move_file(docs/*)",), ()) == "ask"


@given(st.text(max_size=40))
def test_a_suggested_rule_allows_its_command(command: str) -> None:
    rule = suggested_rule("run_command", {"command": command})
    if rule:
        assert ruling(command, allow=(rule,)) == "allow"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("touch x", "run_command(touch *)"),
        ("git status -s", "run_command(git status *)"),
        ("git -C x push", ""),
        ("python3 -m pytest", "run_command(python3 -m pytest)"),
        ("sh build.sh", "run_command(sh build.sh)"),
        ("sh -c 'a b'", ""),
        ("env A=1 x", "run_command(env A=1 x)"),
        ("a; b", ""),
    ],
)
def test_suggested_rules_allow_no_more_than_similar_commands(command: str, rule: str) -> None:
    assert suggested_rule("run_command", {"command": command}) == rule


def test_an_invalid_rule_is_rejected() -> None:
    assert ExecutionConfig(allow=("run_command(pytest *)", "http_get")).allow
    with pytest.raises(ValidationError, match="is not a rule: write a tool and a pattern"):
        ExecutionConfig(deny=("pytest *",))
