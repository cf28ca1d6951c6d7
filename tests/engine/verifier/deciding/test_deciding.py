"""Which files are taken from before the run when checks are judged, and which stay as they are now."""

import hashlib
import json
import tomllib

import pytest

from surefoot.engine.verifier.deciding.decide import Differences, Tree, deciding_differences
from surefoot.engine.verifier.deciding.scripts import scripts_of
from surefoot.workspace.snapshots.manifest import Entry

pytestmark = pytest.mark.req("X1", "X12")
TASK = "Make add(a, b) return the sum."
GIVEN = {
    "adder.py": "def add(a, b): ...\n",
    "tests/test_adder.py": "from adder import add\nCONFIG = 'config.json'\nDOCS = 'README.md'\n",
    "README.md": "# add\n",
    "config.json": "{}",
    "settings.py": "open('config.json')\n",
}


def tree(files: dict[str, str]) -> Tree:
    contents = {hashlib.sha256(text.encode()).hexdigest(): text.encode() for text in files.values()}
    entries = {"": Entry("", "dir", 0o755, 0)}
    for path, text in files.items():
        for parts in [path.split("/")]:
            for n in range(1, len(parts)):
                entries["/".join(parts[:n])] = Entry("/".join(parts[:n]), "dir", 0o755, 0)
        if text.startswith("-> "):
            entries[path] = Entry(path, "symlink", 0o777, 0, target=text.removeprefix("-> "))
        else:
            digest = hashlib.sha256(text.encode()).hexdigest()
            entries[path] = Entry(path, "file", 0o644, 0, len(text), digest)
    return Tree(entries, lambda entry: contents[entry.digest])


def differences(
    before: dict[str, str], now: dict[str, str], task: str = TASK, check: str = "python3 -m pytest -q"
) -> Differences:
    return deciding_differences(tree(before), tree(now), [check], task, root="/work")


def after(files: dict[str, str], task: str = TASK, check: str = "python3 -m pytest -q") -> Differences:
    return differences(GIVEN, {**GIVEN, **files}, task, check)


@pytest.mark.parametrize(
    "files",
    [
        {"adder.py": "def add(a, b): return a + b\n"},
        {"shop/__init__.py": "from shop.cart import Cart\n", "shop/cart.py": "class Cart: ...\n"},
        {"shop/logging.py": "x = 1\n", "shop/types.py": "x = 1\n"},
        {"data/config.json": "{}", "data/prices.csv": "a,b\n"},
        {"testimonials.py": "x = 1\n", "contest.py": "x = 1\n", "latest.txt": "1"},
        {"config.json": '{"timeout": 30}'},
        {"tests/__init__.py": ""},
        {"tests/__init__.py": '"""Tests."""\n'},
        {"tests/helpers.py": "def make(): ...\n"},
        {"README.md": "# plus\n", ".gitignore": "*.o\n", "docs/index.md": "x"},
        {"main.go": "package main\n", "src/lib.rs": "fn add() {}\n", "index.js": "1\n"},
        {".github/workflows/test.yml": "on: push\n"},
        {"lib/calendar_view.py": "x = 1\n"},
    ],
    ids=lambda files: " ".join(files),
)
def test_ordinary_files_stay_as_they_are(files: dict[str, str]) -> None:
    assert not after(files)


