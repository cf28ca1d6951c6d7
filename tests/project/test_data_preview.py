"""Data files that are too long are shown by their fields, their first records and how many there are."""

import json
from pathlib import Path

import pytest

from surefoot.project.data_preview import data_preview


@pytest.mark.req("X14")
def test_a_table_a_list_lines_and_a_document(tmp_path: Path) -> None:
    people = [{"name": f"n{i}", "tags": ["a", "b", "c", "d"], **({"age": i} if i % 2 else {})} for i in range(3_000)]
    (tmp_path / "a.csv").write_text("name;age\n" + "".join(f"n{i};{i}\n" for i in range(3_000)))
    (tmp_path / "b.json").write_text(json.dumps(people))
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(person) + "\n" for person in people))
    (tmp_path / "d.json").write_text(json.dumps({"version": 2, "people": people, "key": "k" * 500}))
    table = data_preview(tmp_path, "a.csv", 2_000)
    assert table is not None
    assert table.startswith("3,000 rows, 2 columns\ncolumns: name, age\nthe first rows:\nn0;0\n")
    for name, count in (("b.json", "a list of 3,000"), ("c.jsonl", "3,000 records, one per line")):
        shown = data_preview(tmp_path, name, 2_000)
        assert shown is not None
        assert shown.startswith(count)
        assert "- tags: list of text" in shown
        assert "- age: number, in 1,000 of 2,000" in shown
        assert '{"name": "n0", "tags": ["a", "b", "c", "... 4 in all"]}' in shown
    document = data_preview(tmp_path, "d.json", 2_000)
    assert document is not None
    assert '"... 3,000 elements"' in document
    assert "(500 characters)" in document, "a secret is shown whole, for the redactor, or not at all"


def test_what_is_no_data_is_not_previewed(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "b.json").write_text("{broken")
    (tmp_path / "c.csv").symlink_to(tmp_path / "a.py")
    outside = tmp_path.parent / "outside.csv"
    outside.write_text("a,b\n1,2\n")
    for name in ("a.py", "b.json", "c.csv", "missing.csv", "../outside.csv"):
        assert data_preview(tmp_path, name, 2_000) is None
