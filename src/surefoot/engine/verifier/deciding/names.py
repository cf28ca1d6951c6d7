"""Files that decide what a check does, by name alone: tests, their data, settings of tools, environments. Pure."""

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from surefoot.project.test_files import found_alike
from surefoot.project.test_files import in_test_folder as in_test_folder
from surefoot.project.test_files import is_test_file as is_test_file
from surefoot.tools.fs.tool_files import CACHE as CACHE

LOADED_BY_NAME = frozenset({
    "conftest.py", "sitecustomize.py", "usercustomize.py", "setupTests.js", "setupTests.ts", "jest.setup.js",
    "jest.setup.ts", "vitest.setup.js", "vitest.setup.ts", "spec_helper.rb", "rails_helper.rb", "test_helper.rb",
    "test_helper.exs",
})  # fmt: skip
"""Files that an interpreter or a test runner loads wherever it finds them."""

_SETTINGS: dict[str, tuple[str, ...]] = {
    "pytest": ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    "tox": ("tox.ini", "tox.toml"),
    "nox": ("noxfile.py",),
    "unittest": ("unittest.cfg", "nose2.cfg", ".noserc", "nose.cfg"),
    "behave": ("behave.ini", ".behaverc"),
    "coverage": (".coveragerc", ".coveragerc.toml"),
    "jest": ("jest.config.*", "jest.preset.*", "jest-*.config.*"),
    "vitest": ("vitest.config.*", "vitest.workspace.*", "vite.config.*"),
    "mocha": (".mocharc*", "mocha.opts"),
    "karma": ("karma.conf.*",),
    "playwright": ("playwright.config.*",),
    "cypress": ("cypress.config.*", "cypress.json"),
    "ava": ("ava.config.*",),
    "tap": (".taprc",),
    "nyc": (".nycrc*", ".c8rc*"),
    "babel": ("babel.config.*", ".babelrc*", ".swcrc"),
    "eslint": (".eslintrc*", "eslint.config.*", ".eslintignore"),
    "prettier": (".prettierrc*", "prettier.config.*", ".prettierignore"),
    "biome": ("biome.json", "biome.jsonc"),
    "tsc": ("tsconfig*.json", "jsconfig.json"),
    "npm": (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pnp.cjs", ".pnp.loader.mjs"),
    "deno": ("deno.json", "deno.jsonc"),
    "bun": ("bunfig.toml",),
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk", "Makefile.*"),
    "just": ("justfile", ".justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "*.rake"),
    "bundler": ("Gemfile", "Gemfile.lock"),
    "rspec": (".rspec", ".rspec-local"),
    "rubocop": (".rubocop.yml",),
    "cmake": ("CMakeLists.txt", "*.cmake", "CMakePresets.json", "CMakeUserPresets.json"),
    "meson": ("meson.build", "meson_options.txt"),
    "bazel": ("BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", ".bazelrc"),
    "gradle": ("build.gradle*", "settings.gradle*", "gradle.properties", "gradlew", "gradle-wrapper.*"),
    "maven": ("pom.xml", "mvnw", "maven.config", "jvm.config"),
    "go": ("go.work",),
    "golangci": (".golangci.*",),
    "clippy": ("clippy.toml", ".clippy.toml"),
    "phpunit": ("phpunit.xml*",),
    "mypy": ("mypy.ini", ".mypy.ini"),
    "ruff": ("ruff.toml", ".ruff.toml"),
    "flake8": (".flake8",),
    "pylint": (".pylintrc", "pylintrc"),
    "pyright": ("pyrightconfig.json",),
    "bandit": (".bandit",),
    "pre-commit": (".pre-commit-config.yaml",),
    "toolchain": (".python-version", ".ruby-version", ".node-version", ".nvmrc", ".tool-versions", "mise.toml",
                  ".mise.toml", "rust-toolchain", "rust-toolchain.toml"),
}  # fmt: skip
"""Settings files by the tool that reads them from the working folder."""
_CARGO = re.compile(r"(?:^|/)\.cargo/config(?:\.toml)?$")
MIXED = frozenset({"pyproject.toml", "setup.cfg", "package.json", "Cargo.toml", "go.mod"})
"""Files that hold settings of test tools, and parts of the program itself."""

_GOLDEN = re.compile(
    r"(?:^|/)(?:__snapshots__|testdata|goldens?|fixtures?)/|\.(?:snap|ambr|golden|expected|approved\.\w+)$"
    r"|(?:^|[/_.-])(?:expected|goldens?|oracle)(?=[/_.-]|$)",
    re.IGNORECASE,
)
CODE = frozenset((
    "py", "pyi", "pyx", "js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "go", "rs", "c", "cc", "cpp", "h", "hpp", "java",
    "kt", "rb", "php", "cs", "swift", "scala", "sh", "bash", "lua", "pl", "r", "vue",
))  # fmt: skip
DATA = frozenset(("json", "jsonl", "csv", "tsv", "txt", "xml", "out", "dat", "bin", "png", "svg", "pdf"))
CHECKING = re.compile(
    r"(?:^|[/_.-])(?:(?:run|self|unit|all|system|integration)?[_-]?tests?|(?:run)?checks?|checker|verif(?:y|ier)|validat(?:e|or)"
    r"|specs?|assert\w*|smoke|acceptance|e2e|ci|lint|grader?|judge|qa)(?=$|[/_.\-\d])",
    re.IGNORECASE,
)
"""The part of a path that says that something is checked there."""

_FRAMEWORK = re.compile(
    r"(?:^|/)(?:shunit2(?:\.sh)?|shunit|bats|bats-exec-\w+|assert\.(?:sh|bash)|roundup(?:\.sh)?|shellspec|sharness\.sh"
    r"|bash_unit|bashunit|shpec|urchin|bash-tap(?:-bootstrap)?|tap-functions)$"
    r"|(?:^|/)(?:shunit2?|bats-(?:core|assert|support|file|mock)|shellspec|sharness|bash-tap)/(?:.*/)?[^/]+$"
)
"""Test frameworks of shells, which projects keep among their own files, and the folders of these frameworks."""

_ENVIRONMENTS = frozenset({
    ".venv", "venv", "node_modules", "site-packages", "dist-packages", "__pypackages__", ".tox", ".nox", ".pixi",
    ".bundle", ".yarn", ".direnv",
})  # fmt: skip
_NOT_SEARCHED = _ENVIRONMENTS | {"build", "dist", "CVS", "_darcs", "__pycache__"}
"""Folders in which runners do not look for tests. They do not look in hidden folders either."""
_METADATA = re.compile(r"(?:^|/)[^/]+\.(?:dist-info|egg-info)(?:/|$)|\.(?:pth|egg-link)$")
UNREAD_CACHE = re.compile(r"(?:^|/)\.(?:pytest|mypy|ruff)_cache/")
"""Caches that change no result: pytest and ruff do not use them in checks, mypy only before the final checks."""


def suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2][1:] else ""


def folders(path: str) -> list[str]:
    return path.split("/")[:-1]


def found_like(path: str, other: str) -> bool:
    """Whether runners that find a test file at this path would find it at the other path too."""
    by_name = found_alike(path, other)
    return by_name and not any(folder.startswith(".") or folder in _NOT_SEARCHED for folder in folders(other))


def is_shell_framework(path: str) -> bool:
    """Whether a file belongs to a test framework of shells by its name, or by that of its folder."""
    return suffix(path) in ("", "sh", "bash", "bats") and _FRAMEWORK.search(path) is not None


def is_golden(path: str) -> bool:
    """Whether the name of a data file says that results are compared with it."""
    return suffix(path) not in CODE and _GOLDEN.search(path) is not None


def tool_of(path: str) -> str:
    """Return the tool whose settings file this is; empty if it is none."""
    if _CARGO.search(path):
        return "cargo"
    name = path.rpartition("/")[2]
    for tool, patterns in _SETTINGS.items():
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            return tool
    return ""


def is_package_metadata(path: str) -> bool:
    """Whether a path is metadata of installed packages: entry points of plugins, or lines run when Python starts."""
    return _METADATA.search(path) is not None


def environment_roots(*trees: Collection[str]) -> set[str]:
    """Return the folders that are virtual environments by their marker file, whatever their name."""
    return {path.rpartition("/")[0] for tree in trees for path in tree if path.endswith("/pyvenv.cfg")}


def in_environment(path: str, roots: Collection[str], tree: Collection[str]) -> bool:
    """Whether a path belongs to installed packages and interpreters, or to the build cache of cargo."""
    parts = folders(path)
    if not _ENVIRONMENTS.isdisjoint(parts):
        return True
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(
        folder in roots
        or f"{folder}/modules.txt" in tree  # vendored modules of go
        or (folder.endswith("target") and f"{folder.removesuffix('target')}Cargo.toml" in tree)
        for folder in above
    )


def is_below(path: str, folder_names: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folder_names)
