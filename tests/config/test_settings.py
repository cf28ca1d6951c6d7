"""Settings: precedence of layers, sources of values, and errors for invalid ones."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.config import paths
from surefoot.config.fields import Sourced, known_fields
from surefoot.config.layers import Settings, find_project_config, load
from surefoot.config.model import PhasePolicy
from surefoot.config.sources import from_environment, from_toml, variable_of
from surefoot.config.trust import TrustStore, project_config
from surefoot.errors import ConfigError, UsageError


class Machine:
    """A home folder with a project in it, and its environment variables."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.environ = {"HOME": str(self.home)}

    def write_user_config(self, text: str) -> Path:
        path = self.home / ".config/surefoot/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def write_project_config(self, text: str, *, trusted: bool = True) -> Path:
        path = self.project / "surefoot.toml"
        path.write_text(text)
        if trusted:
            self.trust.add(path, path.read_bytes())
        return path

    @property
    def trust(self) -> TrustStore:
        return TrustStore(paths.trust_file(paths.state_home(self.environ)))

    def load(self, flags: dict[str, Sourced] | None = None, **variables: str) -> Settings:
        return load(self.project, flags, {**self.environ, **variables})


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# -- layers --------------------------------------------------------------------------------------------------------


def test_defaults_have_default_as_their_source(machine: Machine) -> None:
    settings = machine.load()
    assert settings.execution.max_plan_steps == 12
    assert {item.source for item in settings.listed.values()} == {"default"}
    assert settings.notices == ()


@pytest.mark.req("R6")
def test_the_reflection_section_is_part_of_the_execution_config(machine: Machine) -> None:
    machine.write_user_config(
        "[reflection]\nenable_step_level_reflection = false\nmax_step_retries = 5\nmax_task_replanning_attempts = 0\n"
    )
    reflection = machine.load().execution.reflection
    assert not reflection.enable_step_level_reflection
    assert (reflection.max_step_retries, reflection.max_task_replanning_attempts) == (5, 0)


def test_each_layer_overrides_the_ones_below_and_is_recorded_as_the_source(machine: Machine) -> None:
    user = machine.write_user_config(
        "\n[execution]\nmax_plan_steps = 20\nmax_actions_per_step = 21\nnetwork = true\nphases = 'full'\n"
    )
    project_file = machine.write_project_config(
        "[execution]\nmax_plan_steps = 30\n\nmax_actions_per_step = 31\nnetwork = false\n"
    )
    flags = {"execution.max_plan_steps": Sourced(50, "--steps")}
    settings = machine.load(
        flags, SUREFOOT_EXECUTION__MAX_PLAN_STEPS="40", SUREFOOT_EXECUTION__MAX_ACTIONS_PER_STEP="41"
    )
    config = settings.execution
    assert (config.max_plan_steps, config.max_actions_per_step, config.network) == (50, 41, False)
    assert config.phases is PhasePolicy.FULL
    assert settings.source("execution.max_plan_steps") == "--steps"
    assert settings.source("execution.max_actions_per_step") == "SUREFOOT_EXECUTION__MAX_ACTIONS_PER_STEP"
    assert settings.source("execution.network") == f"{project_file}:5"
    assert settings.source("execution.phases") == f"{user}:6"
    assert settings.source("execution.dynamic") == "default"


def test_a_value_equal_to_the_default_keeps_its_source(machine: Machine) -> None:
    user = machine.write_user_config("[execution]\nnetwork = false\n")
    assert machine.load().source("execution.network") == f"{user}:2"


def test_the_model_has_a_short_variable_name(machine: Machine) -> None:
    machine.write_user_config("[model]\nmodel = 'openai/gpt-5.4-mini'\n")
    settings = machine.load(SUREFOOT_MODEL="ollama/qwen3")
    assert settings.listed["model.model"] == Sourced("ollama/qwen3", "SUREFOOT_MODEL")
    assert settings.model.model == "openai/gpt-5.4-mini", "the model of the files decides which key is sent where"


def test_a_project_with_its_own_server_does_not_get_the_key_of_the_user(machine: Machine) -> None:
    machine.write_user_config(
        "[model]\nmodel = 'big'\nbase_url = 'https://models.example/v1'\napi_key_env = 'MY_KEY'\n"
    )
    machine.write_project_config("[model]\ncontext_tokens = 4096\n")
    model = machine.load().model
    assert (model.base_url, model.api_key_env, model.context_tokens) == ("https://models.example/v1", "MY_KEY", 4096)
    machine.write_project_config("[model]\nbase_url = 'http://127.0.0.1:9/v1'\n")
    model = machine.load().model
    assert (model.model, model.base_url, model.api_key_env) == (None, "http://127.0.0.1:9/v1", None)


def test_every_setting_has_its_own_environment_variable() -> None:
    names = [name for name, _ in known_fields()]
    assert len({variable_of(name) for name in names}) == len(names)
    for name in names:
        assert variable_of(name).startswith("SUREFOOT_")


def test_the_text_of_variables_is_parsed() -> None:
    found = from_environment(
        {
            "SUREFOOT_BUDGET__MAX_TOOL_CALLS": "none",
            "SUREFOOT_EXECUTION__NETWORK": "yes",
            "SUREFOOT_BUDGET__MAX_COST_USD": "1.5",
            "SUREFOOT_EXECUTION__SNAPSHOT_EXCLUDES": '["data/", "*.bin"]',
        }
    )
    assert {name: item.value for name, item in found.items()} == {
        "budget.max_tool_calls": None,
        "execution.network": True,
        "budget.max_cost_usd": 1.5,
        "execution.snapshot_excludes": ("data/", "*.bin"),
    }


# -- the project config -------------------------------------------------------------------------------------------


def test_an_untrusted_project_config_is_ignored_with_a_notice(machine: Machine) -> None:
    project_file = machine.write_project_config("[execution]\nsandbox = 'off'\nnetwork = true\n", trusted=False)
    settings = machine.load()
    assert (settings.execution.sandbox, settings.execution.network) == ("auto", False)
    assert settings.notices == (
        f"{project_file} is not trusted and is ignored; to use it: surefoot trust {machine.project}",
    )


def test_a_changed_file_must_be_trusted_again(machine: Machine) -> None:
    project_file = machine.write_project_config("[execution]\nmax_plan_steps = 3\n")
    assert machine.load().execution.max_plan_steps == 3
    project_file.write_text("[execution]\nmax_plan_steps = 4\n")
    settings = machine.load()
    assert settings.execution.max_plan_steps == 12
    assert "has changed since it was trusted" in settings.notices[0]
    machine.trust.remove(project_file)
    assert "is not trusted" in machine.load().notices[0]


def test_an_untrusted_file_is_not_parsed(machine: Machine) -> None:
    machine.write_project_config("this is not toml", trusted=False)
    assert "not trusted" in machine.load().notices[0]


def test_a_copy_in_another_folder_is_not_trusted(machine: Machine) -> None:
    project_file = machine.write_project_config("[execution]\nmax_plan_steps = 3\n")
    other = machine.home / "other"
    other.mkdir()
    (other / "surefoot.toml").write_bytes(project_file.read_bytes())
    assert load(other, None, machine.environ).execution.max_plan_steps == 12


def test_the_project_config_is_searched_up_to_the_root_of_the_repository(machine: Machine) -> None:
    (machine.project / ".git").mkdir()
    deep = machine.project / "a/b"
    deep.mkdir(parents=True)
    (machine.home / "surefoot.toml").write_text("")
    assert find_project_config(deep, machine.environ) is None
    (machine.project / ".surefoot").mkdir()
    inside = machine.project / ".surefoot/config.toml"
    inside.write_text("")
    assert find_project_config(deep, machine.environ) == inside
    nearer = machine.project / "a/surefoot.toml"
    nearer.write_text("")
    assert find_project_config(deep, machine.environ) == nearer


def test_without_a_repository_the_project_config_is_searched_up_to_the_home(machine: Machine) -> None:
    at_home = machine.home / "surefoot.toml"
    at_home.write_text("")
    assert find_project_config(machine.project, machine.environ) == at_home


def test_outside_of_repository_and_home_only_the_workspace_is_searched(machine: Machine, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "work").mkdir(parents=True)
    (shared / "surefoot.toml").write_text("")
    assert find_project_config(shared / "work", machine.environ) is None


def test_trust_follows_symlinks_and_depends_on_the_content(machine: Machine) -> None:
    project_file = machine.write_project_config("[execution]\n")
    link = machine.home / "link"
    link.symlink_to(machine.project)
    assert machine.trust.holds(link / "surefoot.toml", project_file.read_bytes())
    assert machine.trust.under(machine.project) == [project_file]
    assert not machine.trust.holds(project_file, b"")


