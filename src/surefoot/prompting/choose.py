"""Chooses the strategy for a model. Nothing else outside `prompting/` and `models/` asks how large a model is."""

from surefoot.models.base import ModelTraits
from surefoot.prompting.conversation.strategy import ConversationStrategy
from surefoot.prompting.json_actions.strategy import JsonActions
from surefoot.prompting.small.strategy import SmallStrategy
from surefoot.prompting.strategy import Strategy
from surefoot.prompting.view import RunView


def how_asked(traits: ModelTraits) -> str:
    """Say which strategy a model gets, and why."""
    window = f"window {traits.context_tokens:,} tokens"
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


def strategy_for(run: RunView) -> Strategy:
    traits = run.model.traits
    if traits.small:
        return SmallStrategy(run)
    return JsonActions(run) if traits.tools == "none" else ConversationStrategy(run)
