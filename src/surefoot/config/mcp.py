"""The section [mcp.servers.NAME]: programs and addresses that offer tools over the Model Context Protocol."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from pydantic import Field, ValidationError, field_validator, model_validator

from surefoot.config.fields import Sourced
from surefoot.config.model import is_safe_address
from surefoot.core.values import Value, wrong_fields
from surefoot.errors import ConfigError

SECTION = "mcp"
_NAME = re.compile(r"(?!.*__)[A-Za-z][A-Za-z0-9_-]{0,30}[A-Za-z0-9]|[A-Za-z]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


class McpServer(Value):
    """One server. Not part of a run, so that its journal has neither commands nor addresses."""

    command: str = ""
    """The program of a server that talks over its standard streams: a name on PATH, or an absolute path."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for the program, with their values. Secrets do not belong here."""
    pass_env: tuple[str, ...] = ()
    """Names of variables that the program inherits from Surefoot's own environment."""
    url: str = ""
    """The address of a server that talks over streamable HTTP."""
    headers_env: dict[str, str] = Field(default_factory=dict)
    """HTTP headers, each with the name of the environment variable that has its whole value."""
    tools: tuple[str, ...] = ()
    """The tools that are offered. Empty: all."""
    alternatives: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By tool: the tools to use instead when it keeps failing; those of other servers by their full names."""
    compensate: dict[str, str] = Field(default_factory=dict)
    """By tool: the tool that undoes what it did."""
    trust_annotations: bool = True
    """Whether a tool that is annotated as read-only is used without asking. False: every tool needs approval."""
    start_seconds: float = Field(default=60, gt=0, le=600)
    """How long the server may take to start and to list its tools."""
    call_seconds: float = Field(default=120, gt=0, le=3600)
    """How long one call may take."""

    @field_validator("env")
    @classmethod
    def _refuse_secrets(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            _require_variable(name)
            if _SECRET.search(name):
                raise ValueError(f'{name} looks like a secret: set it in your environment, and pass_env = ["{name}"]')
        return env

    @field_validator("pass_env")
    @classmethod
    def _require_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            _require_variable(name)
        return names

    @field_validator("headers_env")
    @classmethod
    def _require_variables(cls, headers: dict[str, str]) -> dict[str, str]:
        for header, variable in headers.items():
            if not re.fullmatch(r"[A-Za-z0-9-]+", header):
                raise ValueError(f"{header!r} is not the name of a header")
            _require_variable(variable)
        return headers

    @model_validator(mode="after")
    def _require_one_kind(self) -> "McpServer":
        if bool(self.command.strip()) == bool(self.url):
            raise ValueError("it needs either a command or a url")
        if self.url and not is_safe_address(self.url):
            raise ValueError("url must be an https address without a user name; http only for this machine")
        if "/" in self.command and not self.command.startswith("/"):
            raise ValueError("command must be a name on PATH or an absolute path")
        if self.url and (self.args or self.env or self.pass_env):
            raise ValueError("args, env and pass_env are for a command")
        if self.command and self.headers_env:
            raise ValueError("headers_env is for a url")
        return self

    @property
    def kind(self) -> Literal["stdio", "http"]:
        return "http" if self.url else "stdio"

    @property
    def fingerprint(self) -> str:
        """Identifies the command or address. A different one may offer different tools."""
        return _hash([self.command, self.args, self.url])

    @property
    def definition(self) -> str:
        """Identifies the whole entry. A project's server is trusted exactly as it is defined."""
        return _hash(self.model_dump(mode="json"))

    def __str__(self) -> str:
        return self.url or " ".join([self.command, *self.args])


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    name: str
    settings: McpServer
    source: str
    """The file and line of the entry."""


def read_servers(entries: Mapping[str, Any], where: str) -> dict[str, McpServer]:
    """Read the section [mcp]. Raises ConfigError for an invalid entry."""
    if unknown := entries.keys() - {"servers"}:
        raise ConfigError(f"{where}: {min(unknown)} is not a setting of [mcp]", remedy="write [mcp.servers.NAME]")
    servers = entries.get("servers", {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{where}: servers is a section, not a value", remedy="write [mcp.servers.NAME]")
    return {name: _read_server(name, entry, where) for name, entry in servers.items()}


def _read_server(name: str, entry: Any, where: str) -> McpServer:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: {name!r} is not a name for an MCP server",
            remedy="use up to 32 letters, digits, - and single _, with a letter first",
        )
    if not isinstance(entry, dict):
        raise ConfigError(f"{where}: {name} is a section, not a value", remedy=f"write it as [mcp.servers.{name}]")
    try:
        return McpServer.model_validate_json(json.dumps(entry, default=str), strict=True)
    except ValidationError as error:
        _refuse(name, where, error)


def _refuse(name: str, where: str, error: ValidationError) -> NoReturn:
    first = error.errors(include_url=False, include_input=False)[0]
    place, problem = wrong_fields(error)[0]
    if first["type"] == "extra_forbidden":
        problem = f"there is no such setting; the settings are {', '.join(McpServer.model_fields)}"
    raise ConfigError(
        f"{where}: the MCP server {name}: {f'{place}: ' if place else ''}{problem}", remedy="see docs/guides/mcp.md"
    ) from error


def servers_in(listed: Mapping[str, Sourced]) -> dict[str, ConfiguredServer]:
    """Return the servers among all settings, by name."""
    prefix = f"{SECTION}.servers."
    return {
        name.removeprefix(prefix): ConfiguredServer(name.removeprefix(prefix), item.value, item.source)
        for name, item in listed.items()
        if name.startswith(prefix)
    }


def _require_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("it must be the name of an environment variable; write secrets into a variable")


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
