"""xllamacpp, the library that runs the embedded model: whether it works on this machine, and how to install it."""

import re
import signal
import subprocess
import sys
from importlib.util import find_spec

from surefoot.config.extras import install_remedy
from surefoot.errors import ModelRuntimeMissing
from surefoot.workspace.process.programs import python_env


def runtime_problem() -> ModelRuntimeMissing | None:
    """Why the embedded model cannot run here, or None. Imports xllamacpp in a child process, as the server does.

    Blocking.
    """
    if error := not_installed():
        return error
    result = subprocess.run(
        [sys.executable, "-P", "-c", "import xllamacpp"],
        env=python_env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == 0:
        return None
    last_line = (result.stderr.strip().splitlines() or [describe_exit(result.returncode)])[-1]
    return runtime_missing(re.sub(r"^(ImportError|OSError): ", "", last_line))


def not_installed() -> ModelRuntimeMissing | None:
    return runtime_missing("xllamacpp is not installed") if find_spec("xllamacpp") is None else None


def runtime_missing(reason: str) -> ModelRuntimeMissing:
    """The error for a library that cannot be imported, with the remedy that fits the reason."""
    if library := re.match(r"(lib[\w+.-]+?)\.so[.\d]*: cannot open shared object", reason):
        return ModelRuntimeMissing(
            f"xllamacpp, which runs the embedded model, needs the system's {library[1]}",
            remedy="install it; on Debian and Ubuntu: apt-get install libgomp1 libstdc++6",
        )
    return ModelRuntimeMissing(
        f"the runtime of the embedded model cannot be used: {reason}", remedy=install_remedy("local")
    )


def describe_exit(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
