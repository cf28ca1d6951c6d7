"""Settings: which layer wins, where each value came from, and how a wrong one is refused."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import paths
from surefoot.config import PhasePolicy
from surefoot.errors import ConfigError, UsageError
from surefoot.settings import Settings, Sourced, find_project_config, load, variable_of
from surefoot.settings.fields import known_fields
from surefoot.settings.sources import from_environment, from_toml
from surefoot.trust import TrustStore, project_config


class Place:
    """A home, a project in it, and the variables that lead there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.environ = {"HOME": str(self.home)}

    def user(self, text: str) -> Path:
        path = self.home / ".config/surefoot/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def own(self, text: str, *, trusted: bool = True) -> Path:
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
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# -- layers --------------------------------------------------------------------------------------------------------


def test_defaults_say_that_they_are_defaults(place: Place) -> None:
    settings = place.load()
    assert settings.execution.max_plan_steps == 12
    assert {item.source for item in settings.listed.values()} == {"default"}
    assert settings.notices == ()


@pytest.mark.req("R6")
def test_the_reflection_section_reaches_the_engine_s_config(place: Place) -> None:
    place.user(
        "[reflection]\nenable_step_level_reflection = false\nmax_step_retries = 5\nmax_task_replanning_attempts = 0\n"
    )
    reflection = place.load().execution.reflection
    assert not reflection.enable_step_level_reflection
    assert (reflection.max_step_retries, reflection.max_task_replanning_attempts) == (5, 0)


def test_each_layer_beats_the_ones_below_it_and_is_named_as_the_source(place: Place) -> None:
    user = place.user(
        "\n[execution]\nmax_plan_steps = 20\nmax_actions_per_step = 21\nnetwork = true\nphases = 'full'\n"
    )
    own = place.own("[execution]\nmax_plan_steps = 30\n\nmax_actions_per_step = 31\nnetwork = false\n")
    flags = {"execution.max_plan_steps": Sourced(50, "--steps")}
    settings = place.load(flags, SUREFOOT_EXECUTION__MAX_PLAN_STEPS="40", SUREFOOT_EXECUTION__MAX_ACTIONS_PER_STEP="41")
    config = settings.execution
    assert (config.max_plan_steps, config.max_actions_per_step, config.network) == (50, 41, False)
    assert config.phases is PhasePolicy.FULL
    assert settings.source("execution.max_plan_steps") == "--steps"
    assert settings.source("execution.max_actions_per_step") == "SUREFOOT_EXECUTION__MAX_ACTIONS_PER_STEP"
    assert settings.source("execution.network") == f"{own}:5"
    assert settings.source("execution.phases") == f"{user}:6"
    assert settings.source("execution.dynamic") == "default"


def test_a_value_equal_to_the_default_still_knows_where_it_was_set(place: Place) -> None:
    user = place.user("[execution]\nnetwork = false\n")
    assert place.load().source("execution.network") == f"{user}:2"


def test_the_model_has_a_short_variable(place: Place) -> None:
    place.user("[model]\nmodel = 'openai/gpt-5.4-mini'\n")
    settings = place.load(SUREFOOT_MODEL="ollama/qwen3")
    assert settings.listed["model.model"] == Sourced("ollama/qwen3", "SUREFOOT_MODEL")
    assert settings.model.model == "openai/gpt-5.4-mini", "which key goes where is decided by what the files say"


def test_a_project_that_names_its_own_server_does_not_get_the_user_s_key(place: Place) -> None:
    place.user("[model]\nmodel = 'big'\nbase_url = 'https://models.example/v1'\napi_key_env = 'MY_KEY'\n")
    place.own("[model]\ncontext_tokens = 4096\n")
    model = place.load().model
    assert (model.base_url, model.api_key_env, model.context_tokens) == ("https://models.example/v1", "MY_KEY", 4096)
    place.own("[model]\nbase_url = 'http://127.0.0.1:9/v1'\n")
    model = place.load().model
    assert (model.model, model.base_url, model.api_key_env) == (None, "http://127.0.0.1:9/v1", None)


def test_every_setting_can_be_given_by_its_variable() -> None:
    names = [name for name, _ in known_fields()]
    assert len({variable_of(name) for name in names}) == len(names)
    for name in names:
        assert variable_of(name).startswith("SUREFOOT_")


def test_variables_hold_text_that_means_other_types() -> None:
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


# -- the project's own file ----------------------------------------------------------------------------------------


def test_an_untrusted_project_changes_nothing_and_says_how_to_trust_it(place: Place) -> None:
    own = place.own("[execution]\nsandbox = 'off'\nnetwork = true\n", trusted=False)
    settings = place.load()
    assert (settings.execution.sandbox, settings.execution.network) == ("auto", False)
    assert settings.notices == (f"{own} is not trusted and is ignored; to use it: surefoot trust {place.project}",)


