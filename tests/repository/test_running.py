"""The tests as `make` runs them: the variables that it sets, and what the end of a test run says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.config.sources import from_environment

ROOT = Path(__file__).parents[2]


def test_make_sets_no_variable_that_surefoot_takes_for_a_wrong_setting() -> None:
    """Processes that tests start would refuse it; workers would try again without end."""
    variables = re.findall(r"\b([A-Z][A-Z_]+)=\S", (ROOT / "Makefile").read_text())
    assert any(variable.endswith("_NIGHTLY") for variable in variables)
    assert from_environment(dict.fromkeys(variables, "1")) == {}


@pytest.mark.slow
def test_the_end_of_a_test_run_names_the_servers(tmp_path: Path) -> None:
    """Also with tests in other processes."""
    test = "tests/integrations/redis/test_recovery.py::test_errors_name_the_remedy_and_no_password"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words = [sys.executable, "-m", "pytest", "-q", "-n", "1", f"--basetemp={tmp_path / 'own'}", test]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^servers: Valkey \d+\.\d+\.\d+$", done.stdout, re.MULTILINE), done.stdout
