"""The snippets of docs/tools.md run, in order, as one script."""

import os
import re
import subprocess
import sys
from pathlib import Path

from surefoot.tools import default_toolbox

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")


def test_all_snippets_run(tmp_path: Path) -> None:
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(snippets) >= 5
    script = tmp_path / "page.py"
    script.write_text("\n".join(snippets), "utf-8")
    environ = {**os.environ, "SUREFOOT_HOME": str(tmp_path.with_name("state"))}
    result = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environ, text=True, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "a.txt").read_text() == "stamped\n"


def test_the_table_lists_every_built_in_tool_with_its_parameters() -> None:
    listed = set(re.findall(r"^\| `(\w+\([^`]*\))` \|", PAGE, re.MULTILINE))
    assert listed == {tool.signature.replace("*", "") for tool in default_toolbox()}
