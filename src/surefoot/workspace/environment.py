"""What a command gets to know of the environment Surefoot runs in, and the shell it is given to."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from surefoot.redact import is_secret_name, provider_keys


def shell_argv(command: str) -> list[str]:
    """A shell that runs `command` and reads no start-up files."""
    return ["/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh", "-c", command]


ALLOWED = frozenset((
    # who and where
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
    # where tools and their parts are installed
    "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "PYTHONUTF8",
    "PYTHONHASHSEED", "NVM_DIR", "NVM_BIN", "NODE_PATH", "GOPATH", "GOROOT", "GOTOOLCHAIN", "CARGO_HOME",
    "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "GEM_HOME", "GEM_PATH", "DOTNET_ROOT", "ANDROID_HOME",
    "SDKMAN_DIR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "CC", "CXX", "NIX_PATH", "NIX_PROFILES",
    # which certificates to trust
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
))  # fmt: skip
ALWAYS = {
    # no colours, pagers, editors or questions: nobody is at the terminal
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    # what a program said before it was killed is seen
    "PYTHONUNBUFFERED": "1",
    # looking does not change the workspace
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


def command_env(extra_allowed: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment commands get: a short list of names, and nothing that is a secret of a model provider.

    `extra_allowed` are more names that the user has chosen; a provider's key does not pass even then.
    """
    given = os.environ if environ is None else environ
    keys = provider_keys(given)
    chosen = {
        name: value
        for name, value in given.items()
        if (name in ALLOWED or name.startswith("LC_") or name in extra_allowed)
        and name not in keys
        and value not in keys.values()
        and (name in extra_allowed or not is_secret_name(name))
    }
    chosen.setdefault("LANG", "C.UTF-8")
    # Relative places in PATH would let a workspace bring its own `git`. Surefoot's own Python comes last, so that
    # there is one also where the system has none under that name.
    path = [p for p in chosen.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(":") if p.startswith("/")]
    own = str(Path(sys.executable).parent)
    chosen["PATH"] = ":".join(path if own in path else [*path, own])
    return {**chosen, **ALWAYS}
