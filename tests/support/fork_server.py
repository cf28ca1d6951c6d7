"""A program that imports the `surefoot` command once, and forks a process for each command line it is asked to run.

Run by `support.forked`. The process has arguments, environment, folder and streams of its own, and calls the same
`main` as the installed program; only the half second of imports is shared, and the building of validators.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import sys
import termios
import threading
from collections.abc import Callable
from fcntl import ioctl
from typing import Any, NoReturn

LIMIT = 1 << 20
"""Bytes of a request: arguments, environment and folder."""
PRELOADED = (
    "surefoot.engine.loop",
    "surefoot.history.replay.replay",
    "surefoot.models.providers.wire.turns",
    "openai",
    "tenacity",
    "tomlkit",
    "jsonschema",
    "difflib",
)
PACKAGES = ("surefoot.cli", "surefoot.models.parsing", "surefoot.models.testing", "surefoot.tools")
"""All of their modules are loaded."""


def preload() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    for name in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            importlib.import_module(module.name)
    build_models()
    gc.collect()
    gc.freeze()  # keeps the pages of what is loaded shared


def build_models() -> None:
    """Build the validators that a process builds when it first needs them."""
    from surefoot.core.values import Value
    from surefoot.journal.events.record import event_adapter

    pending: list[type[Value]] = [Value]
    while pending:
        model = pending.pop()
        model.model_rebuild()
        pending += model.__subclasses__()
    event_adapter.rebuild()


def serve(requests: socket.socket) -> None:
    """Answer requests with the id of a process. Returns in that process, and in no other."""
    while True:
        message, fds, _, _ = socket.recv_fds(requests, LIMIT, 3)
        if not message:
            os._exit(0)
        ready, release = os.pipe()
        number_read, number = os.pipe()
        between = os.fork()
        if between == 0:
            pid = os.fork()
            if pid == 0:
                for fd in (release, number_read, number):
                    os.close(fd)
                requests.close()
                os.read(ready, 1)  # ends when this process has its new parent
                os.close(ready)
                become(json.loads(message), fds)
                return
            os.write(number, str(pid).encode())
            os._exit(0)  # the subreaper becomes the parent
        os.waitpid(between, 0)
        requests.send(os.read(number_read, 100))
        for fd in (ready, release, number_read, number, *fds):
            os.close(fd)


def become(wanted: dict[str, Any], fds: list[int]) -> None:
    """Take over what makes this process the one that was asked for."""
    if wanted["terminal"]:
        os.setsid()
        ioctl(fds[0], termios.TIOCSCTTY, 0)
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.argv[:] = wanted["argv"]
    sys.path.insert(0, os.path.dirname(wanted["argv"][0]))  # noqa: PTH120 - as the interpreter does it
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(number, "w" if number else "r", encoding=old.encoding, errors=old.errors)  # noqa: PTH123, SIM115
        if name == "stderr":
            new.reconfigure(line_buffering=True)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def run_and_exit(main: Callable[[], object]) -> NoReturn:
    """Run the program, and exit as the interpreter would, except that it does not take every object apart.

    That would write to each page that is shared with the server, and take half of the time of a short command.
    """
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120
    os._exit(code or 0)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    preload()
    serve(socket.socket(fileno=int(sys.argv[1])))
    from surefoot.cli.main import main

    run_and_exit(main)
