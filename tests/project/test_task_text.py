"""Reading the text of a task: the files it names, reads, computes and protects, and addresses it fetches from."""

import pytest

from support.kit import SMALL, Bench
from surefoot.core.outcome import Verdict
from surefoot.engine.loop import start_run
from surefoot.project.task_text import (
    fetched_from,
    files_named_in,
    is_computed,
    is_named_in,
    is_source,
    to_be_left_alone,
)

EXISTING = ["app.py", "unpack.py", "verify.py", "vendor/units.py", "vendor/deep/more.py", "data/a.csv", "README.md"]
VENDOR = {"vendor/units.py", "vendor/deep/more.py"}


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("task", "protected"),
    [
        ("Squeeze it. Don't change unpack.py or verify.py.", {"unpack.py", "verify.py"}),
        ("Do not touch anything in vendor/; fix app.py.", VENDOR),
        ("Fix app.py without editing the vendor folder.", VENDOR),
        ("vendor/ is third-party code and must not be changed. Fix app.py.", VENDOR),
        ("The files in vendor must not be modified.", VENDOR),
        ("Please leave units.py alone and fix app.py", {"vendor/units.py"}),
        ("Keep README.md as it is.", {"README.md"}),
        ("vendor 目录是第三方代码，不能改；请在 app.py 里解决。", VENDOR),
        ("请修好 app.py，不要改 verify.py。", {"verify.py"}),
        ("修改 app.py，测试不能改。", set()),
        ("Fix app.py; do not change the behaviour of unpack.py.", set()),
        ("Do not change its public interface, only app.py.", set()),
        ("Change app.py and delete verify.py.", set()),
        ("Don't change the tests.", set()),
        ("app.py never changes anything. Make it write out.json.", set()),
    ],
)
def test_files_that_the_task_protects(task: str, protected: set[str]) -> None:
    assert to_be_left_alone(task, EXISTING) == protected


@pytest.mark.req("X5", "X1")
@pytest.mark.parametrize("by", ["file", "command"])
async def test_changing_a_protected_file_is_refused_or_unverified(bench: Bench, by: str) -> None:
    bench.write(app__py="from vendor import INCH\n", vendor__py="INCH = 2.45\n", other__py="")
    answer = "`vendor.py`\n```python\nINCH = 2.54\n```" if by == "file" else "```sh\nsed -i s/2.45/2.54/ vendor.py\n```"
    task = bench.task(
        "The inch is wrong. vendor.py must not be changed.", ["python3 -c 'import app; assert app.INCH == 2.54'"]
    )
    services = bench.services([answer] * 20, traits=SMALL)
    state = await start_run(services, task, bench.config())
    assert state.outcome is not None
    assert state.outcome.verdict is not Verdict.VERIFIED
    if by == "file":
        assert bench.files()["vendor.py"] == "INCH = 2.45\n"
    else:
        assert state.outcome.protected_changes == ("vendor.py",)


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Download http://a.example/today.json and save it as prices.json.", "http://a.example/today.json"),
        ("Write rates.csv with the rates from https://a.example/rates?day=1.", "https://a.example/rates?day=1"),
        ("从 https://a.example/x.json 下载数据，存成 x.json。", "https://a.example/x.json"),
        ('Write links.json like {"home": "https://a.example"}.', ""),
        ("Read sales.csv, which was at http://a.example once, and write sum.json.", ""),
        ("Write sum.json from sales.csv.", ""),
    ],
)
def test_address_that_the_task_fetches_from(text: str, address: str) -> None:
    assert fetched_from(text, ["sales.csv"]) == address


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("Makefile", "Add a clean target to the Makefile.", True),
        (".github/workflows/ci.yml", "Run it on .github/workflows/ci.yml too", True),
        ("a/codes.py", "Change ./a/codes.py", True),
        ("gradle.properties", "raise it in gradle.properties", True),
        ("codes.py", "把 codes.py改一下", True),
        ("codes.py", "Add a code to our codes", False),
        ("codes.py", "Change make_codes.py", False),
        ("codes.py", "Change codes.pyi", False),
        ("code", "Change code.py", False),
    ],
)
def test_task_names_a_file(path: str, text: str, named: bool) -> None:
    assert is_named_in(path, text) is named


