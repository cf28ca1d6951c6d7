"""Delivers one alert: to a command's standard input, or by POST. Temporary faults are retried within a bound."""

import asyncio
import os
import shlex
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from surefoot._version import __version__
from surefoot.core.policy.addresses import Address, parse_address
from surefoot.errors import SurefootError
from surefoot.workspace.process.process import Limits, command_env, run_process, shell_argv
from surefoot.workspace.process.programs import is_planted

_TEMPORARY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_TEMPORARY_EXIT = 75
"""EX_TEMPFAIL of sysexits.h: the command asks to be called again."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often and how long to try. With the defaults, all attempts and waits together take at most 47 seconds."""

    attempts: int = 4
    seconds: float = 10.0
    """How long an attempt may take."""
    first_wait: float = 1.0
    """The wait before the second attempt. It doubles each time."""


class Delivered(NamedTuple):
    ok: bool
    attempts: int
    problem: str = ""


class _Fault(Exception):
    def __init__(self, problem: str, *, temporary: bool) -> None:
        super().__init__(problem)
        self.temporary = temporary


async def deliver(
    target: str,
    body: bytes,
    alert_id: str,
    *,
    workspace: Path,
    home: Path,
    pace: Pace = Pace(),  # noqa: B008 - frozen
) -> Delivered:
    """Send an alert and return how it went, without raising on failure. A command runs in `home`, not the workspace."""
    address = parse_address(target)
    for attempt in range(1, pace.attempts + 1):
        try:
            if address is not None:
                await _post(address, body, alert_id, pace.seconds)
            else:
                await _run(target, body, workspace, home, pace.seconds)
            return Delivered(True, attempt)
        except _Fault as fault:
            if not fault.temporary or attempt == pace.attempts:
                return Delivered(False, attempt, str(fault))
        await asyncio.sleep(pace.first_wait * 2 ** (attempt - 1))
    raise AssertionError("unreachable")


# -- an address ----------------------------------------------------------------------------------------------------


async def _post(address: Address, body: bytes, alert_id: str, seconds: float) -> None:
    """POST once. Redirects are not followed: they could lead the alert anywhere."""
    import httpx2 as httpx

    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"surefoot/{__version__}",
        "Idempotency-Key": alert_id,
    }
    try:
        async with (
            asyncio.timeout(seconds),
            # Of the environment only the proxy is used, and only for https; passwords in a .netrc are not.
            httpx.AsyncClient(proxy=_proxy(address), trust_env=False, timeout=None) as client,
            client.stream("POST", str(address), content=body, headers=headers) as response,
        ):
            status = response.status_code
    except TimeoutError as error:
        raise _Fault(f"no answer within {seconds:g} seconds", temporary=True) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise _Fault(f"the address cannot be used: {error}", temporary=False) from error
    except (httpx.TransportError, OSError) as error:
        raise _Fault(f"the connection failed: {error}", temporary=True) from error
    if not 200 <= status < 300:
        note = ", and redirects are not followed" if 300 <= status < 400 else ""
        raise _Fault(f"it answered with HTTP {status}{note}", temporary=status in _TEMPORARY_STATUS)


def _proxy(address: Address) -> str | None:
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get("https") or proxies.get("all")
    if address.scheme != "https" or urllib.request.proxy_bypass(f"{address.host}:{address.port}"):
        return None
    return proxy


# -- a command -----------------------------------------------------------------------------------------------------


async def _run(command: str, body: bytes, workspace: Path, home: Path, seconds: float) -> None:
    """Run the command once, with the environment of other commands. There is no sandbox: it is the user's command."""
    root = workspace.resolve()
    for word in _words(command):
        path = Path(word).expanduser()
        if path.is_absolute() and (path.resolve().is_relative_to(root) or is_planted(path, (root,))):
            raise _Fault(f"the command names {word}, which is in the workspace, where a run can change it",
                         temporary=False)  # fmt: skip
    home.mkdir(parents=True, exist_ok=True)
    env = command_env()
    env["PATH"] = os.pathsep.join(
        p for p in env["PATH"].split(os.pathsep) if not Path(p).resolve().is_relative_to(root)
    )
    limits = Limits(timeout=seconds, output_bytes=4_000)
    try:
        result = await run_process(shell_argv(command), cwd=home, env=env, limits=limits, stdin=body)
    except (SurefootError, OSError) as error:
        raise _Fault(f"it could not be started: {error}", temporary=False) from error
    if result.timed_out:
        raise _Fault(f"it did not end within {seconds:g} seconds", temporary=True)
    if not result.ok:
        output = " ".join(result.output.split())[-300:]
        reason = f"exit code {result.exit_code}{f': {output}' if output else ''}"
        raise _Fault(reason, temporary=result.exit_code == _TEMPORARY_EXIT)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()
