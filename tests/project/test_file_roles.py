"""Which files a task wants made, which it only reads or lists, and which its program will make."""

import pytest

from surefoot.project.file_roles import is_input, is_made_by_program, is_only_read, needs_step, plain_targets

LISTED = "The folder has app.py, config.toml and notes.md. Write report.py, which prints their sizes."
BULLETS = "In the folder:\n- app.py: the start\n- lib/store.py (keeps orders)\n\nWrite report.py that uses both."
TO_CHANGE = "Change these files:\n- app.py: a title\n- lib/store.py: a limit"


@pytest.mark.req("X5", "P4")
@pytest.mark.parametrize(
    ("task", "existing", "targets"),
    [
        ("Write stats.py as SPEC.md says.", ["SPEC.md", "test_stats.py"], ["stats.py"]),
        ("The last page is lost. Make the tests pass.", ["paging.py", "test_stats.py"], ["paging.py"]),
        ("Fix paging.py", ["paging.py", "test_stats.py"], ["paging.py"]),
        ("Make a file SHA256SUMS for release/, like release/a.txt.", ["release/a.txt", "release/b"], ["SHA256SUMS"]),
        ("Fix paging.py", ["paging.py", "list.py"], []),
        ("Write a.py and b.py", [], []),
        ("Write report.json from sales.csv", ["sales.csv"], ["report.json"]),
        ("Write report.json and report.md from sales.csv", ["sales.csv"], ["report.json", "report.md"]),
        ("Write report.json and clean up sales.csv", [], []),
        ("Write report.json from sales.csv and fix sales.csv.", ["sales.csv"], ["report.json"]),
        ("Join by customers.id and write late.csv from orders.csv", ["orders.csv", "customers.csv"], ["late.csv"]),
        ('Count the words in notes/ as counts.json, like {"a.txt": 2}', ["notes/a.txt"], ["counts.json"]),
        ("Add an option to cli.py and say so in README.md", ["cli.py", "README.md"], []),
        ("Write cli.py on top of core.py", ["core.py"], []),
        ("What is this?", ["a.py", "b.py"], []),
        ("Write sum.py, a script that reads a.csv and writes sum.csv.", ["a.csv"], ["sum.py"]),
        ("Write sum.py. It must read a.csv and b.csv, and it should write sum.csv.", ["a.csv", "b.csv"], ["sum.py"]),
        ("Write sum.py. Example: python3 sum.py a.csv sum.csv.", ["a.csv"], ["sum.py"]),
        ("写一个脚本 sum.py，读取 a.csv，把结果写到 sum.csv。", ["a.csv"], ["sum.py"]),
        ("Write sum.py for a.csv, then run it and write what it prints to sum.csv.", ["a.csv"], []),
        ("Write sum.py and write sum.csv with it.", ["a.csv"], []),
        (LISTED, ["app.py", "config.toml", "notes.md"], ["report.py"]),
        (BULLETS, ["app.py", "lib/store.py"], ["report.py"]),
        ("Put the rate into a new rates.py and use it in cart.py and quote.py.", ["cart.py", "quote.py"], []),
        ("app.py has a bug with b.py. Write c.py.", ["app.py", "b.py"], []),
        ("From a.csv make two files: b.csv with the names, and c.json.", ["a.csv"], ["b.csv", "c.json"]),
        ("生成两个文件：b.csv 列出姓名，列与 a.csv 相同；c.json 是人数。", ["a.csv"], ["b.csv", "c.json"]),
        ("Sum up the amounts in a_2024.csv, and write b.json and c.txt.", ["a_2023.csv"], []),
        ("Describe the project in OVERVIEW.md.", ["app.py", "store.py"], []),
    ],
)
def test_targets_of_a_plain_task(task: str, existing: list[str], targets: list[str]) -> None:
    assert plain_targets(task, existing, ["test_stats.py"]) == targets


@pytest.mark.req("P4")
@pytest.mark.parametrize(
    ("path", "task", "needed"),
    [
        ("app.py", LISTED, False),
        ("config.toml", LISTED, False),
        ("notes.md", LISTED, False),
        ("report.py", LISTED, True),
        ("app.py", BULLETS, False),
        ("lib/store.py", BULLETS, False),
        ("app.py", TO_CHANGE, True),
        ("lib/store.py", TO_CHANGE, True),
        ("app.py", "The folder has app.py and store.py. Add a title to app.py.", True),
        ("store.py", "The folder has app.py and store.py. Add a title to app.py.", False),
        ("app.py", "There is app.py, which crashes on empty files.", True),
        ("server.log", "Write errors.py. server.log is one of our logs.", False),
        ("lines.py", "split_line in lines.py breaks on quoted commas.", True),
        ("store.py", "项目里有 app.py、store.py。请写 report.py。", False),
        ("other.py", LISTED, True),
    ],
)
def test_only_what_is_to_be_changed_needs_a_step(path: str, task: str, needed: bool) -> None:
    existing = ["app.py", "config.toml", "notes.md", "lib/store.py", "store.py", "server.log", "lines.py", "other.py"]
    assert needs_step(path, task, existing) is needed


def test_a_file_that_is_not_named_is_neither_read_nor_made() -> None:
    assert not is_only_read("other.py", LISTED)
    assert not is_made_by_program("other.csv", "Write a.py, which writes b.csv.", ["a.py", "b.csv"])
    assert is_input("a.csv", "Sum up a.csv.")
