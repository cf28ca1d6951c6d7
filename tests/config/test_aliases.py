"""The setting names of the design documents are accepted beside the usual ones."""

from pathlib import Path

import pytest

from surefoot.config.layers import load
from surefoot.config.model import SETTING_ALIASES, ExecutionConfig
from surefoot.errors import ConfigError


@pytest.mark.req("O11", "O4")
def test_config_file_and_variables_may_use_them(tmp_path: Path) -> None:
    config = tmp_path / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nmax_plan_steps = 7\nmax_step_tool_calls = 5\nmax_replans = 4\n")
    settings = load(tmp_path, None, {"HOME": str(tmp_path)})
    assert settings.execution.max_plan_steps == 7
    assert settings.execution.max_actions_per_step == 5
    assert settings.execution.reflection.max_task_replanning_attempts == 4
    assert settings.source("reflection.max_task_replanning_attempts") == f"{config}:4"
    environ = {"HOME": str(tmp_path), "SUREFOOT_EXECUTION__MAX_REPLANS": "2"}
    assert load(tmp_path, None, environ).execution.reflection.max_task_replanning_attempts == 2


@pytest.mark.req("O11")
def test_library_may_use_them() -> None:
    values = {"max_step_tool_calls": 5, "max_replans": 0, "reflection": {"max_step_retries": 2}}
    config = ExecutionConfig.model_validate(values)
    assert (config.max_actions_per_step, config.reflection.max_task_replanning_attempts) == (5, 0)
    assert config.reflection.max_step_retries == 2
    assert config == ExecutionConfig.model_validate(config.model_dump()), "only the usual names are stored"


@pytest.mark.req("O11")
def test_two_names_with_different_values_are_an_error(tmp_path: Path) -> None:
    config = tmp_path / ".config/surefoot/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[execution]\nmax_actions_per_step = 6\nmax_step_tool_calls = 5\n")
    with pytest.raises(ConfigError, match=r"config\.toml:3: execution\.max_actions_per_step is set to 6"):
        load(tmp_path, None, {"HOME": str(tmp_path)})
    with pytest.raises(ValueError, match="two names of one setting"):
        ExecutionConfig.model_validate({"max_actions_per_step": 6, "max_step_tool_calls": 5})


def test_page_lists_them() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    for alias, name in SETTING_ALIASES.items():
        assert f"| `{alias}` | `{name}` |" in page