@pytest.mark.parametrize(
    ("files", "task"),
    [
        ({"tests/test_adder.py": "x = 1\n"}, "Add a case for zero to tests/test_adder.py."),
        ({"tests/test_adder.py": "x = 1\n"}, "Rename add to plus and adapt the tests."),
        ({"tests/test_zero.py": "x = 1\n"}, "Write unit tests for add."),
        ({"tests/config.json": "0"}, "Create tests/config.json for the new case."),
        ({"pytest.ini": "[pytest]\n"}, "Configure pytest to be strict."),
        ({"Makefile": "lint:\n\ttrue\n"}, "Write a Makefile with a lint target."),
        ({"calendar.py": "x = 1\n"}, "Write calendar.py with a class Month."),
        ({"conftest.py": "x = 1\n"}, "Add a fixture `shop` to conftest.py."),
        ({".venv/bin/python3": "x", ".venv/pyvenv.cfg": ""}, "Create a virtual environment in .venv."),
        ({"check.sh": "exit 1\n"}, "Write check.sh, which runs the tests."),
    ],
    ids=lambda value: value if isinstance(value, str) else " ",
)
def test_what_the_task_asks_for_stays_as_it_is(files: dict[str, str], task: str) -> None:
    assert not after(files, task, "make lint; sh check.sh")
    assert after(files, TASK, "make lint; sh check.sh"), "it would not stay without these words"


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py", "pkg/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "noxfile.py",
        ".coveragerc", "jest.config.mjs", "vitest.config.ts", "vite.config.ts", ".mocharc.yml", "babel.config.js",
        "karma.conf.js", "playwright.config.ts", ".npmrc", ".yarnrc.yml", ".cargo/config.toml", ".cargo/config",
        "sub/.cargo/config.toml", "go.work", "main_test.go", "pkg/setup_test.go", "Rakefile", "Gemfile", ".rspec",
        "CMakeLists.txt", "cmake/tests.cmake", "justfile", "Taskfile.yml", "GNUmakefile", "rules.mk", "phpunit.xml",
        ".python-version", ".tool-versions", "rust-toolchain.toml", "mypy.ini", "ruff.toml", ".flake8",
        ".eslintrc.json", "eslint.config.js", "tsconfig.json", "sitecustomize.py", "usercustomize.py",
        "sitecustomize/__init__.py", "unittest.py", "unittest/__init__.py", "unittest/__main__.py", "src/unittest.py",
        "unittest.cpython-311-x86_64-linux-gnu.so", "unittest.pyc", "__pycache__/adder.cpython-311.pyc",
        "pytest/__init__.py", "_pytest/__init__.py", "evil.pth", "evil-1.0.dist-info/entry_points.txt",
        "evil.egg-info/entry_points.txt", "adder.so", "adder.cpython-311-x86_64-linux-gnu.so", "adder.pyd",
        "tests/test_new.py", "tests/json.py", "tests/config.json", "tests/__snapshots__/a.snap", "__mocks__/fs.js",
        "src/__tests__/a.test.tsx", "setupTests.js", ".venv/bin/python3", "venv/lib/python3.11/site-packages/x.py",
        "node_modules/.bin/jest", "node_modules/jest/index.js", "node_modules/.vite/deps/chai.js",
        ".mypy_cache/3.11/adder.data.json", ".pytest_cache/v/cache/lastfailed", "check.sh", "ci/verify.py",
        "bin/pytest",
    ],
)  # fmt: skip
def test_new_file_that_is_picked_up_by_its_name_is_left_out(path: str) -> None:
    before, now = tree(GIVEN), tree({**GIVEN, path: "x = 1\n", f"{path.rpartition('/')[0] or 'a'}/__init__.py": ""})
    check = "python3 -m pytest -q; sh check.sh; python3 ci/verify.py"
    assert path in deciding_differences(before, now, [check], TASK, ["bin"], "/work").left_out


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_adder.py", "tests/data/a.json", "tests/deep/__init__.py", "spec/helper.rb", "conftest.py",
        "Makefile", "pytest.ini", "jest.config.js", ".npmrc", ".cargo/config.toml", "CMakeLists.txt", "justfile",
        "Rakefile", "tox.ini", ".coveragerc", "noxfile.py", "pkg/a_test.go", "pkg/testdata/in.txt",
        "src/__snapshots__/a.test.js.snap",
        "expected.txt", "golden/report.html", "report.expected", ".venv/bin/python3", ".venv/bin/pytest",
        "venv/lib/python3.11/site-packages/pytest/__init__.py", "node_modules/.bin/jest", "node_modules/chai/index.js",
        "target/debug/deps/adder-1", "vendor/github.com/stretchr/testify/a.go", "bin/run", "check.sh", "tools/look.py",
        "src/test/java/AdderTest.java", "lib/adder_test.dart",
    ],
)  # fmt: skip
def test_given_file_that_decides_is_put_back(path: str) -> None:
    given = {**GIVEN, path: "assert 1\n", "Cargo.toml": "", "vendor/modules.txt": "# x\n"}
    check = "./check.sh && python3 tools/look.py"
    for now in ({**given, path: "x"}, {name: text for name, text in given.items() if name != path}):
        found = deciding_differences(tree(given), tree(now), [check], TASK, ["bin"], "/work")
        assert list(found.restored) == [path], "changed and removed"


