"""The server with a real certificate on an address that others reach, and clients that verify it."""

import asyncio
import contextlib
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import socketio

from support.recorded import whole_run
from surefoot.errors import UsageError
from surefoot.journal import events as e
from surefoot.journal.store.sqlite import SqliteJournal
from surefoot.server.app import Server, ServerOptions

pytestmark = pytest.mark.slow

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl makes the certificates: apt-get install openssl")


def openssl(folder: Path, *words: str) -> None:
    subprocess.run([str(OPENSSL), *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate by it for the name `localhost`."""
    folder = tmp_path_factory.mktemp("certificates")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    own = ("-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    openssl(folder, "req", "-x509", *new_key, *own)
    openssl(folder, "req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2")
    openssl(folder, "x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
    return folder


@contextlib.asynccontextmanager
async def served(home: Path, *words: str) -> AsyncIterator[tuple[str, str]]:
    """`surefoot serve` as a process. Gives its address and its token."""
    environ = {"SUREFOOT_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "surefoot", "serve", "--no-open", "--port", "0", *words),
        env=environ,
        cwd=home,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode().strip()
        assert line, (await process.communicate())[1].decode()
        base, _, token = line.partition("/#t=")
        yield base, token
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.communicate()


@needs_openssl
@pytest.mark.req("A7")
async def test_https_and_wss_with_a_verified_certificate(certificates: Path, tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    run = whole_run()
    assert isinstance(run[0].event, e.RunCreated)
    run_id = run[0].event.run_id
    await journal.append(run_id, [record.event for record in run])
    journal.close()
    tls = ("--tls-cert", str(certificates / "server.pem"), "--tls-key", str(certificates / "server.key"))
    trusting = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    async with served(tmp_path, "--host", "0.0.0.0", "--allow-host", "localhost", *tls) as (base, token):
        # The link has the name by which it is reached, not the address on which it listens.
        assert base.startswith("https://localhost:"), base
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(verify=trusting) as client:
            listed = await client.get(f"{base}/api/runs", headers=headers)
            assert [row["id"] for row in listed.json()["runs"]] == [run_id]
            page = await client.get(f"{base}/")
            assert f"wss://localhost:{base.rpartition(':')[2]}" in page.headers["content-security-policy"]
        with pytest.raises(httpx2.ConnectError, match="certificate verify failed"):
            async with httpx2.AsyncClient() as stranger:
                await stranger.get(f"{base}/api/runs", headers=headers)
        with pytest.raises(httpx2.TransportError):
            async with httpx2.AsyncClient() as plain:
                await plain.get(base.replace("https:", "http:"))

        snapshots: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        socket = socketio.AsyncClient(reconnection=False, websocket_extra_options={"ssl": trusting})
        socket.on("run:snapshot", snapshots.put)
        await socket.connect(base, headers=headers, auth={"token": token}, transports=["websocket"])
        await socket.call("run:watch", {"run": run_id})
        assert (await asyncio.wait_for(snapshots.get(), 60))["seq"] == len(run)
        await socket.disconnect()
        unverified = socketio.AsyncClient(reconnection=False)
        with pytest.raises(socketio.exceptions.ConnectionError):
            await unverified.connect(base, headers=headers, auth={"token": token}, transports=["websocket"])


@needs_openssl
def test_a_certificate_that_cannot_be_used_is_refused_with_the_reason(certificates: Path, tmp_path: Path) -> None:
    def options(cert: str, key: str) -> ServerOptions:
        return ServerOptions(home=tmp_path, cwd=tmp_path, port=0, tls_cert=cert, tls_key=key)

    good = str(certificates / "server.pem")
    with pytest.raises(UsageError, match="No such file"):
        Server(options(good, str(tmp_path / "missing.key")))
    with pytest.raises(UsageError, match="cannot be used") as mismatch:
        Server(options(good, str(certificates / "ca.key")))
    assert "PEM" in mismatch.value.remedy


async def test_without_tls_another_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="would not be encrypted"):
        async with served(tmp_path, "--host", "0.0.0.0", "--allow-host", "localhost"):
            pass