def test_a_changed_file_must_be_trusted_again(place: Place) -> None:
    own = place.own("[execution]\nmax_plan_steps = 3\n")
    assert place.load().execution.max_plan_steps == 3
    own.write_text("[execution]\nmax_plan_steps = 4\n")
    settings = place.load()
    assert settings.execution.max_plan_steps == 12
    assert "has changed since it was trusted" in settings.notices[0]
    place.trust.remove(own)
    assert "is not trusted" in place.load().notices[0]


def test_an_untrusted_file_is_not_even_read_as_settings(place: Place) -> None:
    place.own("this is not toml", trusted=False)
    assert "not trusted" in place.load().notices[0]


def test_a_copy_elsewhere_is_not_trusted_with_the_original(place: Place) -> None:
    own = place.own("[execution]\nmax_plan_steps = 3\n")
    other = place.home / "other"
    other.mkdir()
    (other / "surefoot.toml").write_bytes(own.read_bytes())
    assert load(other, None, place.environ).execution.max_plan_steps == 12


def test_the_config_is_looked_for_up_to_the_root_of_the_repository(place: Place) -> None:
    (place.project / ".git").mkdir()
    deep = place.project / "a/b"
    deep.mkdir(parents=True)
    (place.home / "surefoot.toml").write_text("")
    assert find_project_config(deep, place.environ) is None
    (place.project / ".surefoot").mkdir()
    inside = place.project / ".surefoot/config.toml"
    inside.write_text("")
    assert find_project_config(deep, place.environ) == inside
    nearer = place.project / "a/surefoot.toml"
    nearer.write_text("")
    assert find_project_config(deep, place.environ) == nearer


def test_without_a_repository_it_is_looked_for_up_to_the_home(place: Place) -> None:
    at_home = place.home / "surefoot.toml"
    at_home.write_text("")
    assert find_project_config(place.project, place.environ) == at_home


def test_outside_of_both_only_the_workspace_counts(place: Place, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "work").mkdir(parents=True)
    (shared / "surefoot.toml").write_text("")
    assert find_project_config(shared / "work", place.environ) is None


def test_trust_is_kept_through_links_and_survives_nothing_else(place: Place) -> None:
    own = place.own("[execution]\n")
    link = place.home / "link"
    link.symlink_to(place.project)
    assert place.trust.holds(link / "surefoot.toml", own.read_bytes())
    assert place.trust.under(place.project) == [own]
    assert not place.trust.holds(own, b"")


def test_a_broken_trust_file_is_named(place: Place) -> None:
    place.own("[execution]\n")
    place.trust.path.write_text("[1, 2")
    with pytest.raises(ConfigError, match=r"trust\.json"):
        place.load()


