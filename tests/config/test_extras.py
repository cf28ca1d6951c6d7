"""The extras: their table, whether they are installed, and the command that installs one here."""

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from surefoot.config.extras import EXTRAS, install_command, install_remedy, is_installed

ROOT = Path(__file__).parents[2]
METADATA = """\
Metadata-Version: 2.4
Name: surefoot
Version: 9.9
Requires-Dist: click>=8.2
Requires-Dist: anthropic>=2.5; extra == 'anthropic'
Requires-Dist: psycopg[binary]>=3.3; extra == 'postgres'
Requires-Dist: surefoot[postgres]; extra == 'temporal'
Requires-Dist: temporalio>=1.35; extra == 'temporal'
"""


def test_every_extra_is_known_and_documented() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["optional-dependencies"])
    assert set(EXTRAS) == declared
    documented = re.findall(r"^\| `(\w+)` \| .* \|$", section("Extras"), re.MULTILINE)
    assert sorted(documented) == sorted(declared)


def section(title: str) -> str:
    text = (ROOT / "docs/configuration.md").read_text()
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_no_other_remedy_names_an_index() -> None:
    """Surefoot need not be on an index: what to install is asked of `install_remedy`."""
    sources = [path for path in (ROOT / "src/surefoot").rglob("*.py") if path.name != "extras.py"]
    assert [path.name for path in sources if re.search(r"surefoot\[\w+\]", path.read_text())] == []
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    assert [path.name for path in pages if "install 'surefoot[" in path.read_text()] == []


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that Surefoot was installed into an environment of its own, from `origin`."""
    prefix = tmp_path / "surefoot"
    packages = prefix / "lib"
    folder = packages / "surefoot-9.9.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(METADATA)
    monkeypatch.syspath_prepend(packages)
    monkeypatch.setattr(sys, "prefix", str(prefix))
    monkeypatch.setattr(sys, "executable", str(prefix / "bin/python"))

    def install(origin: dict[str, Any] | None = None, **files: str) -> Path:
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))
        for name, text in files.items():
            (prefix / name.replace("__", ".").replace("uv_", "uv-")).write_text(text)
        return prefix

    return install


def test_from_a_checkout_a_wheel_git_and_an_index(
    installed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, wheel = tmp_path / "a checkout", tmp_path / "surefoot-9.9-py3-none-any.whl"
    checkout.mkdir()
    wheel.touch()
    python = str(tmp_path / "surefoot/bin/python")

    def target() -> list[str]:
        words = shlex.split(install_command("anthropic"))
        assert words[:4] == [python, "-m", "pip", "install"]
        return words[4:]

    installed()
    assert target() == ["surefoot[anthropic]"]
    folder = {"url": checkout.as_uri(), "dir_info": {"editable": True}}
    installed(folder)
    assert target() == ["-e", f"{checkout}[anthropic]"]
    installed({**folder, "dir_info": {}})
    assert target() == [f"{checkout}[anthropic]"]
    installed({"url": wheel.as_uri(), "archive_info": {}})
    assert target() == [f"{wheel}[anthropic]"]
    wheel.unlink()
    assert target() == ["anthropic>=2.5"], "what it was installed from is gone, its packages are not"
    installed({"url": "https://example.org/surefoot.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert target() == ["surefoot[anthropic] @ git+https://example.org/surefoot.git@abc"]
    installed({"url": "https://example.org/surefoot-9.9.whl", "archive_info": {}})
    assert target() == ["surefoot[anthropic] @ https://example.org/surefoot-9.9.whl"]
    # In an environment that is active, plain pip is the right one.
    beside = tmp_path / "surefoot/bin/pip"
    beside.parent.mkdir()
    beside.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(beside.parent))
    assert install_command("anthropic").startswith("pip install ")
    # An environment that uv made has no pip.
    monkeypatch.setitem(sys.modules, "pip", None)
    assert shlex.split(install_command("anthropic"))[:5] == ["uv", "pip", "install", "--python", python]


def test_with_pipx_the_packages_are_injected(installed: Any) -> None:
    installed({"url": "file:///gone", "dir_info": {}}, pipx_metadata__json="{}")
    assert install_command("anthropic") == "pipx inject surefoot 'anthropic>=2.5'"
    assert install_command("temporal") == "pipx inject surefoot 'psycopg[binary]>=3.3' 'temporalio>=1.35'"


def test_with_uv_tool_the_extras_that_are_there_stay(installed: Any, tmp_path: Path) -> None:
    own = '{ name = "surefoot", extras = ["server"], directory = "x" }'
    receipt = f'[tool]\nrequirements = [{own}, {{ name = "rich" }}]\n'
    installed({"url": tmp_path.as_uri(), "dir_info": {}}, uv_receipt__toml=receipt)
    words = shlex.split(install_command("anthropic"))
    assert words == ["uv", "tool", "install", "--force", f"{tmp_path}[server,anthropic]", "--with", "rich"]


def test_an_extra_is_installed_if_all_its_modules_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(map(is_installed, EXTRAS)), "the tests have all of them"
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", None)
    assert [name for name in EXTRAS if not is_installed(name)] == ["server", "otel"]
    assert install_remedy("server") == f"install the extra server: {install_command('server')}"
