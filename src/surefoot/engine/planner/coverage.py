"""Which files a task and a plan speak of: impossible paths, files to be made, steps that make them. Pure."""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from surefoot.prompting.conversation.submissions import FullStepDraft
from surefoot.prompting.project.asked_changes import asks_to_change
from surefoot.prompting.project.task_text import is_named_in, is_source
from surefoot.prompting.schemas import StepDraft

_READS = re.compile(
    r"\b(?:read|reads|reading|load|loads|parse|parses|use|uses|using|from|according to|given|based on|see|described in|"
    r"following|compare|with the (?:data|numbers|values|rows) (?:in|of)|as in|like in|specified in|defined in)\b"
    r"[^,;]{0,40}$|读取?[^，。；]{0,8}$|根据[^，。；]{0,8}$|从[^，。；]{0,8}$|参考[^，。；]{0,8}$|按照?[^，。；]{0,8}$",
    re.IGNORECASE,
)
"""Words in front of a file that is only looked at."""
_MAX_PATH = 300


def is_covered(path: str, steps: Sequence[StepDraft | FullStepDraft]) -> bool:
    """Whether a step of a plan speaks of a file: as what it writes, or anywhere in its words."""
    return any(_speaks_of(path, step) for step in steps)


def _speaks_of(path: str, step: StepDraft | FullStepDraft) -> bool:
    if isinstance(step, FullStepDraft):
        texts = [step.name, step.description, *step.files, *step.expected_outputs]
        texts += [text for check in step.checks for text in (check.value, check.path)]
    else:
        texts = [step.name, step.description, step.file, step.check.value]
    return any(is_named_in(path, text) for text in texts)


def needs_step(path: str, task: str, existing: Collection[str]) -> bool:
    """Whether a file that is to be made or changed needs a step of its own. One that exists, and that the task only
    reads, does not."""
    if path not in existing or not is_named_in(path, task):
        return True
    return asks_to_change(path, task) or not (is_source(path, task) or _is_only_read(path, task))


def _is_only_read(path: str, task: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    found = list(re.finditer(rf"(?<![\w.-])(?:[\w./-]+/)?{re.escape(name)}", task))
    return bool(found) and all(_READS.search(task[: match.start()].rstrip("`'\" ")[-80:]) for match in found)


def impossible_path(path: str, task: str, root: str, existing: Collection[str]) -> bool:
    """Whether a path cannot be a file of the workspace. What the task itself names is the user's business."""
    plain = path.strip().strip("`'\"").replace("\\", "/")
    if not plain or plain in task:
        return False
    if is_pattern(plain):
        return not any(fnmatch(name, plain) for name in existing)
    if root and plain.startswith(f"{root}/"):
        plain = plain[len(root) + 1 :]
    outside = plain.startswith(("/", "~")) or bool(re.match(r"[A-Za-z]:/|\w+://", plain))
    return (
        outside or ".." in PurePosixPath(plain).parts or len(plain) > _MAX_PATH or bool(re.search(r"[<>|\0\n]", plain))
    )


def is_pattern(path: str) -> bool:
    return any(c in path for c in "*?")
