import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from surefoot.config import ExecutionConfig
from surefoot.consent import Effect, Policy, Ruling, rule_on, suggested_rule


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
def test_policies(policy: Policy, read: str, edit: str, command: str, external: str) -> None:
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
        # What a shell would take apart is never allowed by a rule.
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
def test_allow_rules_are_about_the_words_of_a_plain_command(rule: str, command: str, matches: bool) -> None:
    assert ruling(command, allow=(rule,)) == ("allow" if matches else "ask")


@pytest.mark.req("P12")
@pytest.mark.parametrize(
    "command",
    ["git push", "cd x && git push origin", "true; git push", "$(git push)", "sudo git push -f", "a|git push"],
)
def test_deny_rules_look_into_every_part(command: str) -> None:
    assert ruling(command, deny=("run_command(git push *)",), allow=("run_command",), policy="auto") == "deny"


def test_paths_are_matched_too() -> None:
    allowed = rule_on("edit", "write_file", {"path": "docs/a.md"}, "ask", ("write_file(docs/*)",), ())
    other = rule_on("edit", "write_file", {"path": "src/a.py"}, "ask", ("write_file(docs/*)",), ())
    assert (allowed, other) == ("allow", "ask")


@given(st.text(max_size=40))
def test_a_rule_that_is_suggested_allows_what_it_was_suggested_for(command: str) -> None:
    rule = suggested_rule("run_command", {"command": command})
    if rule:
        assert ruling(command, allow=(rule,)) == "allow"


def test_what_is_no_rule_is_told() -> None:
    assert ExecutionConfig(allow=("run_command(pytest *)", "http_get")).allow
    with pytest.raises(ValidationError, match="is no rule: write a tool and a pattern"):
        ExecutionConfig(deny=("pytest *",))