def test_there_must_be_something_to_trust(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to trust"):
        project_config(tmp_path)


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said", "remedy"),
    [
        ("[execution]\nmax_plan_step = 3", 2, "max_plan_step is not a setting", "did you mean max_plan_steps?"),
        ("[exection]\nnetwork = true", 1, "no section [exection]", "did you mean [execution]?"),
        ("\n\nmax_tokens = 5", 3, "max_tokens stands outside of any section", "it belongs under [budget]"),
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
        ("[execution]\n[execution.reflection]\nmax_step_retries = 1", 2, "a section of its own", "[reflection]"),
        ("[execution]\nx = 1\n", 2, "x is not a setting", "surefoot config"),
        ("[execution]\nnetwork = tru", 2, "not valid TOML", ""),
        ("[execution\nnetwork = true", 1, "not valid TOML", ""),
        ("[execution]\nnetwork = true\nnetwork = false", 3, "not valid TOML", ""),
        ("[model]\napi_key = 'abc'", 2, "secrets do not belong in a config file", "api_key_env"),
        ("[model]\nmodel = 'x'\napi_key_env = 'sk-123-456'", 3, "must be the name of an environment variable", ""),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(place: Place, text: str, line: int, said: str, remedy: str) -> None:
    path = place.user(text)
    with pytest.raises(ConfigError) as refused:
        place.load()
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert said in str(refused.value)
    assert remedy in refused.value.remedy
    assert "sk-123" not in str(refused.value) + refused.value.remedy


def documented() -> list[Any]:
    """Every setting of the two sections with what the documentation says it may be."""
    page = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text()
    rows = []
    for section in ("execution", "reflection"):
        part = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
        found = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", part, re.MULTILINE)
        rows += [pytest.param(section, name, may_be, id=f"{section}.{name}") for name, may_be in found]
    return rows


def edges(may_be: str) -> tuple[list[str], list[str]]:
    """Values at the edges of what is allowed: those that still are, and those that no longer are; as TOML."""
    number = float if may_be.startswith("a number") else int
    numbers = [number(text.replace(",", "")) for text in re.findall(r"\d[\d,.]*", may_be)]
    match may_be.split(", or none")[0]:
        case "true or false":
            return ["true", "false"], ["1", '"yes"']
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
    raise AssertionError(may_be)


@pytest.mark.req("R6")
@pytest.mark.parametrize(("section", "name", "may_be"), documented())
def test_every_setting_takes_what_is_documented_and_refuses_the_rest_naming_the_range(
    place: Place, section: str, name: str, may_be: str
) -> None:
    allowed, refused = edges(may_be)
    for value in allowed:
        place.user(f"[{section}]\n{name} = {value}\n")
        place.load()
    for value in refused:
        place.user(f"[{section}]\n{name} = {value}\n")
        with pytest.raises(ConfigError) as caught:
            place.load()
        assert f"{name} must be {may_be}, not" in str(caught.value)
        assert "config.toml:2" in str(caught.value)


@pytest.mark.req("R6")
def test_no_setting_is_left_undocumented() -> None:
    known = {name for name, _ in known_fields() if name.startswith(("execution.", "reflection."))}
    assert {row.id for row in documented()} == known


def test_text_that_is_not_utf8_is_refused_with_its_line(place: Place) -> None:
    place.user("")
    path = place.home / ".config/surefoot/config.toml"
    path.write_bytes(b"[execution]\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: this is not UTF-8"):
        place.load()


def test_a_folder_where_the_config_should_be_is_refused(place: Place) -> None:
    (place.home / ".config/surefoot/config.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read"):
        place.load()


@pytest.mark.parametrize(
    ("variable", "said", "remedy"),
    [
        ("SUREFOOT_EXECUTION__MAX_PLAN_STEP", "is not a setting", "SUREFOOT_EXECUTION__MAX_PLAN_STEPS"),
        ("SUREFOOT_MODLE", "is not a setting", "SUREFOOT_MODEL"),
        ("SUREFOOT_NOWHERE__AT_ALL", "is not a setting", "surefoot config"),
        ("SUREFOOT_EXECUTION__MAX_PLAN_STEPS", "SUREFOOT_EXECUTION__MAX_PLAN_STEPS: max_plan_steps must be", ""),
    ],
)
def test_wrong_variables_are_refused(variable: str, said: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_environment({variable: "many"})
    assert said in str(refused.value)
    assert remedy in refused.value.remedy


def test_other_programs_variables_are_left_alone() -> None:
    assert from_environment({"SUREFOOT_HOME": "/x", "SUREFOOT_SOMETHING_ELSE": "1", "PATH": "/bin"}) == {}


def test_a_wrong_flag_is_told_by_its_name(place: Place) -> None:
    with pytest.raises(ConfigError, match="--max-cost: max_cost_usd must be a number above 0"):
        place.load({"budget.max_cost_usd": Sourced(-1.0, "--max-cost")})


def test_lines_are_found_behind_long_strings_comments_and_dotted_keys(place: Place) -> None:
    text = "# a comment\nbudget.max_tokens = 5\n[model]\n"
    text += 'model = """\n[execution]\nx = 1\n"""\n[execution]\n"network" = true\n'
    found = from_toml(place.home / "c.toml", text.encode())
    lines = {name: item.source.rpartition(":")[2] for name, item in found.items()}
    assert lines == {"budget.max_tokens": "2", "model.model": "4", "execution.network": "9"}


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"[execution]\n{text}".encode()))
def test_no_content_gets_past_as_anything_but_settings_or_a_clear_refusal(content: bytes) -> None:
    with contextlib.suppress(ConfigError):
        from_toml(Path("c.toml"), content)


# -- places --------------------------------------------------------------------------------------------------------


def test_places_follow_the_environment_and_are_not_made_by_asking(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative", "XDG_CACHE_HOME": str(tmp_path / "c")}
    assert paths.state_home(environ) == tmp_path / ".local/share/surefoot"
    assert paths.user_config(environ) == tmp_path / ".config/surefoot/config.toml"
    assert paths.cache_home(environ) == tmp_path / "c/surefoot"
    assert paths.state_home({**environ, "SUREFOOT_HOME": str(tmp_path / "s")}) == tmp_path / "s"
    assert list(tmp_path.iterdir()) == []


def test_trust_that_cannot_be_written_is_told(place: Place) -> None:
    (place.home / ".local").write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match="cannot write"):
        place.trust.add(place.project / "surefoot.toml", b"")
