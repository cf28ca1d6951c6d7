"""Connects to the database of a journal, and translates PostgreSQL's errors. Nothing here repeats a password."""

from typing import TYPE_CHECKING, Any, TypeAlias

from surefoot.config.extras import install_remedy
from surefoot.config.storage import DATABASE_REMEDY, passwords_in, shown_database
from surefoot.errors import ConfigError, JournalBroken, JournalBusy, JournalError, JournalFull, JournalUnreachable

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

PARAMETERS = {
    "connect_timeout": "10",
    "application_name": "surefoot",
    # A peer that disappears is noticed after half a minute, not after hours.
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""Parameters of connections that the URL does not set itself."""
NO_ROOM = ("53100", "53200")
NO_ACCESS = ("28", "42501", "3D000")
REFUSALS = ("authentication failed", "no pg_hba.conf entry", " does not exist", "permission denied")
"""Messages of a server that refuses a connection. The client reports no SQLSTATE with them."""
TOO_MANY = "53300"


def connect(url: str) -> "Connection":
    """Open a connection in autocommit mode, so that no transaction stays open if this process is stopped."""
    psycopg = driver()
    try:
        parameters = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        # The message of the driver may repeat the password.
        raise ConfigError(
            "the URL of the database cannot be read by PostgreSQL's client", remedy=DATABASE_REMEDY
        ) from None
    try:
        connection: Connection = psycopg.connect("", autocommit=True, **{**PARAMETERS, **parameters})
        return connection
    except psycopg.Error as error:
        raise journal_error(url, error) from None


def driver() -> Any:
    """Import psycopg, which belongs to an extra. Raises ConfigError if it is missing."""
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise ConfigError(
            f"a journal in PostgreSQL needs psycopg, which is not installed or does not load: {error}",
            remedy=install_remedy("postgres"),
        ) from error
    return psycopg


def is_lost(error: Exception, connection: "Connection") -> bool:
    """Whether the connection is lost, so that the statement may or may not have been executed."""
    return connection.closed or (isinstance(error, driver().OperationalError) and not getattr(error, "sqlstate", None))


def journal_error(url: str, error: Exception) -> JournalError:
    """Return the JournalError for an error of PostgreSQL or its client."""
    where, text = shown_database(url), _without_passwords(url, error)
    state = getattr(error, "sqlstate", None) or ""
    if state in NO_ROOM:
        return JournalFull(
            f"the database {where} has no room: {text}", remedy="free some space there and resume; no event is lost"
        )
    if state == TOO_MANY or "too many clients" in text:
        return JournalBusy(
            f"the database {where} has no free connection: {text}", remedy="raise max_connections, or use a pooler"
        )
    if state.startswith(NO_ACCESS) or any(words in text for words in REFUSALS):
        return JournalError(
            f"the database {where} refuses access: {text}",
            remedy="check user, password and name of the database, and its rights; "
            "the first use also creates the schema `surefoot`",
        )
    if state.startswith("XX"):
        return broken(url, text)
    if not state or state.startswith(("08", "57P", "25P")):
        return JournalUnreachable(
            f"the database {where} does not answer: {text}",
            remedy="see that the server runs and can be reached from here, then resume; no acknowledged event is lost",
        )
    return JournalError(f"the journal in {where} could not be used: {text}", remedy="see the log of the server")


def broken(url: str, reason: str) -> JournalBroken:
    return JournalBroken(
        f"the journal in {shown_database(url)} is damaged: {reason}", remedy="restore the database from a backup"
    )


def _without_passwords(url: str, error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    for password in passwords_in(url):
        text = text.replace(password, "[redacted]")
    return text
