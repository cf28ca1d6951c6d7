"""`surefoot show --proofs`, after a real run."""

import pytest

from cli.conftest import Surefoot
from support.stories import CHECK, good_script


@pytest.mark.req("X1", "O7")
def test_a_proof_lists_its_inputs_and_which_of_them_changed(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot)).code == 0
    output = surefoot("show", "--proofs").out
    assert "adder.py parses  failed before" in output
    assert f"{CHECK}  failed before, exit code 0, output " in output
    assert "based on: the whole workspace" in output
    assert "changed since" not in output
    (surefoot.workspace / "notes.txt").write_text("a command may read it, the parse check does not")
    proofs = surefoot("show", "--proofs", "--json").objects
    last = {proof["check"]["kind"]: proof["changed_since"] for proof in proofs if proof["step"] == "the last pass"}
    assert last == {"command": ["the workspace"], "parses": []}
