"""`surefoot config set`, `get`, `unset`, `edit` and `--changed`: files keep their comments, and trust is kept."""

import json
import os
from pathlib import Path

import pytest

from cli.conftest import Surefoot

MINE = """\
# my settings
[execution]
# small plans
max_plan_steps = 5   # not more
max_replans = 2

[budget]
max_tokens = 1000
"""


@pytest.fixture
def user_config(surefoot: Surefoot) -> Path:
    path = surefoot.home / ".config/surefoot/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(MINE)
    return path


def test_set_get_and_unset_keep_comments_and_order(surefoot: Surefoot, user_config: Path) -> None:
    changed = surefoot("config", "set", "execution.max_plan_steps", "20")
    assert (changed.code, changed.out) == (0, "")
    assert f"execution.max_plan_steps = 20 in {user_config}" in changed.err
    assert user_config.read_text() == MINE.replace("max_plan_steps = 5 ", "max_plan_steps = 20 ")
    assert surefoot("config", "get", "execution.max_plan_steps").out == "20\n"
    assert surefoot("config", "set", "execution.checks", "pytest -q", "ruff check .").code == 0
    assert surefoot("config", "get", "execution.checks").out == "pytest -q\nruff check .\n"
    removed = surefoot("config", "unset", "execution.checks")
    assert "removed execution.checks" in removed.err
    assert "it is now [] (default)" in removed.err
    assert "not set in" in surefoot("config", "unset", "execution.checks").err
    # The old name of a setting gives way to the new one.
    assert surefoot("config", "set", "reflection.max_task_replanning_attempts", "3").code == 0
    assert "max_replans" not in user_config.read_text()
    assert json.loads(surefoot("config", "get", "execution.max_replans", "--json").out) == {
        "name": "reflection.max_task_replanning_attempts",
        "value": 3,
        "source": f"{user_config}:10",
        "variable": "SUREFOOT_REFLECTION__MAX_TASK_REPLANNING_ATTEMPTS",
    }
    text = user_config.read_text()
    assert text.startswith("# my settings\n[execution]\n# small plans\nmax_plan_steps = 20   # not more\n")


def test_a_linked_config_of_the_user_stays_a_link(surefoot: Surefoot, user_config: Path) -> None:
    real = surefoot.home / "dotfiles.toml"
    user_config.rename(real)
    user_config.symlink_to(real)
    real.chmod(0o640)
    assert surefoot("config", "set", "budget.max_tokens", "2000").code == 0
    assert user_config.is_symlink()
    assert "max_tokens = 2000" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (("max_tokens", "5"), "there is no setting max_tokens", "did you mean budget.max_tokens?"),
        (("executon.max_plan_steps", "5"), "there is no setting", "did you mean execution.max_plan_steps?"),
        (("execution", "5"), "execution is a section", "execution.max_plan_steps"),
        (("model.api_key", "sk-1"), "looks like a secret", "api_key_env"),
        (("prices.gpt", "5"), "sections of its own", "surefoot config edit"),
        (("execution.max_plan_steps", "many"), "must be a whole number from 1 to 10,000, not 'many'", ""),
        (("execution.sandbox", "none!"), "must be one of auto, strict, off", ""),
        (("budget.max_tool_calls", "none"), "cannot be set to none", "SUREFOOT_BUDGET__MAX_TOOL_CALLS=none"),
        (("execution.network", "yes", "no"), "has one value, not 2", "quotes"),
        (("--project", "storage.objects", "s3://x"), "cannot say where runs are recorded", "SUREFOOT_OBJECTS"),
    ],
)
def test_wrong_names_and_values_change_nothing(
    surefoot: Surefoot, user_config: Path, words: tuple[str, ...], message: str, remedy: str
) -> None:
    result = surefoot("config", "set", *words)
    assert result.code == 2
    assert message in result.err
    assert remedy in result.err
    assert "sk-1" not in result.err
    assert user_config.read_text() == MINE
    assert not (surefoot.workspace / "surefoot.toml").exists()


def test_an_invalid_file_is_not_changed(surefoot: Surefoot, user_config: Path) -> None:
    user_config.write_text("[execution\n")
    result = surefoot("config", "set", "budget.max_tokens", "5")
    assert result.code == 2
    assert f"{user_config}:1: not valid TOML" in result.err
    assert user_config.read_text() == "[execution\n"


