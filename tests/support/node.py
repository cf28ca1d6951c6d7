"""Packages from npm that tests use, installed into `.tools/js` when they are first needed."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OWN = ROOT / ".tools" / "js"


def node_package(name: str, version: str) -> Path:
    """The folder whose node_modules have a package. Without Node and npm the test is skipped, in the CI it fails."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        assert not os.environ.get("CI"), "node and npm are missing"
        pytest.skip(f"node and npm are needed for the test with {name}")
    own = OWN / name.replace("/", "+")
    for folder in (ROOT / "web", own):
        if (folder / "node_modules" / name).is_dir():
            return folder
    OWN.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=OWN))
    words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(new), f"{name}@{version}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with contextlib.suppress(OSError):  # another process was first
        new.rename(own)
    shutil.rmtree(new, ignore_errors=True)
    return own
