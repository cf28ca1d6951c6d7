"""The files of the user that neither commands nor file tools may read: keys, tokens, logins, histories.

The sandboxes hide them. The file tools refuse them where the workspace contains them. Most of these files can be moved
with an environment variable, so the variables are read too.
"""

import os
import pwd
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from surefoot.config import paths
from surefoot.workspace.sandbox.real_paths import places_below

AT_HOME = (
    # keys, certificates and logins of the command line
    ".ssh", ".gnupg", ".password-store", ".netrc", ".authinfo", ".authinfo.gpg", ".git-credentials", ".gitcookies",
    ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli", ".config/tea", ".config/lab", ".gcm",
    ".age", ".config/age", ".config/sops", ".pki", ".step", ".config/step", ".local/share/mkcert", ".acme.sh",
    ".vault-token", ".google_authenticator", ".config/Yubico", ".wireguard", ".config/wireguard", ".env",
    ".k5login", ".smbcredentials", ".davfs2/secrets", ".config/filezilla", ".filezilla", ".config/lftp",
    ".local/share/lftp", ".putty", ".config/remmina", ".local/share/remmina", ".vnc", ".config/freerdp",
    ".config/rustdesk", ".anydesk", ".config/syncthing", ".local/state/syncthing", ".config/Nextcloud", ".dropbox",
    # password stores and keyrings
    ".config/op", ".op", ".1password", ".config/1Password", ".config/Bitwarden", ".config/Bitwarden CLI",
    ".config/keepassxc", ".cache/keepassxc", ".lpass", ".local/share/lpass", ".config/lpass", ".config/rbw",
    ".local/share/rbw", ".cache/rbw", ".config/gopass", ".local/share/gopass", ".config/Enpass",
    ".local/share/keyrings", ".local/share/kwalletd",
    # clouds
    ".aws", ".saml2aws", ".awsvault", ".azure", ".config/gcloud", ".boto", ".s3cfg", ".mc", ".oci", ".aliyun", ".tccli",
    ".bluemix", ".config/openstack", ".config/doctl", ".config/linode-cli", ".config/hcloud", ".config/scw",
    ".config/exoscale", ".vultr-cli.yaml", ".civo.json", ".ovh.conf", ".config/ovh", ".config/rclone", ".config/heroku",
    ".fly", ".railway", ".config/netlify", ".netlify", ".local/share/com.vercel.cli", ".config/com.vercel.cli",
    ".wrangler", ".config/.wrangler", ".supabase", ".config/configstore", ".expo", ".cf", ".config/ngrok", ".ngrok2",
    ".config/stripe", ".twilio-cli", ".config/twilio-cli", ".sentryclirc", ".circleci", ".travis", ".jira.d",
    ".config/jira", ".config/.jira", ".config/borg", ".config/restic",
    # infrastructure, clusters and containers
    ".terraform.d", ".terraformrc", ".pulumi/credentials.json", ".config/pulumi", ".kube", ".minikube", ".rancher",
    ".argocd", ".config/argocd", ".config/helm", ".docker", ".config/containers/auth.json", ".local/share/containers",
    ".local/share/docker", ".colima", ".lima", ".orbstack", ".rd",
    # package registries
    ".npmrc", ".yarnrc.yml", ".config/pnpm/rc", ".pypirc", ".config/pypoetry/auth.toml", ".local/share/uv/credentials",
    ".config/hatch", ".config/binstar", ".local/share/binstar", ".continuum", ".gem/credentials",
    ".local/share/gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".sbt/.credentials", ".ivy2/.credentials",
    ".lein/credentials.clj.gpg", ".config/coursier/credentials.properties", ".nuget/NuGet/NuGet.Config",
    ".config/NuGet/NuGet.Config", ".composer/auth.json", ".config/composer/auth.json", ".hex/hex.config",
    ".config/dart/pub-credentials.json", ".pause", ".conan2/credentials.json", ".conan/.conan.db",
    # databases
    ".pgpass", ".pg_service.conf", ".my.cnf", ".mylogin.cnf", ".mongodb", ".cassandra", ".clickhouse-client",
    ".config/pgcli", ".config/mycli", ".config/litecli", ".local/share/DBeaverData", ".config/beekeeper-studio",
    ".influxdbv2", ".config/edgedb", ".config/turso", ".config/planetscale", ".odbc.ini", ".databrickscfg", ".snowsql",
    ".snowflake", ".config/snowflake", ".dbt/profiles.yml",
    # histories: people paste keys into shells
    ".bash_history", ".bash_sessions", ".zsh_history", ".zsh_sessions", ".zhistory", ".histfile", ".sh_history",
    ".ksh_history", ".history", ".tcsh_history", ".local/share/fish/fish_history", ".config/nushell/history.txt",
    ".config/nushell/history.sqlite3", ".local/share/xonsh", ".local/share/atuin", ".local/share/mcfly",
    ".local/state/bash/history", ".local/state/zsh/history", ".local/share/zsh/history", ".cache/zsh/history",
    ".config/zsh/.zsh_history", ".config/zsh/.zhistory", ".local/share/powershell/PSReadLine", ".python_history",
    ".local/state/python_history", ".ipython/profile_default/history.sqlite", ".node_repl_history", ".psql_history",
    ".mysql_history", ".sqlite_history", ".rediscli_history", ".dbshell", ".lesshst", ".viminfo",
    ".local/state/nvim/shada", ".local/share/nvim/shada", ".irb_history", ".pry_history", ".php_history", ".Rhistory",
    ".scala_history", ".julia/logs", ".ghc/ghci_history", ".octave_hist", ".gdb_history", ".cache/cliphist",
    ".local/share/klipper", ".config/copyq",
    # screen and sound: whoever has the cookie can see the screen and type
    ".Xauthority", ".ICEauthority", ".config/pulse/cookie",
    # browsers
    ".mozilla", ".config/mozilla", ".librewolf", ".zen", ".waterfox", ".config/google-chrome", ".config/chromium",
    ".config/google-chrome-beta", ".config/google-chrome-unstable", ".config/BraveSoftware", ".config/microsoft-edge",
    ".config/vivaldi", ".config/opera", ".config/yandex-browser", ".local/share/qutebrowser", ".local/share/epiphany",
    ".local/share/torbrowser", "snap/firefox", "snap/chromium", "snap/brave", ".var/app",
    # mail and messengers
    ".thunderbird", ".config/evolution", ".local/share/evolution", ".muttrc", ".mutt", ".config/mutt",
    ".config/neomutt", ".config/aerc", ".config/himalaya", ".mbsyncrc", ".config/isyncrc", ".offlineimaprc", ".msmtprc",
    ".config/msmtp", ".fetchmailrc", ".getmail", ".mailrc", ".claws-mail", ".local/share/geary", ".config/Slack",
    ".config/discord", ".config/Signal", ".config/Element", ".local/share/TelegramDesktop", ".config/teams-for-linux",
    ".config/Microsoft", ".purple", ".weechat", ".config/weechat", ".local/share/weechat", ".irssi",
    # other agents, editors with logins, and model providers
    ".claude", ".claude.json", ".config/Claude", ".codex", ".gemini", ".qwen", ".grok", ".config/openai", ".openai",
    ".config/anthropic", ".anthropic", ".config/github-copilot", ".copilot", ".aider.conf.yml", ".continue", ".codeium",
    ".windsurf", ".cursor", ".config/Cursor/User/globalStorage", ".config/Code/User/globalStorage",
    ".config/VSCodium/User/globalStorage", ".config/Windsurf/User/globalStorage", ".config/JetBrains", ".config/goose",
    ".local/share/goose", ".config/opencode", ".local/share/opencode", ".config/crush", ".local/share/crush",
    ".config/amp", ".local/share/amp", ".config/io.datasette.llm", ".config/fabric", ".config/shell_gpt",
    ".config/aichat", ".kiro", ".factory", ".augment", ".mcp-auth", ".n8n", ".ollama/id_ed25519", ".lmstudio/.internal",
    ".modal.toml", ".runpod", ".comet.config", ".kaggle", ".config/wandb", ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens", ".huggingface", ".config/surefoot",
)  # fmt: skip

