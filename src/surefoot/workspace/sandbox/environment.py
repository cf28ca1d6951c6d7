"""The environment variables and the shell of a command."""

import os
from collections.abc import Mapping
from pathlib import Path

from surefoot.journal.redact import is_secret_name, provider_keys
from surefoot.workspace.process.launch import own_python


def shell_argv(command: str) -> list[str]:
    """Return the argv of a shell that runs `command` and reads no start-up files."""
    return ["/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh", "-c", command]


ALLOWED = frozenset((
    # user and locale
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    # locations of tools and libraries
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONUTF8",
    "PYTHONHASHSEED", "NVM_DIR", "NVM_BIN", "NODE_PATH", "GOPATH", "GOROOT", "GOTOOLCHAIN", "CARGO_HOME",
    "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GEM_HOME", "GEM_PATH", "DOTNET_ROOT", "ANDROID_HOME",
    "SDKMAN_DIR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CC", "CXX", "NIX_PATH", "NIX_PROFILES",
    # trusted certificates
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
))  # fmt: skip
ALWAYS = {
    # no colours, pagers, editors or prompts: there is no terminal
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # the output of a killed program is not lost in a buffer
    "PYTHONUNBUFFERED": "1",
    # commands that only read do not change the workspace
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


def command_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of commands: an allowlist of names, without any secret of a model provider."""
    source = os.environ if environ is None else environ
    keys = provider_keys(source)
    env = {
        name: value
        for name, value in source.items()
        if (name in ALLOWED or name.startswith("LC_"))
        and name not in keys
        and value not in keys.values()
        and not is_secret_name(name)
    }
    env.setdefault("LANG", "C.UTF-8")
    # Relative entries in PATH would let a workspace supply its own `git`. The folder of Surefoot's Python comes last,
    # so that `python` exists even if the system has none.
    path = [entry for entry in env.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if entry.startswith("/")]
    own = str(Path(own_python()).parent)
    env["PATH"] = ":".join(path if own in path else [*path, own])
    return {**env, **ALWAYS}
