"""The two tokens of the server: `control` may do everything, `view` only looks. They are in a file of the user's own.

They outlive the server, so that a page finds its run again after a restart. The file is looked at for every request:
replacing a token takes effect at once.
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
        self._seen: tuple[int, int, int] | None = None
        self._tokens: dict[Scope, str] = {}

    def ensure(self, *, replace: bool = False) -> None:
        """Create the tokens, or with `replace` new ones."""
        if replace or set(self._load()) != set(get_args(Scope)):
            self._store({scope: secrets.token_urlsafe(32) for scope in get_args(Scope)})

    def revoke(self, scope: Scope) -> None:
        """Replace one token. The old one is refused from now on, and sockets that use it are closed."""
        self._store({**self._load(), scope: secrets.token_urlsafe(32)})

    def get(self, scope: Scope) -> str:
        return self._load()[scope]

    def scope_of(self, token: str) -> Scope | None:
        """What the holder of this token may do; None if it is not valid. Takes equally long for every wrong token."""
        given, found = token.encode("utf-8", "replace"), None
        for scope, valid in self._load().items():
            if hmac.compare_digest(given, valid.encode()):
                found = scope
        return found

    def _load(self) -> dict[Scope, str]:
        try:
            stat = self._path.stat()
            seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if seen != self._seen:
                tokens = json.loads(self._path.read_text("utf-8"))
                self._tokens = {cast(Scope, s): str(tokens[s]) for s in get_args(Scope) if tokens.get(s)}
                self._seen = seen
        except FileNotFoundError:
            self._tokens, self._seen = {}, None
        except (OSError, ValueError, AttributeError) as error:
            raise SurefootError(f"the tokens in {self._path} cannot be read: {error}", remedy="remove it") from error
        return self._tokens

    def _store(self, tokens: dict[Scope, str]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        unfinished = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(tokens, file)
        unfinished.replace(self._path)