@pytest.mark.parametrize(
    ("path", "task", "source"),
    [
        ("sales.csv", "Sum up the amounts in sales.csv per category and save them as totals.json.", True),
        ("totals.json", "Sum up the amounts in sales.csv per category and save them as totals.json.", False),
        ("a.csv", "Convert a.csv to b.json", True),
        ("b.json", "Convert a.csv to b.json", False),
        ("out.csv", "Save the result in out.csv", False),
        ("a.csv", "Write a.csv. Then count the rows in a.csv.", False),
        ("sales.csv", "统计 sales.csv 里每类的金额，写到 totals.json。", True),
        ("totals.json", "统计 sales.csv 里每类的金额，写到 totals.json。", False),
        ("b.json", "把 a.csv 转成 b.json", False),
        ("a.csv", "把 a.csv 转成 b.json", True),
        ("app.py", "The bug is in app.py.", False),
    ],
)
def test_files_that_the_task_reads(path: str, task: str, source: bool) -> None:
    assert is_source(path, task) is source


@pytest.mark.parametrize(
    ("path", "task", "others", "computed"),
    [
        ("total.json", "sum sales.csv into total.json", ["sales.csv"], True),
        ("counts.json", "count the words of every file in notes/", ["notes/a.txt"], True),
        ("report.md", "write report.md from sales.csv", ["sales.csv"], True),
        ("out.json", "run tools/rates.py and keep what it prints in out.json", ["tools/rates.py"], True),
        ("prices.json", "download https://example.org/today.json as prices.json", [], True),
        ("links.md", "write links.md with https://example.org", [], False),
        ("README.md", "write a README.md about app.py", ["app.py"], False),
        ("app.py", "write app.py, which reads sales.csv", ["sales.csv"], False),
        ("config.toml", "write config.toml for data.csv", ["data.csv"], False),
        ("package.json", "make a package.json", ["src/app.js"], False),
        ("SHA256SUMS", "make a file SHA256SUMS for everything in release/", ["release/app.txt"], True),
        ("LICENSE", "add a file LICENSE, as README.md says", ["README.md"], False),
    ],
)
def test_files_that_are_computed_from_others(path: str, task: str, others: list[str], computed: bool) -> None:
    assert is_computed(path, task, others) is computed


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Create wordstats.py and tests/test_it.py.", ["wordstats.py", "tests/test_it.py"]),
        ("写 main.py,其中读取 data/in.csv。", ["main.py", "data/in.csv"]),
        ("See https://example.org/a.html, e.g. version 1.2.3 of Python 3.11", []),
        ("README.md, README.md", ["README.md"]),
        ("dial.py turns through 0..size-1, 'Ada King Lovelace' gives A.K.L.", ["dial.py"]),
        ("fix the bug in src/app/core.py:12", ["src/app/core.py"]),
        ("Make a file SHA256SUMS of release/app.txt. SHA256SUMS goes beside it.", ["SHA256SUMS", "release/app.txt"]),
        ("新建文件 VERSION，内容来自 setup.cfg", ["VERSION", "setup.cfg"]),
        ("a SHA256SUMS file; 新建文件VERSION，再写 CHECKSUMS 文件", ["SHA256SUMS", "VERSION", "CHECKSUMS"]),
        ("Write stats.py. The file MUST have a docstring.", ["stats.py"]),
        ("Write the file JSON, CSV or HTML; the file README.md is IMPORTANT", ["README.md"]),
    ],
)
def test_files_named_in_a_text(text: str, files: list[str]) -> None:
    assert files_named_in(text) == files
