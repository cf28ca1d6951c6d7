"""The two tokens of the server: `control` allows everything, `view` only reading. They are in a file that only the user
can read.

The tokens outlive the server, so that a page can connect again after a restart. The file is checked on every request,
so replacing a token takes effect at once.
"""

import hmac
import json
import os
import secrets
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from surefoot.errors import SurefootError

Scope: TypeAlias = Literal["control", "view"]


class Tokens:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file_version: tuple[int, int, int] | None = None
        self._tokens: dict[Scope, str] = {}

    def ensure(self, *, replace: bool = False) -> None:
        """Create the tokens if they are missing. With `replace`, create new ones in any case."""
        if replace or set(self._load()) != set(get_args(Scope)):
            self._store({scope: secrets.token_urlsafe(32) for scope in get_args(Scope)})

    def revoke(self, scope: Scope) -> None:
        """Replace one token. The old one is refused from now on, and sockets that use it are closed."""
        self._store({**self._load(), scope: secrets.token_urlsafe(32)})

    def get(self, scope: Scope) -> str:
        return self._load()[scope]

    def scope_of(self, token: str) -> Scope | None:
        """The scope of a token; None if it is not valid. Takes equally long for every wrong token."""
        encoded, result = token.encode("utf-8", "replace"), None
        for scope, valid in self._load().items():
            if hmac.compare_digest(encoded, valid.encode()):
                result = scope
        return result

    def _load(self) -> dict[Scope, str]:
        try:
            stat = self._path.stat()
            version = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if version != self._file_version:
                tokens = json.loads(self._path.read_text("utf-8"))
                self._tokens = {cast(Scope, s): str(tokens[s]) for s in get_args(Scope) if tokens.get(s)}
                self._file_version = version
        except FileNotFoundError:
            self._tokens, self._file_version = {}, None
        except (OSError, ValueError, AttributeError) as error:
            raise SurefootError(f"the tokens in {self._path} cannot be read: {error}", remedy="remove it") from error
        return self._tokens

    def _store(self, tokens: dict[Scope, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(tokens, file)
        unfinished.replace(self._path)
