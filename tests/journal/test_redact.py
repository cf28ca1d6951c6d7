"""Redaction of secrets, and neutralising of terminal control sequences."""

import json
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.journal.redact import Redactor, is_secret_name, neutralise, provider_keys

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(["MIIEpAIBAAKCAQEA7bq0" * 3] * 4)
    + "\nab==\n-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
TOKENS = {
    "openai": ("sk-proj-Ab3dEfGh1jKlMn0pQrStUvWxYz0123456789", "api key"),
    "anthropic": ("sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx_0123456789-xyzAA", "api key"),
    "deepseek": ("sk-0123456789abcdef0123456789abcdef", "api key"),
    "stripe": ("sk_live_" + "51Habcdefghijklmnopqrs", "api key"),
    "google": ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "api key"),
    "github": ("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "github token"),
    "github fine-grained": ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "github token"),
    "gitlab": ("glpat-abcDEF123456ghiJKL78", "gitlab token"),
    "slack": ("xoxb-123456789012-abcdefABCDEF", "slack token"),
    "aws": ("AKIA" + "IOSFODNN7EXAMPLE", "aws key"),
    "hugging face": ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "hugging face token"),
    "npm": ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm token"),
    "private key": (PEM, "private key"),
    "private key in json": (json.dumps(PEM)[1:-1], "private key"),
    "private key cut off": (PEM[:120], "private key"),
    "jwt": (JWT, "json web token"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("around", ["{}", "x = '{}'", "a\n{}\nb", '{{"key": "{}"}}', "key={}, other"])
def test_a_token_is_replaced_by_its_kind(name: str, around: str) -> None:
    token, kind = TOKENS[name]
    redacted = Redactor().redact(around.format(token))
    assert f"[redacted {kind}]" in redacted or "[redacted]" in redacted
    assert not re.search(re.escape(token[10:30]), redacted)
    assert redacted.startswith(around.split("{}")[0].format()[:1])


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted]"),
        ("authorization: bearer a1b2c3d4e5f6g7h8i9==", "authorization: bearer [redacted]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [redacted]"),
        ("git clone https://me:hunter2hunter2@example.com/x", "git clone https://me:[redacted]@example.com/x"),
        ("redis://:s3cr3tpass@cache:6379/0", "redis://:[redacted]@cache:6379/0"),
        ("export DB_PASSWORD='abc123def456ghi789'", "export DB_PASSWORD='[redacted]'"),
        ("MY_API_KEY=0a1b2c3d4e5f6a7b8c9d", "MY_API_KEY=[redacted]"),
    ],
)
def test_only_the_secret_part_is_replaced(text: str, redacted: str) -> None:
    assert Redactor().redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "commit 4da0499f3e1b2c3d4e5f60718293a4b5c6d7e8f9",
        "sha256:cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "id = '123e4567-e89b-12d3-a456-426614174000'",
        "the task-list of the risk-assessment for disk-usage-monitoring-1234567890123456",
        "class='sk-loading-spinner-container'",
        "token = generate_token(user, expires=3600)",
        "API_KEY=os.environ",
        "TOKEN=$(cat /run/token)",
        "PASSWORD={password_from_settings}",
        "use Bearer authentication with basic authorization",
        "see https://example.com:8080/a@b and http://localhost:3000/",
        "postgres://user:password@localhost/db and postgres://u:${DB_PASSWORD}@h and x://a:<password>@h",
        "if text.startswith('-----BEGIN PRIVATE KEY-----'): raise ValueError('a key')",
        "def xoxo(): eyJustKidding = hf_hub_download(repo)",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "A basic understanding of internationalization",
        "import gsk_shader; npm_config_cache=/tmp/.npm",
        "你好，世界：这里没有秘密。",
        "",
    ],
)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert Redactor().redact(text) == text


def test_the_source_of_surefoot_is_unchanged() -> None:
    """A large sample of ordinary code without secrets."""
    from pathlib import Path

    import surefoot

    redactor = Redactor()
    for path in Path(surefoot.__file__).parent.rglob("*.py"):
        assert redactor.redact(path.read_text()) == path.read_text(), path


