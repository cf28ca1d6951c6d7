"""Which files are tests by their names: the conventions of the test runners of many languages. Pure.

This is the one definition. It decides what a run may not weaken, what the final checks see as it was before the run,
and what prompts call a test. A name counts if a common runner takes such a file for a test wherever it is.
"""

import re
from fnmatch import translate
from functools import lru_cache

TEST_FOLDERS = frozenset({"tests", "test", "spec", "__tests__", "__mocks__", "e2e", "Tests"})

_MARKED = ("test_*", "test-*", "*_test", "*-test", "*.test", "*_tests", "*-tests", "*.tests", "test", "tests")
_SPECS = ("*_spec", "*.spec")
_CAMEL = ("*Test", "*Tests", "*TestCase", "Test[A-Z]*")
_CONVENTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # node --test finds all of the first line by itself, jest the next two, bun and deno those with an underscore.
    ("js jsx mjs cjs ts tsx mts cts coffee", (
        *_MARKED, *_SPECS, "spec", "*.cy", "*.e2e", "*.test-d", "*.e2e-spec",
    )),
    # unittest finds `test*.py`. Words that only begin like this are not tests.
    ("py", ("test_*", "*_test", "*_tests", "tests", "test", "test[a-zA-Z0-9]*")),
    ("go", ("*_test",)),
    ("rs", ("*_test", "*_tests", "test_*", "tests", "test")),
    ("rb", ("*_test", "test_*", "*_spec", "test", "tests")),
    ("cr", ("*_spec",)),
    ("java kt kts groovy scala", (*_CAMEL, "*IT", "*ITCase", "IT[A-Z]*", "*Spec", "*Specs", "*Suite")),
    ("cs fs vb", (*_CAMEL, "*Spec", "*Specs")),
    ("swift m mm", (*_CAMEL, "*Spec")),
    ("php", (*_MARKED, *_CAMEL, "*Spec", "*Cest")),
    ("phpt t bats feature robot", ("*",)),
    ("pl pm", _MARKED),
    ("lua", (*_MARKED, *_SPECS)),
    ("r R", (*_MARKED, "testthat")),
    ("c cc cpp cxx c++ h hh hpp", (*_MARKED, *_CAMEL, "*_unittest", "*_unittests")),
    ("sh bash zsh ksh fish nu", (*_MARKED, "*_spec")),
    ("ps1", ("*.Tests", "*.tests")),
    ("ex exs", ("*_test",)),
    ("erl", ("*_SUITE", "*_tests", "*_test")),
    ("dart", ("*_test",)),
    ("clj cljs cljc", ("*_test",)),
    ("jl", (*_MARKED, "runtests")),
    ("hs", ("*Spec", "*Test", "*Tests")),
    ("ml", ("test_*", "*_test", "*_tests")),
    ("nim", ("test_*", "*_test")),
    ("zig", ("*_test", "*_tests", "test_*", "tests", "test")),
    ("rego", ("*_test",)),
    ("sql", ("*_test", "test_*", "*.test")),
    ("tcl", _MARKED),
)  # fmt: skip
"""Stems of names by the ends of the names."""
_BY_SUFFIX = {
    suffix: tuple(re.compile(translate(stem)) for stem in stems)
    for suffixes, stems in _CONVENTIONS
    for suffix in suffixes.split()
}
_OTHER = re.compile(
    r"(?:run|runs|latest)[_-]tests?\.(?:sh|bash|zsh|ksh|fish|nu)"  # runners, which decide as scripts of checks do
    r"|test(?:able|ament|ed|ers?|ify|imony|imonials?|bed|bench|ing\w*|s?utils?|s?helpers?)\.py"
)
"""Names of files that are no tests although a pattern fits."""


def is_test(path: str) -> bool:
    """Whether a file is a test: by its name, or because it is in a folder of tests, where it may be data of tests."""
    return is_test_file(path) or in_test_folder(path) or path.rpartition("/")[2] == "conftest.py"


def is_test_file(path: str) -> bool:
    """Whether a runner takes the file for a test by its name."""
    return bool(_patterns_of(path.rpartition("/")[2]))


def found_alike(path: str, other: str) -> bool:
    """Whether two files are tests by the same convention, so that a runner that finds one name finds the other."""
    suffixes = {name.rpartition(".")[2] for name in (path, other)}
    names = (path.rpartition("/")[2], other.rpartition("/")[2])
    return len(suffixes) == 1 and not _patterns_of(names[0]).isdisjoint(_patterns_of(names[1]))


def in_test_folder(path: str) -> bool:
    return not TEST_FOLDERS.isdisjoint(path.split("/")[:-1])


@lru_cache(maxsize=8_192)
def _patterns_of(name: str) -> frozenset[re.Pattern[str]]:
    """Return the patterns that a name fits."""
    stem, _, suffix = name.rpartition(".")
    if not stem or _OTHER.fullmatch(name):
        return frozenset()
    return frozenset(pattern for pattern in _BY_SUFFIX.get(suffix, ()) if pattern.match(stem))
