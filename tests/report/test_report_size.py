"""Reports stay small, and say what they leave out."""

import json
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from report.pages import TEMPLATE, unpacked
from report.stories import Story
from surefoot.report import limits
from surefoot.report.build import Source, build_report
from surefoot.report.markdown import as_markdown
from surefoot.report.write import Format, render

Find = Callable[[str], Story]


def noisy(source: Source, size: int) -> Source:
    """The same run, whose stored contents are long and cannot be compressed much."""
    noise = random.Random(1)

    def blob(digest: str) -> bytes:
        return digest.encode() + noise.randbytes(size // 2).hex().encode()

    return replace(source, blob=blob)


def test_long_outputs_keep_both_ends_and_what_is_left_out_is_counted(story: Find) -> None:
    report = build_report(noisy(story("hostile").source, 400_000))
    kept = next(iter(report["blobs"].values()))
    assert len(kept) < 2 * limits.LOG_END_CHARS + 100
    assert "characters left out ...]" in kept
    left = {item["what"]: item for item in report["omitted"]}
    assert left["output_middles"]["size"] >= 400_000 - 2 * limits.LOG_END_CHARS
    assert left["output_middles"]["count"] == len(report["blobs"])
    assert left["message_ends"]["count"] == len(report["conversation"])
    assert "the middle of" in as_markdown(report)
    assert report["limits"]["log_end_chars"] == limits.LOG_END_CHARS


@pytest.mark.parametrize("kind", ["html", "json"])
def test_the_file_never_exceeds_its_limit(story: Find, kind: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surefoot.report.write.load_template", lambda: TEMPLATE)
    source = noisy(story("hostile").source, 100_000)
    whole = len(render(source, kind))
    small = render(source, kind, file_bytes=whole // 3)
    assert len(small) <= whole // 3
    document = unpacked(small.decode()) if kind == "html" else json.loads(small)
    left = {item["what"]: item["count"] for item in document["omitted"]}
    assert left.get("messages", 0) + left.get("outputs", 0) > 0
    assert len(document["rows"]) == len(build_report(source)["rows"])


def test_optional_parts_stop_where_the_room_ends(story: Find) -> None:
    source = story("healed").source
    nothing = build_report(source, room=0)
    assert (nothing["diff"], nothing["conversation"], nothing["blobs"]) == ([], [], {})
    left = {item["what"]: item["count"] for item in nothing["omitted"]}
    assert left["messages"] == 6
    assert left["diffs"] == 4


def test_a_long_patch_loses_whole_lines_at_its_end(story: Find) -> None:
    omissions = limits.Omissions()
    lines = ["diff --git a/a b/a", "--- a/a", "+++ b/a", "@@ -0,0 +1,9 @@", *(f"+{n} {'x' * 400}" for n in range(900))]
    (file,) = limits.Cleaner(story("healed").source.redactor, omissions).patches(
        [
            {
                "path": "a",
                "status": "added",
                "binary": False,
                "patch": "\n".join(lines) + "\n",
                "lines": 904,
                "truncated": False,
            }
        ]
    )
    assert file["truncated"]
    kept = file["patch"].split("\n")[:-1]
    assert kept == lines[: len(kept)]
    assert omissions.listed() == [{"what": "patches", "count": 1, "size": 904 - len(kept)}]
