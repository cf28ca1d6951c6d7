"""The import direction inside the command line: report < views < session < commands < app."""

import re
from pathlib import Path

import pytest

CLI = Path(__file__).parents[2] / "src" / "surefoot" / "cli"
LAYERS = ("report", "views", "session", "commands")


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_itself_and_the_layers_below_it(layer: str) -> None:
    """Imports inside functions count too."""
    above = {*LAYERS[LAYERS.index(layer) + 1 :], "app", "main"}
    for path in (CLI / layer).rglob("*.py"):
        imported = set(re.findall(r"surefoot\.cli\.(\w+)", path.read_text()))
        assert not imported & above, f"{path.name} imports {imported & above}"