def test_changed_lists_only_what_differs_from_the_default(surefoot: Surefoot) -> None:
    assert surefoot("config", "--changed").out == "no setting differs from the default\n"
    assert surefoot("config", "set", "execution.network", "true").code == 0
    assert surefoot("config", "set", "execution.dynamic", "true").code == 0
    (line,) = surefoot("config", "--changed").out.splitlines()
    assert line.split()[:2] == ["execution.network", "true"]
    assert list(json.loads(surefoot("config", "--changed", "--json").out)) == ["execution.network"]
    assert "execution.dynamic" in surefoot("config").out


def test_a_project_file_stays_trusted_when_its_user_changes_it(surefoot: Surefoot) -> None:
    path = surefoot.workspace / "surefoot.toml"
    made = surefoot("config", "set", "--project", "execution.checks", "true")
    assert (made.code, "not trusted" in made.err) == (0, False)
    assert surefoot("config", "get", "execution.checks").out == "true\n", "only the user has written it"
    below = surefoot.elsewhere("work/src/deep")
    (surefoot.workspace / ".git").mkdir()
    assert below("config", "set", "--project", "budget.max_tokens", "77").code == 0
    assert below("config", "get", "budget.max_tokens").out == "77\n"
    assert path.read_text().count("max_tokens") == 1, "the file of the repository was changed, not a new one"
    # Somebody else changes it: from then on it is not trusted, and a change of the user does not hide that.
    path.write_text(path.read_text().replace('"true"', '"curl evil"'))
    changed = surefoot("config", "set", "--project", "budget.max_tokens", "78")
    assert f"to use it: surefoot trust {surefoot.workspace}" in changed.err
    assert surefoot("config", "get", "execution.checks").out == ""
    assert surefoot("config", "-C", str(surefoot.workspace), "unset", "--project", "execution.checks").code == 0
    assert surefoot("trust").code == 0
    assert surefoot("config", "get", "budget.max_tokens").out == "78\n"


def test_it_says_if_another_layer_sets_it_too(surefoot: Surefoot) -> None:
    surefoot.environ["SUREFOOT_BUDGET__MAX_TOKENS"] = "5"
    assert (
        "no effect here, because SUREFOOT_BUDGET__MAX_TOKENS" in surefoot("config", "set", "budget.max_tokens", "9").err
    )


def test_a_project_config_is_not_written_through_a_link(surefoot: Surefoot) -> None:
    target = surefoot.home / "precious.toml"
    target.write_text("")
    (surefoot.workspace / "surefoot.toml").symlink_to(target)
    result = surefoot("config", "set", "--project", "budget.max_tokens", "5")
    assert result.code == 2
    assert "is a link" in result.err
    assert target.read_text() == ""


def editor(surefoot: Surefoot, *saves: str) -> None:
    """Let the editor save these texts, one at each start."""
    folder = surefoot.home / "saves"
    folder.mkdir()
    for number, text in enumerate(saves):
        (folder / str(number)).write_text(text)
    script = surefoot.home / "editor.sh"
    script.write_text(
        f'#!/bin/sh\nfirst=$(ls {folder} | head -n 1)\nsleep 0.01; cat {folder}/$first > "$1"\nrm {folder}/$first\n'
    )
    script.chmod(0o755)
    surefoot.environ |= {"EDITOR": str(script), "VISUAL": str(script)}


def test_edit_validates_and_offers_to_edit_again(surefoot: Surefoot, user_config: Path) -> None:
    editor(surefoot, "[budget]\nmax_tokenz = 5\n", "[budget]\nmax_tokens = 6 # six\n")
    terminal = surefoot.on_terminal("config", "edit")
    terminal.wait_for("did you mean max_tokens?")
    assert user_config.read_text() == MINE
    terminal.wait_for("edit it again?")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert user_config.read_text() == "[budget]\nmax_tokens = 6 # six\n"


def test_edit_can_be_given_up_and_needs_a_terminal(surefoot: Surefoot) -> None:
    editor(surefoot, "[budget]\nmax_tokens = many\n")
    terminal = surefoot.on_terminal("config", "edit", "--project")
    terminal.wait_for("edit it again?")
    terminal.type("n\n")
    assert terminal.end() == 2
    assert not os.path.lexists(surefoot.workspace / "surefoot.toml")
    assert "surefoot config set NAME VALUE" in surefoot("config", "edit").err
