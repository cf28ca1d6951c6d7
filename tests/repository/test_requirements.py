"""Every requirement that is built has a test, and every marked requirement exists."""

import pytest

from support.requirements import marked_tests, requirements

KNOWN = {requirement.id: requirement for requirement in requirements()}


def test_page_lists_the_requirements_of_all_groups_without_gaps() -> None:
    groups = {"P": 21, "R": 10, "A": 15, "D": 11, "O": 13, "X": 14}
    assert list(KNOWN) == [f"{group}{n}" for group, count in groups.items() for n in range(1, count + 1)]


@pytest.mark.parametrize("requirement", KNOWN)
def test_requirement_has_a_test_if_and_only_if_it_is_built(requirement: str) -> None:
    tests = marked_tests().get(requirement, [])
    if KNOWN[requirement].is_built:
        assert tests, f"no test proves {requirement}: {KNOWN[requirement].text}"
    else:
        assert not tests, f"docs/requirements.md says that {requirement} is not built yet, but tests prove it"


def test_tests_name_only_requirements_that_exist() -> None:
    assert marked_tests().keys() <= KNOWN.keys()
