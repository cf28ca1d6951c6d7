"""The catalogue of providers."""

from surefoot.journal.redact import PROVIDER_KEYS
from surefoot.models.providers.catalog import PROVIDERS


def test_the_key_of_every_provider_is_redacted_and_kept_from_commands() -> None:
    """The two lists are in different packages: the journal cannot import the models."""
    variables = {provider.key_variable for provider in PROVIDERS.values() if provider.key_variable}
    assert variables
    assert variables <= PROVIDER_KEYS