def test_secret_values_of_the_environment_are_replaced_in_any_encoding() -> None:
    value = 'p@ss "word"/é\n2'
    redactor = Redactor.from_environment({"DB_PASSWORD": value, "HOME": "/home/somebody", "TOKEN": "short"})
    for form in (value, json.dumps(value), json.dumps(value, ensure_ascii=False), "p%40ss%20%22word%22%2F%C3%A9%0A2"):
        assert redactor.redact(f"<{form}>").strip('<">') == "[redacted]", form
    assert redactor.redact("/home/somebody short") == "/home/somebody short"


def test_a_secret_that_starts_like_another_is_replaced_completely() -> None:
    redactor = Redactor(["secret-one", "secret-one-and-two"])
    assert redactor.redact("secret-one-and-two, secret-one") == "[redacted], [redacted]"


def test_paths_and_numbers_are_not_secrets() -> None:
    redactor = Redactor.from_environment({"DEPLOY_KEY": "/home/me/.ssh/deploy", "BUILD_KEY": "20260101"})
    assert redactor.redact("ssh -i /home/me/.ssh/deploy 20260101") == "ssh -i /home/me/.ssh/deploy 20260101"


@pytest.mark.parametrize(
    "word", ["postgres", "changeme1", "Password1234", "created_at", "lm-studio", "not-needed", "sk-no-key"]
)
def test_ordinary_words_are_not_secrets(word: str) -> None:
    """They occur in paths and in source code, which would be damaged."""
    redactor = Redactor.from_environment({"POSTGRES_PASSWORD": word}, {"the API key": word})
    text = f"import {word}; open('{word}/x.py'); POSTGRES_PASSWORD={word}"
    assert redactor.redact(text) == text
    assert not redactor.find_known(text)


@pytest.mark.parametrize(
    "value",
    ["abcdef123456", "hunter2hunter2", "correct-horse-battery", "qwertyuiopasdfgh", "aBcDeFgHiJ", "Summer2024!"],
)
def test_other_values_are_secrets(value: str) -> None:
    redactor = Redactor.from_environment({"POSTGRES_PASSWORD": value})
    assert redactor.redact(f"<{value}>") == "<[redacted]>"
    assert redactor.find_known(f"<{value}>") == "the value of POSTGRES_PASSWORD"


def test_parts_of_the_users_paths_are_not_secrets() -> None:
    """What looks like a token, and a value of words. A value that is no word stays a secret."""
    token, other = TOKENS["github"][0], "ghp_" + "Z9y8X7w6V5" * 4
    values = {"SECRET_KEY": "django-insecure-dev", "SERVICE_TOKEN": "a1b2c3d4e5f6"}
    paths = f"/home/me/{token}/a.txt\n/home/me/django-insecure-dev\n/home/me/a1b2c3d4e5f6"
    redactor = Redactor.from_environment(values).sparing(lambda: paths)
    assert redactor.redact(f"{token}/b {other} django-insecure-dev a1b2c3d4e5f6") == (
        f"{token}/b [redacted github token] django-insecure-dev [redacted]"
    )