IN_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/ssl/private", "/etc/letsencrypt", "/etc/kubernetes", "/etc/rancher", "/etc/wireguard", "/etc/openvpn",
    "/etc/NetworkManager/system-connections", "/etc/krb5.keytab", "/etc/docker/key.json",
    "/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/run/secrets",
    "/var/lib/tailscale", "/var/lib/sss",
)  # fmt: skip
"""Not readable for most users anyway; they matter when Surefoot runs as root."""

NAMED_BY_VARIABLES = (
    "SSH_AUTH_SOCK", "GNUPGHOME", "PASSWORD_STORE_DIR", "NETRC", "SOPS_AGE_KEY_FILE", "STEPPATH", "CAROOT",
    "XDG_RUNTIME_DIR", "XAUTHORITY", "ICEAUTHORITY", "PULSE_COOKIE", "KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME",
    "DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS", "GH_CONFIG_DIR", "GLAB_CONFIG_DIR",
    "BITWARDENCLI_APPDATA_DIR", "LPASS_HOME", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG", "GOOGLE_APPLICATION_CREDENTIALS",
    "BOTO_CONFIG", "OCI_CLI_CONFIG_FILE", "OS_CLIENT_CONFIG_FILE", "SCW_CONFIG_PATH", "RCLONE_CONFIG",
    "RESTIC_PASSWORD_FILE", "BORG_KEYS_DIR", "TF_CLI_CONFIG_FILE", "ANSIBLE_VAULT_PASSWORD_FILE", "KUBECONFIG",
    "HELM_CONFIG_HOME", "HELM_REGISTRY_CONFIG", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "COLIMA_HOME", "LIMA_HOME",
    "NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "UV_CREDENTIALS_DIR", "COURSIER_CREDENTIALS", "PGPASSFILE",
    "PGSERVICEFILE", "MYSQL_TEST_LOGIN_FILE", "DATABRICKS_CONFIG_FILE", "SNOWFLAKE_HOME", "HISTFILE", "PYTHON_HISTORY",
    "NODE_REPL_HISTORY", "PSQL_HISTORY", "MYSQL_HISTFILE", "SQLITE_HISTORY", "REDISCLI_HISTFILE", "LESSHISTFILE",
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "HF_TOKEN_PATH", "KAGGLE_CONFIG_DIR", "WANDB_CONFIG_DIR",
)  # fmt: skip
"""Variables whose value is the path of a secret file, folder or socket."""

