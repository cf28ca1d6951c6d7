"""Surefoot: an agent that proves every step, and gets back up when it slips.

The public names are below; the outputs of phases and steps are in `surefoot.results`. Importing this package loads
none of them: each name is loaded on first use.
"""

from importlib import import_module

from surefoot._version import __version__

# Not imported from typing: with `python -m surefoot`, the working directory is on `sys.path` until `main` removes it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from surefoot.api import Agent, SequentialExecutor
    from surefoot.config.model import AlertSettings, BudgetConfig, ExecutionConfig, PhasePolicy, ReflectionConfig
    from surefoot.config.paths import journal_file, state_home
    from surefoot.core.outcome import Outcome, Verdict
    from surefoot.core.phases import ExecutionPhase
    from surefoot.core.plan import (
        Check,
        CommandCheck,
        DetailedPlan,
        ExecutionStep,
        ExpressionCheck,
        FileCheck,
        JsonSchemaCheck,
        ParsesCheck,
        StepDependency,
        StepType,
        TextCheck,
    )
    from surefoot.core.proof import ProofLevel
    from surefoot.core.questions import Question
    from surefoot.core.task import Task
    from surefoot.engine.planner.plan_text import parse_plan_from_text
    from surefoot.engine.runtime.human import Person
    from surefoot.errors import SurefootError
    from surefoot.history.fork import fork
    from surefoot.history.undo import undo
    from surefoot.journal.bus import Bus
    from surefoot.journal.store.base import Journal
    from surefoot.journal.store.memory import MemoryJournal
    from surefoot.journal.store.sqlite import SqliteJournal
    from surefoot.models.base import LanguageModel, ModelReply, ModelRequest, ModelTraits, OnText, Usage
    from surefoot.models.items import AssistantTurn, Message, TextPart, ToolCall, ToolResultMessage, ToolSpec
    from surefoot.models.select import create_model
    from surefoot.models.testing.cassette import RecordingModel, ReplayModel
    from surefoot.models.testing.scripted import Rule, ScriptedModel, calling
    from surefoot.results import SequentialExecutionPlan
    from surefoot.tools.context import ToolContext
    from surefoot.tools.registry import Toolbox, default_toolbox
    from surefoot.tools.tool import ToolResult, Writes, tool

_HOMES = {
    "surefoot.api": (
        "Agent",
        "SequentialExecutor",
    ),
    "surefoot.config.model": (
        "AlertSettings",
        "BudgetConfig",
        "ExecutionConfig",
        "PhasePolicy",
        "ReflectionConfig",
    ),
    "surefoot.config.paths": (
        "journal_file",
        "state_home",
    ),
    "surefoot.core.outcome": (
        "Outcome",
        "Verdict",
    ),
    "surefoot.core.phases": ("ExecutionPhase",),
    "surefoot.core.plan": (
        "Check",
        "CommandCheck",
        "DetailedPlan",
        "ExecutionStep",
        "ExpressionCheck",
        "FileCheck",
        "JsonSchemaCheck",
        "ParsesCheck",
        "StepDependency",
        "StepType",
        "TextCheck",
    ),
    "surefoot.core.proof": ("ProofLevel",),
    "surefoot.core.questions": ("Question",),
    "surefoot.core.task": ("Task",),
    "surefoot.engine.planner.plan_text": ("parse_plan_from_text",),
    "surefoot.engine.runtime.human": ("Person",),
    "surefoot.errors": ("SurefootError",),
    "surefoot.history.fork": ("fork",),
    "surefoot.history.undo": ("undo",),
    "surefoot.journal.bus": ("Bus",),
    "surefoot.journal.store.base": ("Journal",),
    "surefoot.journal.store.memory": ("MemoryJournal",),
    "surefoot.journal.store.sqlite": ("SqliteJournal",),
    "surefoot.models.base": (
        "LanguageModel",
        "ModelReply",
        "ModelRequest",
        "ModelTraits",
        "OnText",
        "Usage",
    ),
    "surefoot.models.items": (
        "AssistantTurn",
        "Message",
        "TextPart",
        "ToolCall",
        "ToolResultMessage",
        "ToolSpec",
    ),
    "surefoot.models.select": ("create_model",),
    "surefoot.models.testing.cassette": (
        "RecordingModel",
        "ReplayModel",
    ),
    "surefoot.models.testing.scripted": (
        "Rule",
        "ScriptedModel",
        "calling",
    ),
    "surefoot.results": ("SequentialExecutionPlan",),
    "surefoot.tools.context": ("ToolContext",),
    "surefoot.tools.registry": (
        "Toolbox",
        "default_toolbox",
    ),
    "surefoot.tools.tool": (
        "ToolResult",
        "Writes",
        "tool",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "AlertSettings",
    "AssistantTurn",
    "BudgetConfig",
    "Bus",
    "Check",
    "CommandCheck",
    "DetailedPlan",
    "ExecutionConfig",
    "ExecutionPhase",
    "ExecutionStep",
    "ExpressionCheck",
    "FileCheck",
    "Journal",
    "JsonSchemaCheck",
    "LanguageModel",
    "MemoryJournal",
    "Message",
    "ModelReply",
    "ModelRequest",
    "ModelTraits",
    "OnText",
    "Outcome",
    "ParsesCheck",
    "Person",
    "PhasePolicy",
    "ProofLevel",
    "Question",
    "RecordingModel",
    "ReflectionConfig",
    "ReplayModel",
    "Rule",
    "ScriptedModel",
    "SequentialExecutionPlan",
    "SequentialExecutor",
    "SqliteJournal",
    "StepDependency",
    "StepType",
    "SurefootError",
    "Task",
    "TextCheck",
    "TextPart",
    "ToolCall",
    "ToolContext",
    "ToolResult",
    "ToolResultMessage",
    "ToolSpec",
    "Toolbox",
    "Usage",
    "Verdict",
    "Writes",
    "__version__",
    "calling",
    "create_model",
    "default_toolbox",
    "fork",
    "journal_file",
    "parse_plan_from_text",
    "state_home",
    "tool",
    "undo",
]


def __getattr__(name: str) -> "Any":
    if name not in _HOME_OF:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
