"""Surefoot: an agent that proves every step, and gets back up when it slips.

The public names are below. Importing this package does nothing else: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surefoot._version import __version__

if TYPE_CHECKING:
    from surefoot.bus import Bus
    from surefoot.config import BudgetConfig, ExecutionConfig, PhasePolicy, ReflectionConfig
    from surefoot.errors import SurefootError
    from surefoot.executor import SequentialExecutor
    from surefoot.models.base import LanguageModel
    from surefoot.models.cassette import RecordingModel, ReplayModel
    from surefoot.models.choose import create_model
    from surefoot.models.scripted import ScriptedModel
    from surefoot.outcome import (
        ApproachOutput,
        ExecutionPhase,
        ExecutionStatus,
        Outcome,
        PhaseResult,
        PhaseStatus,
        SequentialExecutionPlan,
        StepExecutionOutput,
        UnderstandingOutput,
        ValidationResult,
        Verdict,
    )
    from surefoot.plan import DetailedPlan, ExecutionStep, StepDependency, StepType
    from surefoot.store.memory import MemoryJournal
    from surefoot.store.sqlite import SqliteJournal
    from surefoot.tools.base import tool
    from surefoot.tools.registry import default_toolbox

_HOMES = {
    "surefoot.bus": ("Bus",),
    "surefoot.config": ("BudgetConfig", "ExecutionConfig", "PhasePolicy", "ReflectionConfig"),
    "surefoot.errors": ("SurefootError",),
    "surefoot.executor": ("SequentialExecutor",),
    "surefoot.models.base": ("LanguageModel",),
    "surefoot.models.cassette": ("RecordingModel", "ReplayModel"),
    "surefoot.models.choose": ("create_model",),
    "surefoot.models.scripted": ("ScriptedModel",),
    "surefoot.outcome": (
        "ApproachOutput",
        "ExecutionPhase",
        "ExecutionStatus",
        "Outcome",
        "PhaseResult",
        "PhaseStatus",
        "SequentialExecutionPlan",
        "StepExecutionOutput",
        "UnderstandingOutput",
        "ValidationResult",
        "Verdict",
    ),
    "surefoot.plan": ("DetailedPlan", "ExecutionStep", "StepDependency", "StepType"),
    "surefoot.store.memory": ("MemoryJournal",),
    "surefoot.store.sqlite": ("SqliteJournal",),
    "surefoot.tools.base": ("tool",),
    "surefoot.tools.registry": ("default_toolbox",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ApproachOutput",
    "BudgetConfig",
    "Bus",
    "DetailedPlan",
    "ExecutionConfig",
    "ExecutionPhase",
    "ExecutionStatus",
    "ExecutionStep",
    "LanguageModel",
    "MemoryJournal",
    "Outcome",
    "PhasePolicy",
    "PhaseResult",
    "PhaseStatus",
    "RecordingModel",
    "ReflectionConfig",
    "ReplayModel",
    "ScriptedModel",
    "SequentialExecutionPlan",
    "SequentialExecutor",
    "SqliteJournal",
    "StepDependency",
    "StepExecutionOutput",
    "StepType",
    "SurefootError",
    "UnderstandingOutput",
    "ValidationResult",
    "Verdict",
    "__version__",
    "create_model",
    "default_toolbox",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
