"""The user's secret files: where they are, also when variables move them, and that no command reads them."""

from pathlib import Path

import pytest

from support.sandboxes import KINDS, sandbox_of, shell
from support.tricks import SECRET
from surefoot.workspace.sandbox.secret_files import (
    AT_HOME,
    IN_FOLDERS_OF_VARIABLES,
    NAMED_BY_VARIABLES,
    WITH_PASSWORDS,
    secret_paths,
)

REPORTED = (
    ".cache/huggingface/stored_tokens", ".config/github-copilot", ".config/containers/auth.json", ".Xauthority",
    ".zhistory", ".cargo/credentials.toml",
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a secret in every place on the list."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in AT_HOME:
        put(folder / name)
    for name in IN_FOLDERS_OF_VARIABLES:
        monkeypatch.setenv(name, str(folder / "moved" / name))
        for file in IN_FOLDERS_OF_VARIABLES[name]:
            put(folder / "moved" / name / file)
    for name in NAMED_BY_VARIABLES:
        monkeypatch.setenv(name, str(put(folder / "moved" / f"{name}.file")))
    for variable in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(folder / "xdg" / variable))
    put(folder / "xdg/CONFIG/gh/hosts.yml")
    put(folder / "xdg/DATA/keyrings/login.keyring")
    put(folder / "xdg/CACHE/huggingface/stored_tokens")
    put(folder / "xdg/STATE/zsh/history")
    put(folder / "xdg/DATA/surefoot/journal.sqlite")
    put(folder / "xdg/CONFIG/surefoot/config.toml")
    put(folder / "passwords.kdbx")
    return folder


def put(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SECRET)
    return file


def test_reported_files_are_on_the_list() -> None:
    assert set(REPORTED) <= set(AT_HOME)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.attack("read")
async def test_no_secret_of_the_home_can_be_read(kind: str, home: Path, workspace: Path) -> None:
    (home / "readable").write_text("visible")
    sandbox = sandbox_of(kind, workspace, hidden=secret_paths())
    files = [str(file) for file in home.rglob("*") if file.is_file()]
    assert len(files) > len(AT_HOME) + len(NAMED_BY_VARIABLES)
    (workspace / "files").write_text("\n".join(files))
    result = await shell("while read -r f; do cat \"$f\" 2>/dev/null | grep -q canary && echo READ $f; done < files; "
                         f"cat {home}/readable", sandbox, workspace)  # fmt: skip
    assert result.output == "visible"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KUBECONFIG", "/a/b/one:SECRET"),
        ("KRB5CCNAME", "FILE:SECRET"),
        ("DOCKER_HOST", "unix://SECRET"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=SECRET,guid=12"),
        ("PGPASSFILE", "~/SECRET"),
    ],
)
def test_paths_are_found_in_values(variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / "deep" / "secret"
    text = value.replace("~/SECRET", "~/deep/secret").replace("SECRET", str(place))
    assert place in secret_paths({"HOME": str(tmp_path), variable: text})


@pytest.mark.parametrize(
    "value", ["/", "/tmp", "{home}", "{home}/..", "/dev/null", "-", "relative/file", "/proc/self/x"]
)
def test_mistaken_values_hide_nothing(value: str, tmp_path: Path) -> None:
    plain = {"HOME": str(tmp_path / "home")}
    assert secret_paths({**plain, "HISTFILE": value.format(home=plain["HOME"])}) == secret_paths(plain)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("[global]\nindex-url = https://user:pa55word@pypi.example/simple\n", True),
        ("[http]\n\textraheader = AUTHORIZATION: basic abc\n", True),
        ('[user]\n\tname = A\n\temail = a@example.org\n[url "git@github.com:"]\n\tinsteadOf = https://x/\n', False),
        ("[global]\nindex-url = https://pypi.example/simple\n", False),
    ],
)
def test_settings_are_hidden_if_they_hold_a_password(text: str, hidden: bool, tmp_path: Path) -> None:
    for name in WITH_PASSWORDS:
        put(tmp_path / name).write_text(text)
    found = {path for path in secret_paths({"HOME": str(tmp_path)}) if path.is_relative_to(tmp_path)}
    assert ({tmp_path / name for name in WITH_PASSWORDS} <= found) is hidden
    assert hidden or not found & {tmp_path / name for name in WITH_PASSWORDS}
