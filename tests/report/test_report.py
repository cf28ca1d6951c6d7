"""Reports of real runs: what they say, and that the page is complete."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from report.pages import TEMPLATE, Elements
from report.stories import STORIES, Story
from surefoot.errors import SurefootError
from surefoot.journal import events as e
from surefoot.report.build import build_report
from surefoot.report.document import Report, report_schema
from surefoot.report.html import as_html, load_template, noscript
from surefoot.report.markdown import as_markdown
from surefoot.report.write import render

Find = Callable[[str], Story]


def report_of(story: Story, **changes: Any) -> Report:
    return build_report(replace(story.source, **changes))


@pytest.mark.req("X7")
def test_a_healed_failure_is_told_with_its_proof_and_its_cost(story: Find) -> None:
    report = report_of(story("healed"))
    run: Any = report["rows"][0]
    assert (run["verdict"], run["proof"], report["ended"]) == ("verified", "A", True)
    (check,) = report["checks"]
    assert (check["before"], check["now"], check["origin"]) == ("red", "green", "user")
    (recovery,) = report["recoveries"]
    assert (recovery["step"], recovery["attempt"], recovery["rung"]) == ("fix", 1, "adjust_parameters")
    assert recovery["healed"]
    assert recovery["rolled_back"]
    assert "hello--world" in recovery["root_cause"]
    calls = [record.event for record in story("healed").source.records if isinstance(record.event, e.ModelAnswered)]
    lost, used = calls[:2], calls
    assert recovery["calls"] == 2
    assert recovery["tokens"]["prompt"] == sum(call.prompt_tokens for call in lost)
    assert recovery["cost_usd"] == pytest.approx(sum(call.cost_usd or 0 for call in lost))
    assert recovery["cost_usd"]
    assert sum(item["tokens"]["output"] for item in report["usage"]) == sum(call.output_tokens for call in used)
    assert recovery["seconds"] > 0


@pytest.mark.req("X7")
def test_plan_diffs_outputs_environment_and_conversation_are_in_the_document(story: Find) -> None:
    report = report_of(story("healed"))
    kinds = [row["kind"] for row in report["rows"]]
    assert (kinds.count("step"), kinds.count("try"), kinds.count("phase")) == (5, 6, 5)
    assert report["files"] == {"added": ["CHANGES.md"], "modified": ["slug.py"], "deleted": [], "tool_files": 0}
    assert {file["path"] for file in report["diff"]} == {"CHANGES.md", "slug.py"}
    (fixed,) = report["step_diffs"]["fix"]
    # The difference of the attempt that was kept, not of the one that was undone.
    assert "+    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')" in fixed["patch"]
    assert report["step_diffs"].keys() == {"fix", "doc"}
    (proof,) = report["steps"]["fix"]["proofs"]
    assert (proof["red_before"], proof["passed"], proof["exit_code"]) == (True, True, 0)
    assert proof["output_hash"] in report["blobs"] or not proof["output_hash"]
    where = report["environment"]
    assert where["model"] == ["scripted"]
    assert where["system"][0].startswith("Python 3.")
    assert {"approve", "network", "sandbox", "reflection.backoff_seconds"} <= where["settings"].keys()
    assert [m["role"] for m in report["conversation"]] == ["user", "assistant"] * 3
    assert report["omitted"] == []


@pytest.mark.req("X7")
def test_a_failed_run_has_its_diagnosis_in_every_format(story: Find) -> None:
    report = report_of(story("failed"))
    diagnosis = story("failed").state.outcome.diagnosis  # type: ignore[union-attr]
    assert diagnosis is not None
    page = Elements("\n".join(noscript(report))).text
    paper = as_markdown(report)
    for part in (diagnosis.what_failed, diagnosis.root_cause, *diagnosis.next_steps):
        assert part in page
        assert part.replace("_", "\\_") in paper
    assert "AssertionError" in page
    assert len(report["recoveries"]) == 2
    assert not any(each["healed"] for each in report["recoveries"])


def test_a_run_that_waits_says_that_it_has_not_ended_and_what_it_asks(story: Find) -> None:
    report = report_of(story("waiting"))
    assert not report["ended"]
    page, paper = Elements("\n".join(noscript(report))).text, as_markdown(report)
    for words in (page, paper):
        assert "The run had not ended when this report was written" in words
        assert "Waiting for a person" in words
        assert "pip install ./vendor/helper" in words
    assert report["checks"][0]["now"] is None


def test_a_run_of_a_process_at_work_is_shown_as_running(story: Find) -> None:
    source = story("healed").source
    begun = next(i for i, record in enumerate(source.records) if isinstance(record.event, e.ActionFinished))
    report = build_report(replace(source, records=source.records[: begun + 1], live=True))
    assert as_markdown(report).startswith("### Still running – ")
    # Up to now: the workspace as the end of the run has left it.
    assert {file["path"] for file in report["diff"]} == {"CHANGES.md", "slug.py"}


def test_an_undone_run_says_so_and_by_whom(story: Find) -> None:
    report = report_of(story("undone"))
    assert report["undone"]
    paper = as_markdown(report)
    assert paper.startswith("### Undone – ")
    assert "by a person with surefoot undo" in paper
    assert paper.index("The changes were undone on") < paper.index("**Before that: proof A: a given check")
    assert {file["path"] for file in report["diff"]} == {"CHANGES.md", "slug.py"}


def test_without_snapshots_the_report_says_that_the_changes_are_not_known(story: Find, tmp_path: Path) -> None:
    report = report_of(story("healed"), home=tmp_path)
    assert report["diff"] == []
    assert report["diff_problem"]
    assert "What the run changed is not known" in as_markdown(report)


@pytest.mark.parametrize("name", STORIES)
def test_the_document_fits_its_schema(story: Find, name: str) -> None:
    schema = report_schema()
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(render(story(name).source, "json"))
    validator.validate(document)
    assert document["v"] == schema["version"]
    assert not validator.is_valid({**document, "recoveries": [{}]})


# -- the page -------------------------------------------------------------------------------------------------------


def test_without_the_template_html_is_refused_with_the_remedy_and_the_rest_works(
    story: Find, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("surefoot.report.write.load_template", lambda: load_template(tmp_path / "report.html"))
    with pytest.raises(SurefootError, match="not part of this installation") as refused:
        render(story("healed").source, "html")
    assert "make web" in refused.value.remedy
    assert "install it again" in refused.value.remedy
    assert render(story("healed").source, "md").startswith(b"### Verified")


def test_a_damaged_template_is_refused(story: Find) -> None:
    report = report_of(story("healed"))
    for damaged in (TEMPLATE.replace("<!--surefoot:data-->", ""), TEMPLATE + "<!--surefoot:noscript-->"):
        with pytest.raises(SurefootError, match="damaged"):
            as_html(report, damaged)


def test_the_built_template_has_its_marks_a_policy_and_no_reference_to_anywhere(story: Find) -> None:
    """Needs `make web`. The browser test opens the page."""
    try:
        template = load_template()
    except SurefootError:
        pytest.skip("the page is not built: make web")
    page = as_html(report_of(story("healed")), template)
    assert "default-src 'none'" in page
    head = page.partition("<script")[0]
    assert not re.search(r"""(?:src|href)=["']?(?!data:)[\w/.]""", head + page.rpartition("</script>")[2])
    assert not re.search(r"@import|url\((?!['\"]?data:)", page)
