"""Decides whether an action is allowed, denied, or needs a person's approval.

Deny rules come first, then allow rules, then the policy (`ALLOWED_WITHOUT_ASKING`). A rule names a tool and optionally
a pattern for its argument: `run_command(pytest *)`, `write_file(docs/*)`, `http_get(https://docs.python.org/*)`.
Commands are matched word by word.

A command with shell syntax (`a; b`, `a | b`, `$(a)`) is never allowed by a pattern. Deny rules apply to every command
that a command line, or the code of `run_python`, visibly starts. In doubt, a person is asked. Deny rules guard against
accidents: a started program can start others, and only the sandbox confines those.
"""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from surefoot.core.policy.addresses import fits, is_private_host, parse_address
from surefoot.core.policy.commands import INTERPRETERS, SHELLS, WRAPPERS, Match, in_command_line, in_python, matches

Policy = Literal["ask", "auto-edit", "auto", "never"]
Ruling = Literal["allow", "ask", "deny"]
Effect = Literal["read", "edit", "command", "external"]
"""What a call can do, as its tool declares it. `read`: only read; `edit`: write the files that the call names;
`command`: run a program, within what the sandbox and `execution.network` allow; `external`: use the network, or act
outside the workspace, as the tool declares it (`network`, `external`). Whether commands have the network is not asked
here."""
ALLOWED_WITHOUT_ASKING: Mapping[Policy, tuple[Effect, ...]] = {
    "ask": (),
    "auto-edit": ("edit",),
    "auto": ("edit", "command"),
    "never": ("edit",),
}
"""The effects that each policy allows without asking, besides reading. Others need approval; `never` denies them."""

