"""Keeps the workspace off Surefoot's own import path.

Modules are imported when they are first needed, even after commands have run. A module in the workspace would then run
in Surefoot's process, outside any sandbox. This module imports only what Python itself loads at startup.
"""

import os
import sys

from surefoot import __file__ as _package


def drop_from_path(folder: str) -> list[str]:
    """Remove the entries of `sys.path` that are in `folder`, and all relative ones. Returns the removed entries.

    Python's own libraries stay, even if its virtual environment is in the folder: they are guarded there. The folder of
    Surefoot's own source (a development install) stays too, but as the last entry.
    """
    inside = os.path.realpath(folder)
    own = os.path.realpath(os.path.dirname(os.path.dirname(_package)))  # noqa: PTH120 - pathlib is not loaded yet
    kept: list[str] = []
    last: list[str] = []
    dropped: list[str] = []
    for entry in sys.path:
        if not os.path.isabs(entry):  # noqa: PTH117
            # "" and "." mean the working directory at the time of an import.
            dropped.append(entry)
            continue
        real = os.path.realpath(entry)
        if not _is_below(real, inside) or _is_library(real):
            kept.append(entry)
        elif real == own:
            last.append(entry)
        else:
            dropped.append(entry)
    sys.path[:] = kept + last
    return dropped


def _is_library(path: str) -> bool:
    """Whether this is a library folder of the running Python, or the user's site-packages."""
    for prefix in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix):
        base = os.path.realpath(prefix).rstrip("/")
        if any(_is_below(path, f"{base}/{name}") for name in ("lib", "lib64", "local/lib")):
            return True
    user: str | None = getattr(sys.modules.get("site"), "USER_SITE", None)
    return user is not None and path == os.path.realpath(user)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