def test_a_damaged_trust_file_is_an_error(machine: Machine) -> None:
    machine.write_project_config("[execution]\n")
    machine.trust.path.write_text("[1, 2")
    with pytest.raises(ConfigError, match=r"trust\.json"):
        machine.load()


def test_trusting_a_folder_without_config_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to trust"):
        project_config(tmp_path)


# -- invalid settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ("[execution]\nmax_plan_step = 3", 2, "max_plan_step is not a setting", "did you mean max_plan_steps?"),
        ("[exection]\nnetwork = true", 1, "no section [exection]", "did you mean [execution]?"),
        ("\n\nmax_tokens = 5", 3, "max_tokens is outside of any section", "it belongs under [budget]"),
        ("[execution]\nmax_tokens = 5", 2, "max_tokens is not a setting of [execution]", "belongs under [budget]"),
        ("[execution]\nmax_plan_steps = 0", 2, "must be a whole number from 1 to 10,000, not 0", ""),
        ("[execution]\nmax_plan_steps = '5'", 2, "must be a whole number from 1 to 10,000, not '5'", ""),
        ("[execution]\nmax_plan_steps = true", 2, "a whole number from 1 to 10,000, not true", ""),
        ("[execution]\nnetwork = 'yes'", 2, "must be true or false, not 'yes'", ""),
        ("[execution]\nsandbox = 'of'", 2, "must be one of auto, strict, off, not 'of'", ""),
        ("[execution]\nphases = 1", 2, "must be one of auto, full, plan", ""),
        ("[execution]\nsnapshot_excludes = 'x'", 2, "must be a list of texts", ""),
        ("[budget]\nmax_cost_usd = 0", 2, "must be a number above 0", ""),
        ("[budget]\nmax_cost_usd = nan", 2, "must be a number above 0", ""),
        ("[execution]\nmin_confidence_threshold = 1.5", 2, "must be a number from 0 to 1, not 1.5", ""),
        ("[execution]\nmax_output_tokens = 3", 2, "must be a whole number, at least 64", ""),
        ("[execution]\nstep_timeout_seconds = 2026-01-01", 2, "must be a number above 0", ""),
        ("execution = 3", 1, "execution is a section, not a value", "[execution]"),
        (
            "[execution]\n[execution.reflection]\nmax_step_retries = 1",
            2,
            "a section of its own",
            "[reflection]",
        ),
        ("[execution]\nx = 1\n", 2, "x is not a setting", "surefoot config"),
        ("[execution]\nnetwork = tru", 2, "not valid TOML", ""),
        ("[execution\nnetwork = true", 1, "not valid TOML", ""),
        ("[execution]\nnetwork = true\nnetwork = false", 3, "not valid TOML", ""),
        ("[model]\napi_key = 'abc'", 2, "secrets do not belong in a config file", "api_key_env"),
        ("[model]\nmodel = 'x'\napi_key_env = 'sk-123-456'", 3, "must be the name of an environment variable", ""),
    ],
)
def test_errors_in_files_name_the_line(machine: Machine, text: str, line: int, message: str, remedy: str) -> None:
    path = machine.write_user_config(text)
    with pytest.raises(ConfigError) as raised:
        machine.load()
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert message in str(raised.value)
    assert remedy in raised.value.remedy
    assert "sk-123" not in str(raised.value) + raised.value.remedy


def documented() -> list[Any]:
    """Every documented setting of the two sections with its allowed values."""
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    rows = []
    for section in ("execution", "reflection"):
        part = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        found = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", part, re.MULTILINE)
        rows += [pytest.param(section, name, allowed_values, id=f"{section}.{name}") for name, allowed_values in found]
    return rows


def edges(allowed_values: str) -> tuple[list[str], list[str]]:
    """Values at the limits: those just allowed and those just rejected, as TOML."""
    number = float if allowed_values.startswith("a number") else int
    numbers = [number(text.replace(",", "")) for text in re.findall(r"\d[\d,.]*", allowed_values)]
    match allowed_values.split(", or none")[0]:
        case "true or false":
            return ["true", "false"], ["1", '"yes"']
        case "text":
            return ['"make check"'], ['" "', "5"]
        case "a list of texts":
            return ["[]"], ["5", "[5]"]
        case choice if choice.startswith("one of "):
            return [f'"{word}"' for word in choice.removeprefix("one of ").split(", ")], ['"something else"', "1"]
        case span if " from " in span:
            low, high = numbers
            return [str(low), str(high)], [str(low - 1), str(high + 1), '"many"']
        case above if " above " in above:
            return ["0.001"], ["0", "-1"]
        case least if "at least" in least:
            return [str(numbers[0])], [str(numbers[0] - 1)]
    raise AssertionError(allowed_values)


