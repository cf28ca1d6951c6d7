"""What a task's own words say is not to be changed is read-only, and changing it makes nothing verified."""

import pytest

from kit import Bench
from surefoot.engine import start_run
from surefoot.models.base import ModelTraits
from surefoot.outcome import Verdict
from surefoot.taskfiles import fetched_from, is_named_in, to_be_left_alone

THERE = ["app.py", "unpack.py", "verify.py", "vendor/units.py", "vendor/deep/more.py", "data/a.csv", "README.md"]
VENDOR = {"vendor/units.py", "vendor/deep/more.py"}


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("task", "left"),
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
def test_what_is_to_be_left_alone(task: str, left: set[str]) -> None:
    assert to_be_left_alone(task, THERE) == left


@pytest.mark.req("X5", "O7")
@pytest.mark.parametrize("by", ["file", "command"])
async def test_it_is_not_changed_and_what_changes_it_is_not_verified(bench: Bench, by: str) -> None:
    bench.write(app__py="from vendor import INCH\n", vendor__py="INCH = 2.45\n", other__py="")
    answer = "`vendor.py`\n```python\nINCH = 2.54\n```" if by == "file" else "```sh\nsed -i s/2.45/2.54/ vendor.py\n```"
    task = bench.task(
        "The inch is wrong. vendor.py must not be changed.", ["python3 -c 'import app; assert app.INCH == 2.54'"]
    )
    services = bench.services([answer] * 20, traits=ModelTraits(small=True, inline_bodies=False))
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
def test_where_data_has_to_be_fetched_from(text: str, address: str) -> None:
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
def test_whether_a_task_names_a_file(path: str, text: str, named: bool) -> None:
    assert is_named_in(path, text) is named
