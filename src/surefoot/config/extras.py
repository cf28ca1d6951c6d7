"""The optional parts of Surefoot: what each is for, whether it is installed, and the command that installs it here.

The command depends on how Surefoot itself was installed: from an index, a checkout, a wheel or git; by pip, uv or pipx.
"""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

NAME = "surefoot"


@dataclass(frozen=True, slots=True)
class Extra:
    purpose: str
    modules: tuple[str, ...]
    """The modules that Surefoot imports for it."""


EXTRAS = {
    "anthropic": Extra("models of Anthropic", ("anthropic",)),
    "local": Extra("the embedded model", ("xllamacpp",)),
    "server": Extra(
        "the page and the HTTP interface (surefoot serve)", ("socketio", "starlette", "uvicorn", "websockets")
    ),
    "mcp": Extra("tools of MCP servers, and Surefoot as one", ("mcp",)),
    "acp": Extra("editors that speak the Agent Client Protocol", ("acp",)),
    "map": Extra("definitions in 12 languages for the repository map", ("tree_sitter",)),
    "postgres": Extra("the journal in PostgreSQL", ("psycopg",)),
    "redis": Extra("a copy of runs in Redis, and several servers", ("redis",)),
    "temporal": Extra("runs on workers (run --remote)", ("temporalio", "psycopg")),
    "otel": Extra("traces and metrics for OpenTelemetry", ("opentelemetry.sdk", "opentelemetry.exporter.otlp")),
    "langgraph": Extra("the engine as a LangGraph graph", ("langgraph",)),
}


def is_installed(extra: str) -> bool:
    """Whether the modules of an extra can be found. None of them is imported."""
    return all(map(_is_found, EXTRAS[extra].modules))


def install_remedy(extra: str) -> str:
    """Return a remedy that names the extra and the command that installs it."""
    return f"install the extra {extra}: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, quoted for a shell."""
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return _words("pipx", "inject", prefix.name, *_requirements(extra))
    if (prefix / "uv-receipt.toml").is_file():
        return _with_uv_tool(extra, prefix / "uv-receipt.toml")
    if _is_found("pip"):
        beside = Path(sys.executable).parent
        pip = ["pip"] if _is_active(beside) else [sys.executable, "-m", "pip"]
    else:
        pip = ["uv", "pip"]
    python = ["--python", sys.executable] if pip[0] == "uv" else []
    return _words(*pip, "install", *python, *_target(extra))


def _is_active(folder: Path) -> bool:
    """Whether plain `pip` is the one beside this Python."""
    import shutil

    pip = shutil.which("pip")
    return pip is not None and Path(pip).parent == folder


def _target(extra: str) -> list[str]:
    """Return the arguments for pip: Surefoot with the extra from its origin, or else the packages of the extra."""
    origin = _origin()
    if origin is None:
        checkout = Path(__file__).resolve().parents[3]
        return [f"{checkout}[{extra}]"] if (checkout / "pyproject.toml").is_file() else [f"{NAME}[{extra}]"]
    url = str(origin.get("url", ""))
    if urlsplit(url).scheme == "file":
        path = Path(unquote(urlsplit(url).path))
        if not path.exists():
            return _requirements(extra)
        editable = (origin.get("dir_info") or {}).get("editable", False)
        return [*(["-e"] if editable else []), f"{path}[{extra}]"]
    if vcs := origin.get("vcs_info"):
        revision = vcs.get("requested_revision") or vcs.get("commit_id", "")
        return [f"{NAME}[{extra}] @ {vcs.get('vcs', 'git')}+{url}" + (f"@{revision}" if revision else "")]
    return [f"{NAME}[{extra}] @ {url}"] if url else [f"{NAME}[{extra}]"]


def _with_uv_tool(extra: str, receipt: Path) -> str:
    """Return the command for `uv tool`. It replaces the installation, so it names the installed extras again."""
    listed = tomllib.loads(receipt.read_text(encoding="utf-8")).get("tool", {}).get("requirements", [])
    own: dict[str, list[str]] = next((item for item in listed if item.get("name") == NAME), {})
    others = [item["name"] for item in listed if item.get("name") not in (NAME, None)]
    extras = ",".join(dict.fromkeys([*own.get("extras", ()), extra]))
    *options, target = _target(extra)
    named = re.sub(r"\[[^]]*\]", f"[{extras}]", target, count=1) if "[" in target else target
    if target in _requirements(extra):
        return _words("uv", "pip", "install", "--python", sys.executable, *_requirements(extra))
    with_others = [word for name in others for word in ("--with", name)]
    return _words("uv", "tool", "install", "--force", *options, named, *with_others)


def _origin() -> dict[str, dict[str, str]] | None:
    """Return the contents of direct_url.json, the origin of the package. Empty: an index. None: not installed."""
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return None
    try:
        read = json.loads(text or "{}")
    except ValueError:
        read = {}
    return read if isinstance(read, dict) else {}


def _requirements(extra: str) -> list[str]:
    """Return the packages of an extra and of the extras that it includes, with their versions."""
    try:
        listed = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        listed = []
    requirements = list(dict.fromkeys(_requirements_in(listed, extra, set())))
    return requirements or [f"{NAME}[{extra}]"]


def _requirements_in(listed: list[str], extra: str, seen: set[str]) -> Iterator[str]:
    if extra in seen:
        return
    seen.add(extra)
    for line in listed:
        requirement, _, marker = line.partition(";")
        if not re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker):
            continue
        if own := re.match(rf"{NAME}\s*\[([\w, -]+)\]", requirement):
            for other in own[1].split(","):
                yield from _requirements_in(listed, other.strip(), seen)
        else:
            yield requirement.strip().replace(" ", "")


def _is_found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _words(*words: str) -> str:
    return shlex.join(words)
