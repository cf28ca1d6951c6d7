"""A table of right and wrong outputs of models: a gate must refuse the wrong ones and none of the right ones."""

from typing import Any

import pytest

from surefoot.engine.planner.criteria import judge_approach, judge_understanding
from surefoot.engine.planner.plan_criteria import PlanFacts, judge_plan
from surefoot.prompting.drafts.full import FullApproachDraft, FullPlanDraft
from surefoot.prompting.drafts.short import ApproachDraft, PlanDraft, UnderstandingDraft

DEFAULT = 0.8
EXISTING = ("calc.py", "src/app.py", "src/util.py", "tests/test_calc.py", "README.md", "data/sales.csv", "main.go")
AUTH = "创建一个用户认证系统，包括注册、登录、密码重置功能"


def u(task: str, understanding: str, *requirements: str, files: tuple[str, ...] = (), **more: Any) -> tuple[str, Any]:
    draft = {"understanding": understanding, "requirements": list(requirements), "files": list(files), **more}
    return task, UnderstandingDraft.model_validate(draft)


RIGHT_UNDERSTANDINGS = [
    u("Fix add in calc.py.", "add subtracts instead of adding", "add(1, 2) is 3", files=("calc.py",)),
    u("Fix add in calc.py.", "The sum comes out as a difference", "1 and 2 give 3", files=("calc.py",)),
    u(AUTH, "实现用户认证：注册、登录、重置密码", "可以注册", "可以登录", "可以重置密码", files=("auth.py",)),
    u(AUTH, "Build a user authentication system", "sign-up works", "login works", "passwords can be reset"),
    u("Make it faster", "Reduce the run time of the main loop", "the benchmark takes half the time"),
    u("Schreibe eine Funktion, die alle Primzahlen bis n zählt.", "Count the primes up to n", "10 gives 4"),
    u("Écris un script qui convertit data/sales.csv en JSON.", "Convert the sales table to JSON", "valid JSON"),
    u("Rename `load_rows` to `read_rows` everywhere in src/*.py", "rename a function", "no use of load_rows is left",
      files=("src/*.py",)),
    u("Add a --json flag to the CLI", "Give the command line a flag for JSON output", "prints JSON with --json"),
    u("Write /etc/motd with a greeting", "Put a greeting into /etc/motd", "it greets", files=("/etc/motd",)),
    u("Why does src/app.py crash on empty input?", "Explain the crash of src/app.py", "the cause is named"),
    u("Напиши функцию, которая сортирует список по длине строк", "Функция сортировки списка строк по длине",
      "короткие строки идут первыми"),
    u("ユーザー一覧をCSVに出力する機能を追加してください", "ユーザー一覧のCSV出力を追加する", "CSVが出力される"),
    u("Port main.go to Rust", "Rewrite the Go program in Rust", "cargo build works", files=("src/main.rs",)),
    u("Fix the flaky login test", "test_login sometimes times out", "it passes", files=("tests/test_login.py",)),
    u("Read data/sales.csv and write totals.md", "Sum the sales per month", "totals.md has a row per month",
      files=("totals.md",)),
]  # fmt: skip
WRONG_UNDERSTANDINGS = [
    u("Fix add in calc.py.", "Cook a tomato soup", "it is hot"),
    u("Fix add in calc.py.", "Fix add", files=("calc.py",)),
    u("Fix add in calc.py.", "string", "string"),
    u("Fix add in calc.py.", "Fix add", "add works", files=("/usr/lib/python3/calc.py",)),
    u("Fix add in calc.py.", "Fix add", "add works", files=("../calc.py",)),
    u("Fix add in calc.py.", "Fix add", "add works", files=("<the module>",)),
    u("Fix add in calc.py.", "Fix add", "add works", files=("https://example.org/calc.py",)),
    u(AUTH, "煮一锅番茄汤并且装盘", "汤是热的"),
    u(AUTH, "用户认证系统", "...", files=("auth.py",)),
    u("Write a parser for the ini format that keeps comments and the order of sections", "Deploy a website", "online"),
    u("Schreibe eine Funktion, die alle Primzahlen bis n zählt und ausgibt.", "Es soll eine Suppe werden", "heiß"),
    u("Add a --json flag to the CLI", "...", "prints JSON"),
    u("Refactor src/util.py into two modules", "Refactor util", "two modules", files=("src/{a,b}*?.rb",)),
]  # fmt: skip


def a(approach: str, *outcomes: str, alternatives: tuple[str, ...] = ("rewrite it",)) -> ApproachDraft:
    named = [{"name": name} for name in alternatives]
    return ApproachDraft.model_validate({"approach": approach, "expected_outcomes": outcomes, "alternatives": named})


