"""Where runs are recorded: a file in the state folder, or a PostgreSQL database that several machines share.

Every command needs this, even one that only lists runs. So this module reads its section of the user's config itself,
without loading all settings.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from surefoot.config import paths
from surefoot.errors import ConfigError

DATABASE_VARIABLE = "SUREFOOT_DATABASE"
OBJECTS_VARIABLE = "SUREFOOT_OBJECTS"
LEASE_VARIABLE = "SUREFOOT_STORAGE__LEASE_SECONDS"
LEASE_SECONDS: float = 30
SHORTEST_LEASE = 0.5
SCHEMES = ("postgresql", "postgres")
_SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret")


@dataclass(frozen=True, slots=True)
class Storage:
    """The settings of `[storage]`. Without a database, the journal is a file."""

    database: str | None = None
    objects: str | None = None
    lease_seconds: float = LEASE_SECONDS


def read_storage(environ: Mapping[str, str] = os.environ) -> Storage:
    """Read the settings: variables take precedence over the user's config. A project's config is not read."""
    section = user_section("storage", environ)
    database = environ.get(DATABASE_VARIABLE, "").strip()
    objects = environ.get(OBJECTS_VARIABLE, "").strip()
    lease = environ.get(LEASE_VARIABLE, "").strip()
    source = DATABASE_VARIABLE if database else str(paths.user_config(environ))
    database = database or str(section.get("database") or "")
    if database and (problem := database_problem(database, in_file=source != DATABASE_VARIABLE)):
        raise ConfigError(f"{source}: database must be {problem}", remedy=DATABASE_REMEDY)
    return Storage(
        database or None,
        objects or str(section.get("objects") or "") or None,
        _seconds(lease or section.get("lease_seconds")),
    )


DATABASE_REMEDY = (
    f"write postgresql://USER@HOST:PORT/NAME; a password belongs in {DATABASE_VARIABLE}, PGPASSWORD or ~/.pgpass"
)


def database_problem(url: str, *, in_file: bool = False) -> str:
    """Return what the URL must be instead; empty if it is valid. Never repeats the URL, which may have a password."""
    try:
        parts = urlsplit(url)
        port_is_right = parts.port is None or parts.port > 0
    except ValueError:
        return "the URL of a PostgreSQL database"
    if parts.scheme not in SCHEMES or "://" not in url or not port_is_right:
        return "the URL of a PostgreSQL database"
    if in_file and passwords_in(url):
        return "a URL without a password, because a config file must not contain one"
    return ""


def shown_database(url: str) -> str:
    """Return the URL without its password and parameters: `postgresql://user@host:5432/name`."""
    try:
        parts = urlsplit(url)
        user = f"{parts.username}@" if parts.username else ""
        host = parts.hostname or dict(parse_qsl(parts.query)).get("host", "")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "a database whose URL cannot be read"
    return f"postgresql://{user}{host}{port}/{parts.path.lstrip('/')}"


def passwords_in(url: str) -> list[str]:
    """Return the secret parts of a URL, as written and percent-decoded."""
    try:
        parts = urlsplit(url)
        passwords = [parts.password or ""]
    except ValueError:
        return [url]
    passwords += [value for name, value in parse_qsl(parts.query) if name.lower() in _SECRET_PARAMETERS]
    return [form for value in passwords if value for form in dict.fromkeys((value, unquote(value)))]


def storage_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the database passwords in these variables, and the URL if it has one, by name for a redactor."""
    url = environ.get(DATABASE_VARIABLE, "").strip()
    passwords = passwords_in(url) if url else []
    named = {f"the password of {DATABASE_VARIABLE} {n}": value for n, value in enumerate(passwords)}
    if passwords:
        named[DATABASE_VARIABLE] = url
    if password := environ.get("PGPASSWORD", ""):
        named["PGPASSWORD"] = password
    return named


def user_section(name: str, environ: Mapping[str, str]) -> Mapping[str, object]:
    """Return one section of the user's config, for commands that need no other; empty if it cannot be read."""
    try:
        content = paths.user_config(environ).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        # Commands that load all settings report this.
        return {}
    if name not in content:
        return {}
    try:
        section = tomllib.loads(content).get(name, {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{paths.user_config(environ)}: not valid TOML: {error}", remedy="correct it; see docs/configuration.md"
        ) from error
    return section if isinstance(section, dict) else {}


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value)) if value else LEASE_SECONDS
    except ValueError:
        seconds = 0.0
    if not SHORTEST_LEASE <= seconds <= 86_400:
        raise ConfigError(
            f"lease_seconds must be a number from {SHORTEST_LEASE:g} to 86,400",
            remedy=f"correct it, or remove it to use {LEASE_SECONDS:g}",
        )
    return seconds
