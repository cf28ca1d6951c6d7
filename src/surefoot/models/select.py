"""Select the model: the one that was named, else the first that is available on this machine.

    find_choice    the spec of the model that would be used, and the reason
    choose_model   that model, ready to use
    create_model   the same, for programs that use Surefoot as a library

A spec names a model:

    local, local/NAME                     the embedded model
    openai/NAME, anthropic/NAME, ...      a provider of PROVIDERS; the key is taken from the environment
    ollama/NAME, vllm/NAME, llamacpp      a server on this machine; without a name, the first model that it lists
    http://127.0.0.1:8000/v1#NAME         any OpenAI-compatible server
    scripted:FILE, cassette:FILE          scripted or recorded answers
"""

import asyncio
import os
from urllib.parse import urlsplit

from surefoot.config.extras import install_command, is_installed
from surefoot.config.model import ModelSettings
from surefoot.core.values import Value
from surefoot.errors import NoModel, UsageError
from surefoot.models.base import LanguageModel
from surefoot.models.limits.opening import limited
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.connect import connect, probe
from surefoot.models.spec import host_of, parse_spec, settings_for

MODEL_VARIABLE = "SUREFOOT_MODEL"

_NO_MODEL_REMEDY = """\
get one in one of these ways:
  surefoot model pull                  the embedded model (1.1 GB); no key{runtime}
  export OPENAI_API_KEY=...            or {keys}
  -m http://127.0.0.1:8000/v1#NAME     any OpenAI-compatible server; Ollama and llama.cpp are found automatically"""


class Choice(Value):
    spec: str
    source: str
    """Why this model was chosen, in words."""

    @property
    def is_local(self) -> bool:
        """Whether it is the embedded model."""
        return parse_spec(self.spec)[0] == "local"


async def create_model(spec: str | None = None) -> LanguageModel:
    """Create the model that `spec` names, or the first that is available. Close it with `aclose` when done."""
    return await choose_model(spec)


async def choose_model(spec: str | None = None, settings: ModelSettings | None = None) -> LanguageModel:
    """Create the model of `find_choice`."""
    settings = settings or ModelSettings()
    choice = await find_choice(spec, settings)
    kind, name = parse_spec(choice.spec)
    provider = (host_of(name) or name) if kind == "url" else kind
    return limited(await _connected(kind, name, settings), provider, settings)


async def _connected(kind: str, name: str, settings: ModelSettings) -> LanguageModel:
    if kind == "local":
        return await _local_model(name)
    if kind == "scripted":
        from surefoot.models.testing.scripted import ScriptedModel

        return ScriptedModel.from_file(_require_file(name, kind))
    if kind == "cassette":
        from surefoot.models.testing.cassette import ReplayModel

        return ReplayModel(_require_file(name, kind))
    return await connect(kind, name, settings_for(kind, name, settings))


async def require_reachable(model: LanguageModel) -> None:
    """Raise if the model's server is on this machine and is not running, or does not accept the key."""
    from surefoot.models.limits.limited import LimitedModel
    from surefoot.models.providers.openai_compatible import OpenAICompatible

    server = model.inner if isinstance(model, LimitedModel) else model
    if isinstance(server, OpenAICompatible):
        try:
            await server.require_reachable()
        except BaseException:
            await model.aclose()
            raise


async def find_choice(spec: str | None = None, settings: ModelSettings | None = None) -> Choice:
    """The first of: `spec`, environment, configuration, an API key, a server on loopback, the embedded model."""
    settings = settings or ModelSettings()
    if spec and spec.strip():
        return Choice(spec=spec.strip(), source="as you asked")
    if named := os.environ.get(MODEL_VARIABLE, "").strip():
        return Choice(spec=named, source=f"the environment variable {MODEL_VARIABLE}")
    if settings.model and settings.model.strip():
        return Choice(spec=settings.model.strip(), source="model.model in the configuration")
    if settings.base_url:
        return Choice(spec=settings.base_url, source="model.base_url in the configuration")
    for kind, provider in PROVIDERS.items():
        if provider.key_variable and os.environ.get(provider.key_variable):
            return Choice(spec=kind, source=f"{provider.key_variable} is set")
    for kind, provider in PROVIDERS.items():
        if provider.discovered_as and (model := await asyncio.to_thread(probe, provider.base_url)):
            host = urlsplit(provider.base_url).netloc
            return Choice(spec=f"{kind}/{model}", source=f"{provider.discovered_as} answers on {host}")
    from surefoot.models.local.weights import weights_path

    if await asyncio.to_thread(weights_path) is not None:
        return Choice(spec="local", source="the weights of the embedded model are installed")
    raise NoModel("no model is configured and none was found", remedy=_no_model_remedy())


def _no_model_remedy() -> str:
    runtime = "" if is_installed("local") else f". It runs with: {install_command('local')}"
    keys = [provider.key_variable for provider in PROVIDERS.values() if provider.key_variable]
    return _NO_MODEL_REMEDY.format(runtime=runtime, keys=", ".join(keys[1:]))


def reusable_spec(name: str, address: str = "") -> str | None:
    """The spec of the model that a run used, by its name or its address in the journal. None: neither is a spec, or
    SUREFOOT_MODEL overrides it."""
    if os.environ.get(MODEL_VARIABLE):
        return None
    return name if name.partition("/")[0] in (*PROVIDERS, "local") else address or None


async def _local_model(name: str) -> LanguageModel:
    from surefoot.models.local.model import LocalModel
    from surefoot.models.local.runtime import not_installed
    from surefoot.models.local.weights import DEFAULT, require_weights

    model = LocalModel(name or DEFAULT)
    await asyncio.to_thread(require_weights, name or DEFAULT)
    if problem := not_installed():
        raise problem
    return model


def _require_file(name: str, kind: str) -> str:
    if not name:
        raise UsageError(f"{kind} needs a file", remedy=f"write {kind}:FILE")
    return name