RIGHT_APPROACHES = [
    a("Change the operator", "add adds"),
    a("用标准库实现，不引入依赖", "注册和登录可用", alternatives=("使用第三方框架",)),
    a("Stream the rows", "constant memory", alternatives=("load everything", "use SQLite")),
    a("Umbau in zwei Module", "beide Module haben Tests", alternatives=()),
    FullApproachDraft.model_validate(
        {"approach": "one small module", "expected_outcomes": ["it works"], "alternatives": [{"name": "a script"}]}
    ),
]
WRONG_APPROACHES = [
    a("?", "x"),
    a("...", "add adds"),
    a("string", "string"),
    a("Change the operator"),
    a("Change it", alternatives=("b", "b")),
]


def p(*steps: dict[str, Any], small: bool = False, **more: Any) -> PlanDraft | FullPlanDraft:
    shape = PlanDraft if small else FullPlanDraft
    return shape.model_validate({"steps": list(steps), **more})


DO = {"name": "Fix add", "description": "Change the operator in calc.py."}
RIGHT_PLANS = [
    p(DO),
    p({"name": "Fix add in calc.py"}),
    p({"name": "Do it", "description": "Do the task."}),
    p({"name": "修复加法", "description": "把减号改成加号"}),
    p(DO, {"name": "Test", "type": "testing", "description": "Run the tests.", "after": [1]}),
    p({**DO, "after": [2]}, {"name": "Look", "type": "preparation", "description": "Read it."}),
    p({**DO, "after": [9]}),  # a slip of counting is repaired
    p({**DO, "preconditions": ["calc.py exists", "nobody else edits it"]}),
    p({"name": "Make", "description": "Write x.csv"}, {**DO, "preconditions": ["x.csv exists"], "after": [1]}),
    p({**DO, "when": 'outputs["s1"]["rows"] > 0 and status["s1"] == "succeeded"'}),
    p({**DO, "checks": [{"kind": "text_matches", "value": "a \\+ b", "path": "calc.py"}], "priority": 2}),
    p(DO, DO, DO, success_criteria=["add adds", {"criterion": "fast", "check": "./bench.sh"}]),
    p({**DO, "file": "calc.py"}, small=True),
    p({**DO, "file": "a.py"}, {**DO, "file": "a.py"}, small=True),
    p({**DO, "file": "a.py", "after": [2]}, {**DO, "file": "b.py"}, small=True),
    p(*({"name": f"Write part {i} of it"} for i in range(12))),
]
WRONG_PLANS = [
    p({"name": "Step 1"}),
    p({"name": "TODO"}, {"name": "..."}),
    p({"name": "a", "description": "string"}),
    p({**DO, "after": [2]}, {**DO, "after": [1]}),
    p({**DO, "after": [3]}, {**DO, "after": [1]}, {**DO, "after": [2]}),
    p({**DO, "after": [2]}, {**DO, "after": [1]}, small=True),
    p(*[DO] * 13),
    p(*[{**DO, "file": f"{i}.py"} for i in range(13)], small=True),
    p({**DO, "when": "if rows > 0"}),
    p({**DO, "when": "rows > 0"}),
    p({**DO, "when": "open('/etc/passwd').read()"}),
    p({**DO, "checks": [{"kind": "command", "value": ""}]}),
    p({**DO, "checks": [{"kind": "text_matches", "value": "a + b"}]}),
    p({**DO, "preconditions": ["missing.csv exists"]}),
    p({**DO, "file": "tests/test_calc.py"}, small=True),
]
FACTS = PlanFacts(protected=("tests/test_calc.py",), exists=lambda path: path in EXISTING)


@pytest.mark.req("P4", "P3")
def test_no_right_understanding_is_refused() -> None:
    verdicts = [judge_understanding(draft, task, DEFAULT, existing=EXISTING) for task, draft in RIGHT_UNDERSTANDINGS]
    refused = [
        (draft.understanding, v.messages)
        for (_, draft), v in zip(RIGHT_UNDERSTANDINGS, verdicts, strict=True)
        if not v.passed
    ]
    assert refused == []


@pytest.mark.req("P4", "P3")
def test_no_wrong_understanding_passes() -> None:
    passed = [
        draft
        for task, draft in WRONG_UNDERSTANDINGS
        if judge_understanding(draft, task, DEFAULT, existing=EXISTING).passed
    ]
    assert passed == []


@pytest.mark.req("P4", "P3")
def test_approaches() -> None:
    assert [draft for draft in RIGHT_APPROACHES if not judge_approach(draft, DEFAULT).passed] == []
    assert [draft for draft in WRONG_APPROACHES if judge_approach(draft, DEFAULT).passed] == []


@pytest.mark.req("P4", "P3", "A6")
def test_plans() -> None:
    verdicts = [(draft, judge_plan(draft, FACTS, DEFAULT)) for draft in RIGHT_PLANS]
    assert [(draft, verdict.messages) for draft, verdict in verdicts if not verdict.passed] == []
    assert [draft for draft in WRONG_PLANS if judge_plan(draft, FACTS, DEFAULT).passed] == []
