"""Applies the limits of the settings to a model."""

from surefoot.config import paths
from surefoot.config.model import ModelSettings
from surefoot.config.storage import read_storage
from surefoot.models.base import LanguageModel
from surefoot.models.limits.base import CallTable, Limits


def limited(model: LanguageModel, provider: str, settings: ModelSettings) -> LanguageModel:
    """The model itself if there are no limits, else one that waits for them."""
    if settings.concurrent_calls is None and settings.tokens_per_minute is None:
        return model
    from surefoot.models.limits.limited import LimitedModel

    limits = Limits(provider, settings.concurrent_calls, settings.tokens_per_minute)
    return LimitedModel(model, limits, _open_calls())


def _open_calls() -> CallTable:
    storage = read_storage()
    if storage.database is None:
        from surefoot.models.limits.local import LocalCalls

        return LocalCalls(paths.state_home() / "limits.sqlite")
    from surefoot.models.limits.shared import SharedCalls

    return SharedCalls(storage.database)
