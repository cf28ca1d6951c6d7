"""`search` with ripgrep and without: the same answers, and nothing that a model writes becomes an option."""

import json
import os
from pathlib import Path

import pytest

from support.calling import Run
from surefoot.tools.builtin.search import search
from surefoot.workspace.process.programs import find_program

RIPGREP = find_program("rg")
QUERIES = [
    {"pattern": "needle"},
    {"pattern": "NEEDLE"},
    {"pattern": r"def \w+\(self\):$"},
    {"pattern": r"^\s*needle"},
    {"pattern": "^$"},
    {"pattern": "hidden word"},
    {"pattern": "ignored word"},
    {"pattern": "binary word"},
    {"pattern": "no such text anywhere"},
    {"pattern": "broken ["},
    {"pattern": "f(x) {"},
    {"pattern": r"(?<=see )needle"},
    {"pattern": r"(needle)\s+\1"},
    {"pattern": "--files"},
    {"pattern": "-e"},
    {"pattern": "common"},
    {"pattern": "wide.*tail"},
    {"pattern": "crlf$"},
    {"pattern": "größe"},
    {"pattern": r"gr\w+e"},
    {"pattern": "needle", "glob": "*.md"},
    {"pattern": "needle", "path": "pkg"},
    {"pattern": "(a+)+$"},
]


def tree(root: Path) -> None:
    files = {
        "pkg/a.py": "class A:\n    def needle(self):\n        return 1  # see needle needle\n\n",
        "pkg/b.py": "broken [\nf(x) {\n--files -e\n",
        "-x.py": "--files needle\n",
        "-": "needle\n",
        "doc.md": "A needle.\n\nGröße größe\n",
        ".hidden/x.txt": "hidden word needle\n",
        ".env.example": "hidden word\n",
        "build/out.txt": "ignored word needle\n",
        ".gitignore": "build/\n*.log\n!keep.log\n",
        "a.log": "ignored word\n",
        "keep.log": "ignored word\n",
        "long.js": "wide" + "x" * 5_000 + "tail\n",
        "common.txt": "common\n" * 250,
        "windows.txt": "one crlf\r\ntwo\r\n",
        "node_modules/m.js": "needle\n",
        "empty.txt": "",
    }
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    (root / "data.bin").write_bytes(b"\0\1binary word needle\n")
    (root / "latin.txt").write_bytes("gr\xf6\xdfe needle\n".encode("latin-1"))
    (root / "huge.txt").write_bytes(b"needle\n" + b"x" * 2_100_000)
    (root / "link.txt").symlink_to("doc.md")
    os.mkfifo(root / "pipe")


@pytest.mark.req("X11")
@pytest.mark.skipif(RIPGREP is None, reason="ripgrep is not installed")
async def test_both_give_the_same_answers(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(root)
    assert RIPGREP is not None
    answers: dict[str, list[str]] = {}
    for name, path in (("ripgrep", f"{RIPGREP.parent}:/usr/bin:/bin"), ("ours", "/nowhere")):
        monkeypatch.setenv("PATH", path)
        assert (find_program("rg", root) is not None) == (name == "ripgrep")
        answers[name] = [(await run(search, query)).summary for query in QUERIES]
    for query, ripgrep, ours in zip(QUERIES, answers["ripgrep"], answers["ours"], strict=True):
        assert ripgrep == ours, query
    assert "250 matches in 1 file, the first 50 shown" in answers["ours"][QUERIES.index({"pattern": "common"})]


@pytest.mark.req("X11")
async def test_ripgrep_gets_patterns_and_files_only_as_values(
    run: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in records how it is called, and fails as ripgrep does for a pattern that it cannot read."""
    tree(root)
    folder, record = tmp_path / "bin", tmp_path / "calls.jsonl"
    folder.mkdir()
    stand_in = folder / "rg"
    stand_in.write_text(f'#!/bin/sh\nfor a in "$@"; do printf \'%s\\0\' "$a"; done >> {record}\nexit 2\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    for pattern in ("--pre=sh", "--files", "-f", "needle"):
        await run(search, pattern=pattern, path="" if pattern != "needle" else "-x.py")
    words = record.read_text().split("\0")
    calls = " ".join(words)
    assert "--regexp=--pre=sh" in words
    assert "--no-config" in words
    assert not {"--pre=sh", "--files", "-f", "-x.py", "-"} & set(words)
    assert "./-x.py" in words
    for left_out in ("build/out.txt", "node_modules", "pipe", "link.txt", "huge.txt", "a.log"):
        assert f"./{left_out}" not in words, calls
    assert json.dumps((await run(search, pattern="needle", path="-x.py")).data) == '{"total": 1}'


async def test_a_ripgrep_in_the_workspace_is_never_run(
    run: Run, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "rg").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (root / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}:.:/usr/bin:/bin")
    assert "touch" in (await run(search, pattern="touch")).summary
    assert not (tmp_path / "ran").exists()