IN_FOLDERS_OF_VARIABLES = {
    "CARGO_HOME": ("credentials", "credentials.toml"),
    "HF_HOME": ("token", "stored_tokens"),
    "GRADLE_USER_HOME": ("gradle.properties",),
    "COMPOSER_HOME": ("auth.json",),
    "POETRY_CONFIG_DIR": ("auth.toml",),
    "PULUMI_HOME": ("credentials.json",),
    "CONAN_HOME": ("credentials.json",),
    "HEX_HOME": ("hex.config",),
    "CF_HOME": (".cf",),
    "IBMCLOUD_HOME": (".bluemix",),
    "MINIKUBE_HOME": (".minikube", "certs", "profiles", "machines"),
    "DBT_PROFILES_DIR": ("profiles.yml",),
    "IPYTHONDIR": ("profile_default/history.sqlite",),
    "ZDOTDIR": (".zsh_history", ".zhistory", ".histfile"),
    "CURL_HOME": (".netrc",),
}
"""Variables whose value is a folder that holds these secret files among others."""

WITH_PASSWORDS = (
    ".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".config/pypoetry/config.toml", ".condarc",
    ".bundle/config", ".cargo/config.toml", ".yarnrc", ".bunfig.toml", ".config/cabal/config", ".cabal/config",
    ".gitconfig", ".config/git/config", ".wgetrc", ".curlrc", ".config/composer/config.json",
)  # fmt: skip
"""Settings that programs need. They are secret only if they contain a password."""

