"""The wheel has the page, and an installation in a new virtual environment serves it without Node."""

import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "surefoot" / "server" / "static"
UV = ROOT / ".tools" / "bin" / "uv"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built by way of a source distribution, as it would be published."""
    if not (STATIC / "index.html").is_file():
        assert not os.environ.get("CI"), "the page is not built"
        pytest.skip("the page is not built: make web")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([UV, "build", "--quiet", "--out-dir", folder, ROOT], check=True, timeout=600)
    (found,) = folder.glob("*.whl")
    return found


@pytest.mark.nightly
def test_the_wheel_has_the_page_and_the_template_of_the_report(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.removeprefix("surefoot/server/static/") for name in archive.namelist()}
    built = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert {"index.html", "report.html"} <= built
    assert built <= names


@pytest.mark.nightly
def test_an_installed_wheel_serves_the_page(wheel: Path, tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, tmp_path / "env"], check=True, timeout=600)
    words: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", python, f"{wheel}[server]"]
    subprocess.run(words, check=True, timeout=600)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SUREFOOT_HOME": str(tmp_path / "home")}
    command: list[str | Path] = [python.with_name("surefoot"), "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base = server.stdout.readline().split("#")[0]
            with urllib.request.urlopen(base, timeout=60) as answer:
                page = answer.read().decode()
            (script,) = re.findall(r'src="\.?/(assets/[^"]+\.js)"', page)
            with urllib.request.urlopen(base + script, timeout=60) as answer:
                assert len(answer.read()) > 100_000
        finally:
            server.terminate()
