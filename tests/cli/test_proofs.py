"""`surefoot show --proofs`, after a real run."""

import pytest

from cli.conftest import Surefoot
from cli.stories import CHECK, good_script


@pytest.mark.req("X1", "O7")
def test_a_proof_tells_what_it_was_found_on_and_when_that_is_over(surefoot: Surefoot) -> None:
    assert surefoot(*good_script(surefoot)).code == 0
    told = surefoot("show", "--proofs").out
    assert "adder.py parses  failed before" in told
    assert f"{CHECK}  failed before, exit code 0, output " in told
    assert "found on: the whole workspace" in told
    assert "changed since" not in told
    (surefoot.workspace / "notes.txt").write_text("unrelated to the file, not to the command")
    proofs = surefoot("show", "--proofs", "--json").objects
    last = {proof["check"]["kind"]: proof["changed_since"] for proof in proofs if proof["step"] == "the last pass"}
    assert last == {"command": ["the workspace"], "parses": []}
