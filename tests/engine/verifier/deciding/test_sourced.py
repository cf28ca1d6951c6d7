"""What shell tests source, and whether it decides what they find."""

import pytest

from surefoot.engine.verifier.deciding.scripts import scripts_of

pytestmark = pytest.mark.req("X1", "X12")
SHFLAGS = {
    "shflags": "flag() { :; }\n",
    "lib/shunit2": "_shunit_assertFail() { return 1; }\n",
    "lib/other": "echo\n",
    "shflags_isdefined_test.sh": '#! /bin/sh\n. ./shflags_test_helpers\n. ./shflags\n. "${TH_SHUNIT}"\n',
    "shflags_test_helpers": "TH_SHUNIT=${SHUNIT_INC:-lib/shunit2}; export TH_SHUNIT\n",
}


def found(files: dict[str, str], command: str) -> set[str]:
    folders = {path.rpartition("/")[0] for path in files} - {""}
    return scripts_of([command], files, folders, lambda path: files.get(path, ""))


@pytest.mark.parametrize("command", ["sh shflags_isdefined_test.sh", "./test_runner -s /bin/sh", "make test"])
def test_helpers_and_the_framework_of_a_real_project_are_found(command: str) -> None:
    assert found(SHFLAGS, command) - {"shflags_isdefined_test.sh"} == {"lib/shunit2", "shflags_test_helpers"}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (". ./lib/test_base\n", "sh x_test.sh"),
        ("source lib/test_base\n", "bash x_test.sh"),
        ("[ -n 1 ] && . 'lib/test_base'\n", "sh x_test.sh"),
        ('if true; then . "lib/test_base"; fi\n', "sh x_test.sh"),
        ("BASE=lib/test_base\n. $BASE\n", "sh x_test.sh"),
        ('DIR=lib\nBASE="$DIR/test_base"\n. "${BASE}"\n', "sh x_test.sh"),
        ('. "${BASE:-lib/test_base}"\n', "sh x_test.sh"),
        (": ${BASE:=lib/test_base}\n. $BASE\n", "sh x_test.sh"),
        ('. "$BASE"\n', "BASE=lib/test_base sh x_test.sh"),
        ('. "$(dirname "$0")/lib/test_base"\n', "sh x_test.sh"),
        ('HERE=$(cd "$(dirname "$0")" && pwd)\n. "$HERE/lib/test_base"\n', "sh x_test.sh"),
        ('. "${0%/*}/lib/test_base"\n', "sh x_test.sh"),
        ('. "$HERE/test_base"\n', "sh x_test.sh"),
        ("X=$X/..\n. $X/lib/test_base\n", "sh x_test.sh"),
    ],
)
def test_what_a_test_sources_is_found(text: str, command: str) -> None:
    files = {"x_test.sh": text, "lib/test_base": "echo\n", "lib/base": "echo\n"}
    assert "lib/test_base" in found(files, command)
    assert "lib/base" not in found(files, command)


@pytest.mark.parametrize(
    ("content", "decides"),
    [
        ("assert_equals() {\n  [ $1 = $2 ]\n}\n", True),
        ("function assertTrue {\n  :\n}\n", True),
        ("add() { echo $(($1 + $2)); }\nassert_root() { :; }\n", False),
    ],
)
def test_a_sourced_file_decides_if_tests_compare_with_it(content: str, decides: bool) -> None:
    """The program under test is sourced too. It must be judged as it is now."""
    assert ("common" in found({"x_test.sh": ". ./common\n", "common": content}, "sh x_test.sh")) is decides


def test_a_framework_is_found_through_the_program_but_the_parts_of_the_program_are_not() -> None:
    files = {"x_test.sh": ". ./prog\n", "prog": ". ./validate\n. ./shunit2\n", "validate": "", "shunit2": ""}
    assert found(files, "sh x_test.sh") - {"x_test.sh"} == {"shunit2"}


def test_sources_in_a_circle_end() -> None:
    files = {"x_test.sh": ". ./test_a\n", "test_a": ". ./test_b\n", "test_b": ". ./test_a\nA=$B\nB=$A$A\n. $A\n"}
    assert {"test_a", "test_b"} <= found(files, "sh x_test.sh")
