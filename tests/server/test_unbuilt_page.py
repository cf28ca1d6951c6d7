"""An installation without the page, as from a clone in which it was not built: what is said, and what works."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

WITHOUT_PAGE = """
import sys
from pathlib import Path
from surefoot.server import page
page.FOLDER = Path("nowhere")
from surefoot.cli.main import main
sys.exit(main())
"""


def start(home: Path, *words: str) -> "subprocess.Popen[str]":
    environ = {"SUREFOOT_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    argv = [sys.executable, "-P", "-c", WITHOUT_PAGE, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(argv, env=environ, cwd=home, text=True, stdout=pipe, stderr=pipe)


def test_the_server_says_that_it_has_no_page_and_works(tmp_path: Path) -> None:
    with start(tmp_path, "serve", "--no-open", "--port", "0") as server:
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            address, _, token = server.stdout.readline().strip().partition("/#t=")
            warning = server.stderr.readline()
            assert "the page is not part of this installation; in a clone: make web" in warning
            with urllib.request.urlopen(address) as answer:
                assert b"The page is not part of this installation" in answer.read()
            request = urllib.request.Request(f"{address}/api/runs", headers={"authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)
        finally:
            server.kill()


def test_doctor_says_that_there_is_no_page(tmp_path: Path) -> None:
    with start(tmp_path, "doctor", "--json") as doctor:
        out, _ = doctor.communicate()
    (found,) = [item for item in map(json.loads, out.splitlines()) if item["what"] == "page"]
    assert found["ok"] is None
    assert "not part of this installation" in found["said"]
    assert "make web" in found["remedy"]