_PASSWORD = re.compile(
    rb"://[^/\s:@]+:[^/\s@]+@|authorization:|_authtoken|(?:password|passwd|token|secret)\s*[=:]\s*\S", re.I
)
_XDG = {
    ".config/": "XDG_CONFIG_HOME",
    ".local/share/": "XDG_DATA_HOME",
    ".local/state/": "XDG_STATE_HOME",
    ".cache/": "XDG_CACHE_HOME",
}
_NOT_HIDDEN = ("/dev", "/proc", "/sys")


def home_folders(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the user's home according to the environment and to the password database, which may differ."""
    homes = [environ.get("HOME", "")]
    with suppress(KeyError):  # a user without an entry, as in many containers
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return tuple(dict.fromkeys(Path(p).resolve() for p in homes if p.startswith("/") and p != "/"))


def at_home(names: Iterable[str], environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield the path of each name in the user's home, and the one that XDG variables move it to."""
    homes = home_folders(environ)
    for name in names:
        for home in homes:
            yield home / name
        for prefix, variable in _XDG.items():
            moved = environ.get(variable, "")
            if name.startswith(prefix) and moved.startswith("/"):
                yield Path(moved) / name.removeprefix(prefix)


def secret_paths(environ: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the paths to hide. They need not exist, and a path may be a link."""
    with_passwords = [path for path in at_home(WITH_PASSWORDS, environ) if _has_password(path)]
    keys = Path("/etc/ssh").glob("ssh_host_*_key")
    databases = [file for home in home_folders(environ) for file in home.glob("*.kdbx")]
    own = (paths.state_home(environ), paths.user_config(environ).parent)
    return tuple(
        dict.fromkeys([*_listed(tuple(locating_variables(environ))), *with_passwords, *keys, *databases, *own])
    )


def secrets_below(root: Path) -> frozenset[Path]:
    """Return the secret paths below a folder, and the targets of links among them.

    A folder that is itself a secret, or in one, was chosen as the workspace by the user: it stays usable.
    """
    return _secrets_below(str(root), tuple(locating_variables()), int(time.monotonic()))


@lru_cache(maxsize=32)
def _secrets_below(root: str, environ: tuple[tuple[str, str], ...], second: int) -> frozenset[Path]:
    """Cached for a second, because a prompt may need many files."""
    return frozenset(places_below(root, secret_paths()))


def locating_variables(environ: Mapping[str, str] = os.environ) -> Iterator[tuple[str, str]]:
    """Yield the environment variables that locate secret and start-up files, with their values."""
    for name in ("HOME", *_XDG.values(), *NAMED_BY_VARIABLES, *IN_FOLDERS_OF_VARIABLES):
        if value := environ.get(name):
            yield name, value


@lru_cache(maxsize=8)
def _listed(environ: tuple[tuple[str, str], ...]) -> tuple[Path, ...]:
    variables = dict(environ)
    secrets = [*at_home(AT_HOME, variables), *map(Path, IN_SYSTEM)]
    homes = home_folders(variables)
    for name in NAMED_BY_VARIABLES:
        for path in _paths_in(variables.get(name, "")):
            # A mistaken value must not hide the whole machine or home.
            if len(path.parts) > 2 and not any(home.is_relative_to(path) for home in homes):
                secrets.append(path)
    for name, files in IN_FOLDERS_OF_VARIABLES.items():
        for folder in _paths_in(variables.get(name, "")):
            secrets += [folder / file for file in files]
    return tuple(dict.fromkeys(secrets))


def _paths_in(value: str) -> Iterator[Path]:
    """Yield the absolute paths in a value: `/a:/b`, `FILE:/a`, `unix:///a`, `unix:path=/a,guid=1`."""
    for part in re.sub(r"unix:(path=|//)|FILE:|DIR:", "", value).split(os.pathsep):
        text = part.partition(",")[0].strip()
        text = os.path.expanduser(text)  # noqa: PTH111 - it may not be a path
        if text.startswith("/") and not any(Path(text).is_relative_to(folder) for folder in _NOT_HIDDEN):
            yield Path(os.path.normpath(text))


def _has_password(path: Path) -> bool:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > 1_000_000:
            return False
        return _PASSWORD.search(path.read_bytes()) is not None
    except OSError:
        return False
