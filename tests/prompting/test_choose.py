"""Which strategy drives a model, by its traits."""

from typing import Any, cast

import pytest

from surefoot.config.model import ExecutionConfig
from surefoot.journal.state import RunState
from surefoot.models.base import ModelTraits
from surefoot.prompting.choose import how_asked, strategy_for, strategy_name, writes_prose
from surefoot.prompting.conversation.strategy import ConversationStrategy
from surefoot.prompting.json_actions.strategy import JsonActions
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.strategy import SmallStrategy


class Model:
    def __init__(self, traits: ModelTraits) -> None:
        self.traits = traits


class Context:
    """As much of a run as a strategy needs to be made."""

    def __init__(self, traits: ModelTraits) -> None:
        self.model = Model(traits)
        self.config = ExecutionConfig()
        self.state = RunState(run_id="r")


@pytest.mark.parametrize(
    ("traits", "strategy"),
    [
        ({"tools": "native"}, ConversationStrategy),
        ({"tools": "text"}, ConversationStrategy),
        ({"tools": "native", "context_tokens": 200_000}, ConversationStrategy),
        ({}, JsonActions),
        ({"tools": "none", "context_tokens": 200_000}, JsonActions),
        ({"tools": "none", "context_tokens": 8_000}, JsonActions),
        ({"small": True}, SmallStrategy),
        ({"small": True, "tools": "native"}, SmallStrategy),
        ({"small": True, "tools": "text", "context_tokens": 200_000}, SmallStrategy),
    ],
)
def test_strategy_of_a_model(traits: dict[str, Any], strategy: type[Any]) -> None:
    context = Context(ModelTraits(**traits))
    assert type(strategy_for(cast(RunContext, context))) is strategy


@pytest.mark.parametrize(
    ("traits", "name", "words"),
    [
        ({"tools": "native"}, "conversation", "asked in a conversation with the server's tool calls"),
        ({"tools": "text"}, "conversation", "asked in a conversation with tool calls written as text"),
        ({}, "json_actions", "asked for one JSON decision at a time"),
        ({"small": True, "tools": "native"}, "small", "asked by short single questions"),
    ],
)
def test_strategy_is_named_for_people(traits: dict[str, Any], name: str, words: str) -> None:
    found = ModelTraits(**traits)
    assert strategy_name(found) == name
    assert how_asked(found).startswith(words)


@pytest.mark.parametrize(
    ("traits", "prose"),
    [({"tools": "native"}, True), ({"tools": "text"}, True), ({}, False), ({"small": True, "tools": "native"}, False)],
)
def test_only_in_a_conversation_a_model_writes_for_people(traits: dict[str, Any], prose: bool) -> None:
    """A small model writes decisions in JSON and contents of files, also on a server with tool calls."""
    assert writes_prose(ModelTraits(**traits)) is prose
