"""Choose the strategy for a model. Code outside `prompting/` and `models/` does not ask how large a model is."""

from typing import Literal, TypeAlias

from surefoot.models.base import ModelTraits
from surefoot.prompting.conversation.strategy import ConversationStrategy
from surefoot.prompting.json_actions.strategy import JsonActions
from surefoot.prompting.run_context import RunContext
from surefoot.prompting.small.strategy import SmallStrategy
from surefoot.prompting.strategy import Strategy

StrategyName: TypeAlias = Literal["small", "json_actions", "conversation"]


def how_asked(traits: ModelTraits) -> str:
    """Say which strategy a model gets, and why."""
    assumed = " (assumed; set model.context_tokens)" if traits.context_assumed else ""
    window = f"window {traits.context_tokens:,} tokens{assumed}"
    if traits.small:
        return f"asked by short single questions, because it is small or the strategy is set to small; {window}"
    if traits.tools == "none":
        narrow = "its window is too small for a conversation" if traits.is_narrow else "it calls no tools"
        return f"asked for one JSON decision at a time, because {narrow}; {window}"
    calls = (
        "the server's tool calls"
        if traits.tools == "native"
        else "tool calls written as text, as its server takes no tools"
    )
    return f"asked in a conversation with {calls}, because nothing says that it is small; {window}"


def strategy_name(traits: ModelTraits) -> StrategyName:
    if traits.small:
        return "small"
    return "json_actions" if traits.tools == "none" else "conversation"


def writes_prose(traits: ModelTraits) -> bool:
    """Whether the text of the model is meant for people. Otherwise it is a decision in JSON, or a file."""
    return strategy_name(traits) == "conversation"


def strategy_for(run: RunContext) -> Strategy:
    match strategy_name(run.model.traits):
        case "small":
            return SmallStrategy(run)
        case "json_actions":
            return JsonActions(run)
        case "conversation":
            return ConversationStrategy(run)
