"""Which names make a file a test: the conventions of runners, and names that only look like them."""

import pytest

from surefoot.project.test_files import found_alike, is_test, is_test_file

_TESTS = """
test.js test.mjs test.cjs test.ts test.mts test.cts tests.js test-x.js test-x.mts x-test.js x_test.js x-test.cjs
x.test.js x.test.ts x.test.tsx x.spec.jsx x_spec.ts spec.js x.cy.ts x.e2e.js x.e2e-spec.ts src/deep/x.test.mjs
test_x.py x_test.py x_tests.py test.py tests.py app/tests.py testcalc.py testCalc.py test1.py
x_test.go x_test.rs src/parser/tests.rs test_x.rs
x_test.rb test_x.rb x_spec.rb test.rb x_spec.cr
XTest.java XTests.java XTestCase.java TestX.java XIT.java XITCase.java XTest.kt XSpec.kt XSpec.groovy XSuite.scala
XSpec.scala XTest.cs XTests.cs XTests.fs XTests.swift XTest.mm
XTest.php x_test.php test.php XSpec.php XCest.php x.phpt
t/x.t x.t x_test.pl test.pl test_x.lua x_test.lua x_spec.lua x_test.R test-x.R test_x.r testthat.R
x_test.c test_x.c test.c x-test.c x_test.cc x_test.cpp XTest.cpp x_unittest.cc x_test.h
x_test.sh test.sh tests.sh test_x.sh test-x.sh x-test.sh x.test.sh x_test.bash x_spec.sh x.bats X.Tests.ps1
x_test.exs x_test.dart x_SUITE.erl x_test.clj runtests.jl XSpec.hs test_x.ml test_x.nim x_test.zig x_test.rego
login.feature login.robot
"""
_OTHERS = """
latest.js contest.py attestation.sh testing.md test_data.csv testimonials.py testing.py testing_tools.py tester.py
testament.py testutils.py fastest.go greatest.rb Contest.java Latest.kt Testament.java LATEST.cpp Attestation.swift
protest.php contest.lua inquest.c manifest.ts request.js x_tested.py spec.py spec.md openapi-spec.json api.spec.yaml
model_spec.py test.md test.json test.txt tests.csv test.html test.css test test_x x_test README.tests latest_test
run_tests.sh run-tests.sh run_test.bash unit.cs it.java IT.txt .test .test.js.swp x.t.txt suite.scala index.js
"""


@pytest.mark.req("X13")
@pytest.mark.parametrize("path", _TESTS.split())
def test_what_a_runner_finds_is_a_test(path: str) -> None:
    assert is_test_file(path)
    assert is_test(path)


@pytest.mark.parametrize("path", _OTHERS.split())
def test_other_files_are_no_tests(path: str) -> None:
    assert not is_test_file(path)
    assert not is_test(path)


@pytest.mark.parametrize(
    "path",
    ["tests/data.csv", "test/x.js", "spec/helper.rb", "src/__tests__/x.ts", "Tests/XTests/Helper.swift",
     "src/test/java/Helper.java", "tests/x.sh", "e2e/x.ts", "a/__mocks__/b.js", "conftest.py", "pkg/conftest.py"],
)  # fmt: skip
def test_what_is_among_tests_counts_without_a_name_of_a_test(path: str) -> None:
    assert is_test(path)
    assert not is_test_file(path)


@pytest.mark.parametrize(
    ("path", "other", "same"),
    [
        ("test_x.py", "tests/test_y.py", True),
        ("x.test.js", "y.test.js", True),
        ("test_x.py", "x_test.py", False),
        ("x.test.js", "x.test.ts", False),
        ("test.js", "check.js", False),
    ],
)
def test_a_runner_finds_another_name_by_the_same_convention(path: str, other: str, same: bool) -> None:
    assert found_alike(path, other) is same