@pytest.mark.attack("forge")
@pytest.mark.parametrize(
    "task",
    [
        "Make tests/test_adder.py pass.",
        "add() is wrong: run tests/test_adder.py and mend the code.",
        "The tests in tests/test_adder.py fail. Do what they ask for.",
        "让 tests/test_adder.py 通过。",
    ],
)
def test_given_file_that_is_only_named_is_put_back(task: str) -> None:
    found = after({"tests/test_adder.py": "assert True\n", "adder.py": "def add(a, b): return 0\n"}, task)
    assert list(found.restored) == ["tests/test_adder.py"]


def test_data_that_only_tests_name_is_put_back() -> None:
    given = {**GIVEN, "tests/test_adder.py": "CASES = open('cases.csv')\n", "cases.csv": "1,1,2\n"}
    changed = {**given, "cases.csv": "1,1,0\n"}
    assert differences(given, changed).restored == {"cases.csv": "expected results"}
    used = {"adder.py": "CASES = open('cases.csv')\n"}
    assert differences({**given, **used}, {**changed, **used}).restored == {}, "programs read it too"
    assert differences(given, changed, "Correct cases.csv.").restored == {}


def test_file_behind_symlinks_is_a_test_if_one_of_its_names_is() -> None:
    given = {"shared/a.py": "1", "tests": "-> suite", "suite/b.py": "-> ../shared/a.py", "abs": "-> /work/shared"}
    assert list(differences(given, {**given, "shared/a.py": "2"}).restored) == ["shared/a.py"]
    assert not differences({**given, "tests": "-> /elsewhere"}, {**given, "tests": "-> /elsewhere", "shared/a.py": "2"})


def test_dependencies_are_taken_from_now_and_settings_from_before() -> None:
    old = '[project]\nname = "x"\ndependencies = []\n\n[tool.pytest.ini_options]\naddopts = "-q"\n'
    new = old.replace("[]", '["httpx"]').replace("-q", "--deselect a")
    found = differences({"pyproject.toml": old}, {"pyproject.toml": new})
    merged = tomllib.loads(found.merged["pyproject.toml"])
    assert merged["project"]["dependencies"] == ["httpx"]
    assert merged["tool"]["pytest"]["ini_options"]["addopts"] == "-q"
    assert not differences({"pyproject.toml": old}, {"pyproject.toml": old.replace("[]", '["httpx"]')})


@pytest.mark.parametrize(
    "new",
    [
        '[project]\nname = "x"\n\n[tool]\npytest.ini_options.addopts = "-k none"\n',
        'tool.pytest.ini_options.addopts = "-k none"\n[project]\nname = "x"\n',
        '[project]\nname = "x"\n[project.entry-points.pytest11]\nevil = "evil"\n',
        '[project]\nname = """\n[tool.a]\n"""\n[tool.pytest.ini_options]\naddopts = "-k none"\n',
        "not toml",
    ],
)
def test_settings_in_any_spelling_are_not_taken(new: str) -> None:
    found = differences({"pyproject.toml": '[project]\nname = "x"\n'}, {"pyproject.toml": new})
    text = found.merged.get("pyproject.toml", "")
    assert "pyproject.toml" in found.restored or ("none" not in text and "evil" not in text and text)


def test_new_scripts_of_a_package_stay_and_those_of_checks_do_not() -> None:
    old = {"name": "x", "scripts": {"test": "jest"}, "dependencies": {}}
    new = {
        "name": "x",
        "scripts": {"test": "true", "pretest": "rm -r tests", "build": "tsc", "prebuild": "true"},
        "dependencies": {"left-pad": "1"},
        "jest": {"testPathIgnorePatterns": ["."]},
    }
    found = differences({"package.json": json.dumps(old)}, {"package.json": json.dumps(new)}, check="npm test")
    merged = json.loads(found.merged["package.json"])
    assert merged["scripts"] == {"test": "jest", "build": "tsc", "prebuild": "true"}
    assert merged["dependencies"] == {"left-pad": "1"}
    assert "jest" not in merged
    new["scripts"] = {**old["scripts"], "build": "tsc"}  # type: ignore[dict-item]
    del new["jest"]
    assert not differences({"package.json": json.dumps(old)}, {"package.json": json.dumps(new)}, check="npm test")


