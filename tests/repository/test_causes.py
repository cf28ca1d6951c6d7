"""The causes of errors of the set-up: all of them are documented, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

from surefoot.errors import SurefootError

PAGE = Path(__file__).parents[2] / "docs/models.md"


def kinds(kind: type[SurefootError]) -> Iterator[type[SurefootError]]:
    for other in kind.__subclasses__():
        yield other
        yield from kinds(other)


def test_the_documentation_lists_every_cause() -> None:
    causes = {kind.cause for kind in kinds(SurefootError) if kind.__module__ == SurefootError.__module__} - {""}
    table = PAGE.read_text().partition("| cause |")[2].partition("\n\n")[0]
    documented = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(documented) == sorted(causes)
