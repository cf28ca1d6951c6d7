"""Every guard has a test that fails without it. The mutations are tried in `make mutations` and nightly."""

import re
from collections.abc import Iterator

import pytest

from mutations.copied_tree import COPIES, FAILED, PASSED, CopiedTree
from mutations.mutation import SOURCE, TESTS, Mutation, mutations, unknown_tests

ALL = list(mutations())
PAGE = (TESTS.parent / "docs" / "security.md").read_text()


def _name(mutation: Mutation) -> str:
    return mutation.guard


@pytest.mark.parametrize("mutation", ALL, ids=_name)
def test_mutation_fits_the_source_and_names_tests(mutation: Mutation) -> None:
    file = TESTS.parent / SOURCE / mutation.file
    mutated = mutation.applied_to(file.read_text())
    compile(mutated, mutation.file, "exec")
    assert mutation.tests
    assert unknown_tests(mutation.tests) == []


def test_every_guard_has_a_name_of_its_own() -> None:
    names = [mutation.guard for mutation in ALL]
    assert sorted(set(names)) == sorted(names)


def test_every_promise_of_the_security_page_has_a_mutation() -> None:
    """A row of a table names the tests of a promise. A mutation must be noticed by one of them."""
    noticing = {name.rpartition("/")[2].partition("[")[0] for mutation in ALL for name in mutation.tests}
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and "::test_" in line]
    without = [row[:90] for row in rows if noticing.isdisjoint(re.findall(r"`(test_\w+\.py::test_\w+)", row))]
    assert len(rows) > 60
    assert without == []


def test_the_security_page_has_the_number_of_mutations() -> None:
    assert f"{len(ALL)} mutations" in PAGE


@pytest.fixture(scope="module")
def tree(worker_id: str) -> Iterator[CopiedTree]:
    copied = CopiedTree(COPIES / worker_id)
    copied.make()
    yield copied
    copied.remove()


@pytest.mark.nightly
def test_named_tests_pass_without_a_mutation(tree: CopiedTree) -> None:
    """Otherwise a failure would say nothing about the guard."""
    names = sorted({name for mutation in ALL for name in mutation.tests})
    ran = tree.run_tests(names)
    assert ran.code == PASSED, ran.output


@pytest.mark.nightly
@pytest.mark.parametrize("mutation", ALL, ids=_name)
def test_guard_that_is_off_is_noticed(tree: CopiedTree, mutation: Mutation) -> None:
    with tree.mutated(mutation):
        ran = tree.run_tests(mutation.tests, "-x", seconds=mutation.seconds)
    assert ran.code in (PASSED, FAILED, None), f"the tests could not be run: {ran.output}"
    assert ran.noticed, f"no test fails although this guard is off: {mutation.guard}"