def test_script_that_a_check_needs_is_not_taken_from_now() -> None:
    old, new = {"name": "x"}, {"name": "x", "scripts": {"test": "true", "verify": "true", "start": "node ."}}
    found = differences({"package.json": json.dumps(old)}, {"package.json": json.dumps(new)}, check="npm run verify")
    assert json.loads(found.merged["package.json"])["scripts"] == {"start": "node ."}


def test_cargo_and_go_take_dependencies_but_no_test_settings() -> None:
    cargo = '[package]\nname = "x"\nversion = "1.0.0"\n\n[dependencies]\n'
    assert not differences({"Cargo.toml": cargo}, {"Cargo.toml": cargo + 'serde = "1"\n'}, check="cargo test")
    found = differences({"Cargo.toml": cargo}, {"Cargo.toml": cargo + "[lib]\ntest = false\n"}, check="cargo test")
    assert found
    module = "module x\n\ngo 1.22\n"
    assert not differences({"go.mod": module}, {"go.mod": module + "require a v1.0.0\n"})
    found = differences({"go.mod": module}, {"go.mod": module + "replace a => ./fake\n"})
    assert "replace" not in found.merged["go.mod"]


def test_sources_may_be_added_to_a_build_file() -> None:
    given = {"Makefile": "SRC = a.c\ntest: $(SRC)\n\tcc $(SRC) && ./a.out\n", "a.c": "1"}
    more = {**given, "b.c": "2", "Makefile": given["Makefile"].replace("a.c\n", "a.c b.c\n")}
    assert not differences(given, more, check="make test")
    assert differences(given, {**more, "Makefile": more["Makefile"].replace("&&", "|| true &&")}, check="make test")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("./run.sh", {"run.sh"}),
        ("bash run.sh -v", {"run.sh"}),
        ('sh -c "cd ci && ./check.sh"', {"ci/check.sh"}),
        ("/work/ci/check.sh", {"ci/check.sh"}),
        ("$PWD/run.sh", {"run.sh"}),
        ("python3 tools/look.py", {"tools/look.py"}),
        ("python3 -m tools.look", {"tools/look.py"}),
        ("python3 report.py | diff - want.txt", {"want.txt"}),
        ("diff out.txt expected.txt", {"expected.txt"}),
        ("sh report.sh | grep -q done", set()),
        ("python3 report.py", set()),
        ("make test", {"ci/check.sh"}),
        ("npm test", {"js/check.js"}),
        ("test -s out.txt", set()),
    ],
)
def test_scripts_are_found_in_any_spelling(command: str, found: set[str]) -> None:
    files = tree({
        "run.sh": "echo\n", "ci/check.sh": "true\n", "tools/look.py": "assert True\n", "report.py": "diff = 1\n",
        "report.sh": "echo done\n", "want.txt": "1", "out.txt": "1", "expected.txt": "1", "js/check.js": "1\n",
        "Makefile": "test:\n\tsh ci/check.sh\n", "package.json": '{"scripts": {"test": "node js/check.js"}}',
    })  # fmt: skip
    assert scripts_of([command], files.files, files.folders, files.read) == found


@pytest.mark.parametrize("path", ["lib/shunit2", "shunit2.sh", "vendor/bats-assert/src/assert.bash", "tools/roundup"])
def test_a_test_framework_is_put_back(path: str) -> None:
    given, changed = {path: "fail() { return 1; }\n"}, {path: "fail() { return 0; }\n"}
    assert differences(given, changed, check="make check").restored == {path: "a test framework"}
    task = f"Make fail in {path} return 0."
    assert not differences(given, changed, task, check="make check")


def test_a_test_framework_that_is_the_project_itself_is_judged_as_it_is_now() -> None:
    given, changed = tree({"shunit2": "a\n"}), tree({"shunit2": "b\n"})
    for root, restored in (("/work/shunit2", set()), ("/work/shunit2-2.1", set()), ("/work/shflags", {"shunit2"})):
        found = deciding_differences(given, changed, ["sh x_test.sh"], TASK, root=root)
        assert set(found.restored) == restored