_RULE = re.compile(r"^\s*([A-Za-z_][\w-]*)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_SHELL = re.compile(r"[;&|<>`\n(){}]|\$[({\w]")
_PATHS = ("path", "source", "target")
_PLAIN = re.compile(r"[\w./+:=,@%-]+")
_HAS_SUBCOMMANDS = frozenset(
    {"git", "hg", "npm", "yarn", "pnpm", "pip", "pip3", "uv", "cargo", "go", "make", "docker", "podman", "kubectl"}
    | {"poetry", "apt", "apt-get", "brew", "conda", "systemctl", "gh", "aws", "gcloud", "terraform", "helm"}
)


def is_rule(text: str) -> bool:
    return _RULE.match(text) is not None


def rule_on(
    effect: Effect,
    tool: str,
    arguments: Mapping[str, Any],
    policy: Policy,
    allow: Sequence[str],
    deny: Sequence[str],
    *,
    resolved: Mapping[str, str] | None = None,
) -> Ruling:
    """Rule on an action. `resolved` has the path arguments with links and `..` resolved."""
    denied = max((_denies(rule, tool, arguments, resolved or {}) for rule in deny), default=Match.NO)
    if denied is Match.CERTAIN:
        return "deny"
    ruling = _ruling(effect, tool, arguments, policy, allow, resolved or {})
    if denied is Match.POSSIBLE and ruling == "allow":
        return "deny" if policy == "never" else "ask"
    return ruling


def _ruling(
    effect: Effect,
    tool: str,
    arguments: Mapping[str, Any],
    policy: Policy,
    allow: Sequence[str],
    resolved: Mapping[str, str],
) -> Ruling:
    if any(_allows(rule, tool, arguments, resolved) for rule in allow):
        return "allow"
    if effect == "read":
        return "allow"
    if effect in ALLOWED_WITHOUT_ASKING[policy]:
        return "allow"
    return "deny" if policy == "never" else "ask"


def suggested_rule(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a rule that would allow this action and similar ones; empty if no rule can."""
    if tool == "run_command":
        return _rule_for_command(_words(str(arguments.get("command", ""))) or [])
    if "url" in arguments:
        address = parse_address(str(arguments["url"]))
        return f"{tool}({address.origin}/*)" if address else ""
    path = str(arguments.get("path", ""))
    return f"{tool}({path})" if path else tool


def _rule_for_command(words: Sequence[str]) -> str:
    if not words or not re.fullmatch(r"[\w./+-]+", words[0]):
        return ""
    name = words[0].rpartition("/")[2]
    if name in SHELLS | WRAPPERS | INTERPRETERS or re.match(r"(python|pypy)[\d.]*$", name):
        # A rule with `*` would allow any program.
        return f"run_command({' '.join(words)})" if all(map(_PLAIN.fullmatch, words)) else ""
    if name in _HAS_SUBCOMMANDS and len(words) > 1:
        return f"run_command({words[0]} {words[1]} *)" if re.fullmatch(r"[a-z][\w-]*", words[1]) else ""
    return f"run_command({words[0]} *)"


# -- deny ----------------------------------------------------------------------------------------------------------


def _denies(rule: str, tool: str, arguments: Mapping[str, Any], resolved: Mapping[str, str]) -> Match:
    parsed = _RULE.match(rule)
    if parsed is None:
        return Match.NO
    name, pattern = parsed.group(1), (parsed.group(2) or "*").strip() or "*"
    if name == "run_command" and tool == "run_python":
        return matches(pattern, in_python(str(arguments.get("code", ""))))
    if name != tool:
        return Match.NO
    if pattern == "*":
        return Match.CERTAIN
    if "command" in arguments:
        return matches(pattern, in_command_line(str(arguments["command"])))
    if "url" in arguments:
        url = str(arguments["url"])
        address = parse_address(url)
        texts = [url, str(address)] if address else [url]
        fitting = address is not None and fits(pattern, address)
        denied = fitting or any(fnmatchcase(text.lower(), pattern.lower()) for text in texts)
        return Match.CERTAIN if denied else Match.NO
    paths = [*_paths(arguments), *resolved.values(), *(str(arguments[key]) for key in _PATHS if key in arguments)]
    return Match.CERTAIN if any(fnmatchcase(path, posixpath.normpath(pattern)) for path in paths) else Match.NO


# -- allow ---------------------------------------------------------------------------------------------------------


def _allows(rule: str, tool: str, arguments: Mapping[str, Any], resolved: Mapping[str, str]) -> bool:
    parsed = _RULE.match(rule)
    if parsed is None or parsed.group(1) != tool:
        return False
    pattern = (parsed.group(2) or "*").strip() or "*"
    if "url" in arguments:
        return _allows_address(pattern, str(arguments["url"]))
    if pattern == "*":
        return True
    if "command" in arguments:
        words = _words(str(arguments["command"]))
        return words is not None and _words_match(re.split(r"[ \t]+", pattern), words)
    paths = list(resolved.values()) or _paths(arguments)
    return bool(paths) and all(fnmatchcase(path, posixpath.normpath(pattern)) for path in paths)


def names_host(url: str, tool: str, allow: Sequence[str]) -> bool:
    """Whether a rule allows this address and names its host, as private addresses require."""
    address = parse_address(url)
    rules = [parsed for rule in allow if (parsed := _RULE.match(rule)) and parsed.group(1) == tool]
    return address is not None and any(fits(rule.group(2) or "*", address, explicit=True) for rule in rules)


def _allows_address(pattern: str, url: str) -> bool:
    """Whether the pattern fits. For a private address it must name the host."""
    address = parse_address(url)
    return address is not None and fits(pattern, address, explicit=is_private_host(address.host))


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    return [posixpath.normpath(str(arguments[key])) for key in _PATHS if key in arguments]


def _words_match(patterns: Sequence[str], words: Sequence[str]) -> bool:
    """Match word by word. A trailing `*` matches any number of further words, including none."""
    if patterns and patterns[-1] == "*":
        patterns, words = patterns[:-1], words[: len(patterns) - 1]
    return len(patterns) == len(words) and all(map(fnmatchcase, words, patterns))


def _words(command: str) -> list[str] | None:
    """Return the words of a simple command; None if it is empty or uses shell syntax."""
    if not command.strip() or _SHELL.search(command):
        return None
    try:
        return shlex.split(command)
    except ValueError:
        return None