@pytest.mark.parametrize(
    "text", ["make {}/notes.txt", "see docs/{}", "write '{}.json'", "in `{}/`", "the file {}.txt."]
)
def test_token_written_as_a_path_is_not_refused(text: str) -> None:
    token = TOKENS["github"][0]
    assert not Redactor().find_format(text.format(token))
    assert Redactor().find_format(f"use {token}") == "what looks like a github token"
    assert Redactor().find_format(f"https://{token}@github.com/a/b") == "what looks like a github token"
    assert Redactor().find_format("API_KEY=0a1b2c3d/4e5f6a7b8c9d") == "what looks like a password or token"


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "DB_PASSWORD", "npm_token"),
        *("CLIENT_SECRET", "GOOGLE_CREDENTIALS", "SIGNING_KEY", "APIKEY", "HF_TOKEN", "SENTRY_DSN", "GH_PAT"),
    ],
)
def test_names_that_suggest_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "HOME", "KEYBOARD", "MONKEY", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "LANG", "PASSAGE"]
)
def test_names_that_do_not_suggest_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_provider_keys_selects_the_keys_of_model_providers() -> None:
    environ = {
        "OPENAI_API_KEY": "sk-abcdefghijkl",
        "SUREFOOT_API_KEY": "abcdefghijkl",
        "OLLAMA_API_KEY": "none",
        "GITHUB_TOKEN": "abcdefghijkl",
    }
    assert set(provider_keys(environ)) == {"OPENAI_API_KEY", "SUREFOOT_API_KEY"}


@given(st.text(), st.text())
def test_a_known_secret_is_found_in_any_text(before: str, after: str) -> None:
    secret = "Tr0ub4dor&3-correct-horse"
    assert secret not in Redactor([secret]).redact(before + secret + after)


@given(st.text())
def test_redaction_is_idempotent(text: str) -> None:
    redactor = Redactor(["hunter2hunter2"])
    once = redactor.redact(text + " hunter2hunter2 " + JWT)
    assert redactor.redact(once) == once


@pytest.mark.parametrize(
    "start", ["sk- PRIVATE KEY eyJ earer asic :// TOKEN= ", "-----BEGIN PRIVATE KEY-----" + "A" * 16]
)
@pytest.mark.parametrize(
    "piece",
    ["sk-a-", "-----BEGIN PRIVATE KEY-----\n", "eyJa.", "a://b:c", "earer a", "A_TOKEN=a", "\\n", "sk_live_", "A: b\n"],
)
def test_the_cost_is_linear_also_for_hostile_text(start: str, piece: str) -> None:
    """Four times the text takes about four times the processor time, not sixteen times. The best of three counts."""

    def cost(times: int) -> float:
        text = start + piece * times
        spent = []
        for _ in range(3):
            before = time.process_time()
            Redactor().redact(text)
            spent.append(time.process_time() - before)
        return min(spent)

    assert cost(16_000) < 10 * cost(4_000) + 0.02


# -- terminals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\nof 你好 🙂", "plain\ttext\nof 你好 🙂"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone", "␛[2J␛[Hgone"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"),
        ("\x9b31m", "<U+009B>31m"),
        ("safe\rEVIL", "safe␍EVIL"),
        ("dos\r\nlines", "dos\nlines"),
        ("a\x00b\x08\x7f", "a␀b␈␡"),
        ("if (\u202e admin \u2066) {", "if (<U+202E> admin <U+2066>) {"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("half \ud800", "half \ufffd"),
    ],
)
def test_control_sequences_are_removed_or_made_visible(text: str, shown: str) -> None:
    assert neutralise(text) == shown


@given(st.text(st.characters(codec=None)))
def test_no_control_character_is_left(text: str) -> None:
    shown = neutralise(text)
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert not [letter for letter in shown if unicodedata.category(letter) in unseen and letter not in "\t\n"]
    assert neutralise(shown) == shown
    shown.encode()


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u200e", "\u200f", "\u061c", "\u202e", "\u2067", "\u00ad",
        "\u2028", "\u2029", "\ufe0f", "\U000e0101", "\U000e0041", "\u3164", "\u115f", "\u2800", "\u180e", "\u034f",
        "\ue000", "\U00100000", "\u0378", "\U0001bca0", "\u206a", "\ufff9",
    ],
)  # fmt: skip
def test_characters_that_cannot_be_seen_are_made_visible(hidden: str) -> None:
    assert neutralise(f"rm {hidden}x") == f"rm <U+{ord(hidden):04X}>x"


def test_text_that_can_be_seen_stays() -> None:
    text = "naïve 中文 ελληνικά עברית العربية 😀 e\u0301 \u00a0 \t\n →"
    assert neutralise(text) == text