@pytest.mark.req("R6")
@pytest.mark.parametrize(("section", "name", "allowed_values"), documented())
def test_every_setting_accepts_its_documented_values_and_rejects_others(
    machine: Machine, section: str, name: str, allowed_values: str
) -> None:
    allowed, refused = edges(allowed_values)
    for value in allowed:
        machine.write_user_config(f"[{section}]\n{name} = {value}\n")
        machine.load()
    for value in refused:
        machine.write_user_config(f"[{section}]\n{name} = {value}\n")
        with pytest.raises(ConfigError) as raised:
            machine.load()
        assert f"{name} must be {allowed_values}, not" in str(raised.value)
        assert "config.toml:2" in str(raised.value)


@pytest.mark.req("R6")
def test_every_setting_is_documented() -> None:
    known = {name for name, _ in known_fields() if name.startswith(("execution.", "reflection."))}
    assert {row.id for row in documented()} == known


def test_a_file_that_is_not_utf8_is_an_error_with_its_line(machine: Machine) -> None:
    machine.write_user_config("")
    path = machine.home / ".config/surefoot/config.toml"
    path.write_bytes(b"[execution]\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: this is not UTF-8"):
        machine.load()


def test_a_folder_in_place_of_the_config_file_is_an_error(machine: Machine) -> None:
    (machine.home / ".config/surefoot/config.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        machine.load()


@pytest.mark.parametrize(
    ("variable", "message", "remedy"),
    [
        ("SUREFOOT_EXECUTION__MAX_PLAN_STEP", "is not a setting", "SUREFOOT_EXECUTION__MAX_PLAN_STEPS"),
        ("SUREFOOT_MODLE", "is not a setting", "SUREFOOT_MODEL"),
        ("SUREFOOT_NOWHERE__AT_ALL", "is not a setting", "surefoot config"),
        ("SUREFOOT_EXECUTION__MAX_PLAN_STEPS", "SUREFOOT_EXECUTION__MAX_PLAN_STEPS: max_plan_steps must be", ""),
    ],
)
def test_invalid_variables_are_errors(variable: str, message: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_environment({variable: "many"})
    assert message in str(raised.value)
    assert remedy in raised.value.remedy


def test_unrelated_variables_are_ignored() -> None:
    assert from_environment({"SUREFOOT_HOME": "/x", "SUREFOOT_SOMETHING_ELSE": "1", "PATH": "/bin"}) == {}


def test_the_error_for_an_invalid_flag_names_the_flag(machine: Machine) -> None:
    with pytest.raises(ConfigError, match="--max-cost: max_cost_usd must be a number above 0"):
        machine.load({"budget.max_cost_usd": Sourced(-1.0, "--max-cost")})


def test_line_numbers_are_right_after_long_strings_comments_and_dotted_keys(machine: Machine) -> None:
    text = "# a comment\nbudget.max_tokens = 5\n[model]\n"
    text += 'model = """\n[execution]\nx = 1\n"""\n[execution]\n"network" = true\n'
    found = from_toml(machine.home / "c.toml", text.encode())
    lines = {name: item.source.rpartition(":")[2] for name, item in found.items()}
    assert lines == {"budget.max_tokens": "2", "model.model": "4", "execution.network": "9"}


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"[execution]\n{text}".encode()))
def test_any_content_is_either_read_or_a_config_error(content: bytes) -> None:
    with contextlib.suppress(ConfigError):
        from_toml(Path("c.toml"), content)


# -- paths ---------------------------------------------------------------------------------------------------------


def test_paths_follow_the_environment_and_are_not_created(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative", "XDG_CACHE_HOME": str(tmp_path / "c")}
    assert paths.state_home(environ) == tmp_path / ".local/share/surefoot"
    assert paths.user_config(environ) == tmp_path / ".config/surefoot/config.toml"
    assert paths.cache_home(environ) == tmp_path / "c/surefoot"
    assert paths.state_home({**environ, "SUREFOOT_HOME": str(tmp_path / "s")}) == tmp_path / "s"
    assert list(tmp_path.iterdir()) == []


def test_a_trust_file_that_cannot_be_written_is_an_error(machine: Machine) -> None:
    (machine.home / ".local").write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match="cannot write"):
        machine.trust.add(machine.project / "surefoot.toml", b"")
