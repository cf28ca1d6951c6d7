import pytest

from surefoot.models.parsing.answer import read_control

DONE = [
    '{"control": "step_done"}',
    ' {"control" : "STEP_DONE"}\n',
    '{"thought": "all green", "control": "step_done"}',
    '```json\n{"control": "step_done"}\n```',
    'All tests pass.\n\n```json\n{"control": "step_done"}\n```\n',
    'All tests pass.\n{"control": "step_done"}',
    '{\n  "control": "step_done"\n}',
    "STEP_DONE",
    "step_done",
    "Step done.",
    "The file is there.\nSTEP_DONE",
    "The file is there.\n\n**STEP_DONE**",
    "[STEP_DONE]",
    "<step_done/>",
    "STEP DONE",
    "STEP-DONE!",
    "STEP_DONE: all tests pass",
    "<control>step_done</control>",
    "text\n<control> step_done </control>",
    '<control type="step_done"/>',
    "control: step_done",
    "Control: `step_done`",
    "**control**: step_done",
    "control: done",
    "控制：步骤完成",
    "步骤完成",
    "测试全部通过。\n步骤完成。",
    "【步骤完成】",
    "本步骤已完成",
    "<think>shall I REPLAN?</think>STEP_DONE",
    "REPLAN\nNo, it works now.\nSTEP_DONE",
]
REPLAN = [
    '{"control": "replan"}',
    '{"control": "replan", "reason": "the API is gone"}',
    "REPLAN",
    "[replan]",
    "replan",
    "control: replan",
    "<control>replan</control>",
    "REPLAN: the module does not exist",
    "重新规划",
    "需要重新规划。",
    "依赖缺失。\n重新规划：先安装依赖",
]
NEITHER = [
    "",
    "The step is done when the tests pass.",
    "I will write STEP_DONE when I am finished.",
    'Then answer {"control": "step_done"} and stop.',
    "We may have to replan later.",
    'The envelope is `{"control": "step_done"}`.',
    "```python\nSTEP_DONE = 1\nprint('STEP_DONE')\n```",
    "```python\nSTEP_DONE\n```\nThis constant is used below.",
    '```json\n{"control": "step_done"}\n```\nis what one would send; I am not there yet.',
    'def f():\n    return {"control": "step_done"}',
    '{"action": "write_file", "text": "{\\"control\\": \\"step_done\\"}"}',
    '{"text": "STEP_DONE"}',
    '{"steps": [{"control": "step_done"}]}',
    '{"control": "panel"}',
    '{"control": {"step_done": true}}',
    "步骤完成后请运行测试。",
    "这个步骤完成得很好",
    "done",
    "First line.\ndone\nLast line.",
    "Next:\nreplan\nthe roof",
    "remote control: television",
    "```\nSTEP_DONE",
    "<controls>step_done</controls>",
]


@pytest.mark.req("O3")
@pytest.mark.parametrize("answer", DONE)
def test_step_done(answer: str) -> None:
    assert read_control(answer) == "step_done"


@pytest.mark.req("O3")
@pytest.mark.parametrize("answer", REPLAN)
def test_replan(answer: str) -> None:
    assert read_control(answer) == "replan"


@pytest.mark.req("O3")
@pytest.mark.parametrize("answer", NEITHER)
def test_the_words_alone_are_not_a_control(answer: str) -> None:
    assert read_control(answer) is None
