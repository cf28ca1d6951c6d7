"""A copy of the repository with an environment of its own, in which the source can be changed and tests run."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from mutations.mutation import SOURCE, TESTS, Mutation

ROOT = TESTS.parent
COPIES = ROOT / ".mutations"
"""Not in the temporary folder: the sandbox hides that from commands, and tests run programs of the environment."""
COPIED = (
    "src",
    "tests",
    "docs",
    "examples",
    "evals",
    "pyproject.toml",
    "mkdocs.yml",
    "README.md",
    "README.zh.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
PASSED, FAILED = 0, 1
"""Exit codes of pytest: all tests passed; some failed. Others mean that the tests could not be run."""


class Ran(NamedTuple):
    code: int | None
    """The exit code of pytest; None if it did not end in time."""
    output: str

    @property
    def noticed(self) -> bool:
        """Whether a test failed, or hangs because the guard is off."""
        return self.code in (FAILED, None)


class CopiedTree:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._python = root / ".venv" / "bin" / "python"

    def make(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "node_modules", "results")
                shutil.copytree(source, self.root / name, symlinks=True, ignore=ignored)
            elif source.is_file():
                shutil.copy2(source, self.root / name)
        self._make_environment()

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _make_environment(self) -> None:
        """An environment in which `surefoot` is the copy, and everything else is what this one has installed."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.root / ".venv"], check=True)
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = self.root / ".venv" / "lib" / version / "site-packages"
        # The settings of import paths in the installed packages are not read, so their way to the source is not taken.
        (packages / "copied.pth").write_text(f"{self.root / 'src'}\n{sysconfig.get_path('purelib')}\n")
        for name in ("surefoot", "pytest"):
            _, _, body = Path(sys.executable).with_name(name).read_text().partition("\n")
            (self._python.parent / name).write_text(f"#!{self._python}\n{body}")
            (self._python.parent / name).chmod(0o755)

    @contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[None]:
        file = self.root / SOURCE / mutation.file
        original = file.read_text()
        try:
            _write(file, mutation.applied_to(original))
            yield
        finally:
            _write(file, original)

    def run_tests(self, tests: Sequence[str], *options: str, seconds: float = 3_600.0) -> Ran:
        # -P: otherwise the current folder, and with it the source of neither, would come first on the path.
        command = [str(self._python), "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        command += [f"tests/{name}" for name in tests]
        path = f"{self._python.parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON", "COV_"))}
        # In a group of its own: what the tests leave behind without the guard, such as an endless loop, is ended too.
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env={**kept, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            return Ran(None, f"no end after {error.timeout:g} s")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ran(process.returncode, output[-5_000:])


def _write(file: Path, text: str) -> None:
    file.write_text(text)
    # Bytecode is trusted by time and size of its source, and both may be the same.
    for cached in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        cached.unlink()
