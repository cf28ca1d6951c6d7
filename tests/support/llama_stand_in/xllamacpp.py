"""A stand-in for xllamacpp, for tests of the server process that need no weights.

It listens on the given address and reports its settings. It can load for ever, and then blocks all Python code, as the
real one does.
"""

import ctypes
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

if os.environ.get("STAND_IN") == "broken":
    raise ImportError("libgomp.so.1: cannot open shared object file: No such file or directory")


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    def __init__(self, parameters: Any) -> None:
        print("this goes to stdout and is not the answer", flush=True)
        if os.environ.get("STAND_IN") == "loads for ever":
            while True:
                ctypes.PyDLL(None).sleep(1000)
        try:
            self._http = ThreadingHTTPServer((parameters.hostnames[0], parameters.port), _handler(parameters))
        except OSError as error:
            os.write(2, b"0.00.003.765 E srv  start: couldn't bind, port: %d\n" % parameters.port)
            raise RuntimeError("Failed to init server") from error
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{self._http.server_address[1]}"


def _handler(parameters: Any) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"threads": parameters.cpuparams.n_threads, "spins": os.environ["GOMP_SPINCOUNT"]})
            self.send_response(200 if self.headers["Authorization"] == f"Bearer {parameters.api_keys[0]}" else 401)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler
