"""Which model is taken, in which order, from where, with whose key."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.fake_weights import CONTENT, tiny_weights
from models.loopback import Asked, Told, closed_port, events, plain, serving
from surefoot.errors import ConfigError, NoModel, UsageError, WeightsError
from surefoot.models import choose
from surefoot.models.anthropic import Anthropic
from surefoot.models.base import LanguageModel, Message, ModelRequest
from surefoot.models.choose import PROVIDERS, Choice, ModelSettings, choose_model, create_model, find_choice
from surefoot.models.local import LocalModel
from surefoot.models.openai_compatible import OpenAICompatible
from surefoot.models.weights import DEFAULT, KNOWN

QUESTION = ModelRequest(messages=(Message(role="user", content="hello"),))
VARIABLES = ("SUREFOOT_MODEL", "SUREFOOT_WEIGHTS", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
async def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no weights, nobody on the ports where servers are looked for."""
    for name in (*VARIABLES, *(provider.key_variable for provider in PROVIDERS.values() if provider.key_variable)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    for kind in ("ollama", "llamacpp", "vllm"):
        await at(monkeypatch, kind, await closed_port())


async def at(monkeypatch: pytest.MonkeyPatch, kind: str, address: str) -> None:
    monkeypatch.setitem(PROVIDERS, kind, replace(PROVIDERS[kind], base_url=f"{address}/v1"))


def serves(*names: str, **more: Any) -> Callable[[Asked], Told]:
    """Lists these models, and says in an answer which one was asked."""

    def answer(asked: Asked) -> Told:
        if asked.path == "/v1/models":
            return plain({"object": "list", "data": [{"id": name, **more} for name in names]})
        choice = {"index": 0, "delta": {"content": asked.body["model"]}, "finish_reason": "stop"}
        return events([f"data: {json.dumps({'choices': [choice], 'model': 'x'})}\n\n"])

    return answer


async def told_by(model: LanguageModel) -> str:
    try:
        return (await model.complete(QUESTION)).text
    finally:
        await model.aclose()


def embedded_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setitem(KNOWN, DEFAULT, tiny_weights().with_(name=DEFAULT))
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(tmp_path / "tiny.gguf"))


# -- the order -------------------------------------------------------------------------------------------------------


async def test_with_nothing_at_all_the_quickest_ways_are_told() -> None:
    with pytest.raises(NoModel) as caught:
        await choose_model()
    ways = [line for line in caught.value.remedy.splitlines() if line.startswith("  ")]
    assert len(ways) == 3
    assert ways[0].strip().startswith("surefoot model pull")


async def test_each_source_gives_way_to_those_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded_weights(tmp_path, monkeypatch)
    assert (await find_choice()) == Choice(spec="local", source="the embedded model's weights are here")
    async with (
        serving(serves("nomic-embed-text", "/models/coder.gguf")) as llamacpp,
        serving(serves("qwen:7b")) as ollama,
    ):
        await at(monkeypatch, "llamacpp", llamacpp.address)
        choice = await find_choice()
        assert choice.spec == "llamacpp//models/coder.gguf"
        assert choice.source == f"a llama.cpp server answers on {llamacpp.address.removeprefix('http://')}"
        await at(monkeypatch, "ollama", ollama.address)
        assert (await find_choice()).spec == "ollama/qwen:7b"
        for variable in ("DASHSCOPE_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(variable, "a-key")
            assert (await find_choice()).source == f"{variable} is set"
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        assert await find_choice() == Choice(spec="openai", source="OPENAI_API_KEY is set")
    settings = ModelSettings(model="deepseek/x")
    assert await find_choice(None, settings) == Choice(spec="deepseek/x", source="model.model in the configuration")
    monkeypatch.setenv("SUREFOOT_MODEL", "qwen/y")
    assert await find_choice("", settings) == Choice(spec="qwen/y", source="the environment variable SUREFOOT_MODEL")
    assert await find_choice("ollama/z", settings) == Choice(spec="ollama/z", source="as you asked")


async def test_something_else_on_the_port_is_not_taken_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        plain({"data": []}),
        plain({"data": [{"name": "x"}]}),
        plain([1]),
        plain({"data": 5}),
        plain({}, 404),
        Told([b"<html>"]),
        Told([], end="lost"),
        Told([b"{"], end="silent"),
    ]
    for told in others:
        async with serving(lambda asked, told=told: told) as server:  # type: ignore[misc]
            await at(monkeypatch, "llamacpp", server.address)
            with pytest.raises(NoModel):
                await find_choice()
            assert [asked.path for asked in server.asked] == ["/v1/models"]


async def test_broken_weights_are_told_as_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded_weights(tmp_path, monkeypatch)
    (tmp_path / "tiny.gguf").write_bytes(b"not it")
    with pytest.raises(WeightsError):
        await find_choice()


# -- specs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "variable", "name", "address"),
    [
        ("openai/gpt-x", "OPENAI_API_KEY", "openai/gpt-x", "https://api.openai.com/v1"),
        ("openai:gpt-x", "OPENAI_API_KEY", "openai/gpt-x", "https://api.openai.com/v1"),
        ("deepseek/deepseek-chat", "DEEPSEEK_API_KEY", "deepseek/deepseek-chat", "https://api.deepseek.com/v1"),
        ("openrouter/a/b:free", "OPENROUTER_API_KEY", "openrouter/a/b:free", "https://openrouter.ai/api/v1"),
        ("qwen/qwen-max", "DASHSCOPE_API_KEY", "qwen/qwen-max", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("https://api.openai.com/v1#gpt-x", "OPENAI_API_KEY", "gpt-x at api.openai.com", "https://api.openai.com/v1"),
    ],
)
async def test_providers_get_their_own_key(
    monkeypatch: pytest.MonkeyPatch, spec: str, variable: str, name: str, address: str
) -> None:
    monkeypatch.setenv(variable, "the-right-key")
    model = await choose_model(spec, ModelSettings(context_tokens=9000))
    assert isinstance(model, OpenAICompatible)
    assert model.name == name
    place = model._place
    assert (place.base_url, place.api_key, place.key_variable) == (address, "the-right-key", variable)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "deepseek", "openrouter", "qwen"])
async def test_a_key_alone_is_enough_and_without_it_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    variable = PROVIDERS[kind].key_variable
    with pytest.raises(NoModel, match=variable) as caught:
        await choose_model(f"{kind}/some-model")
    assert variable in caught.value.remedy
    monkeypatch.setenv(variable, "a-key")
    model = await create_model()
    assert model.name == f"{kind}/{PROVIDERS[kind].default_model}"
    assert model.traits.context_tokens == PROVIDERS[kind].context_tokens


async def test_anthropic_has_a_client_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_KEY", "the-key-at-work")
    settings = ModelSettings(model="anthropic/claude-x", api_key_env="WORK_KEY", context_tokens=50_000)
    model = await choose_model(None, settings)
    assert isinstance(model, Anthropic)
    assert (model.name, model.traits.context_tokens) == ("anthropic/claude-x", 50_000)
    assert (model._place.api_key, model._place.key_variable) == ("the-key-at-work", "WORK_KEY")


@pytest.mark.parametrize(
    ("spec", "asked"),
    [("ollama/qwen2.5:7b", "qwen2.5:7b"), ("vllm/Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"), ("llamacpp", "first"),
     ("ollama", "first"), ("vllm/", "first")],
)  # fmt: skip
async def test_servers_on_this_machine(monkeypatch: pytest.MonkeyPatch, spec: str, asked: str) -> None:
    async with serving(serves("text-embedding-3", "first", "second")) as server:
        await at(monkeypatch, re.split("[/:]", spec)[0], server.address)
        assert await told_by(await choose_model(spec)) == asked
        assert "authorization" not in server.asked[-1].headers


async def test_any_address_with_a_model_behind_it() -> None:
    async with serving(serves("first", "second", max_model_len=5000)) as server:
        assert await told_by(await choose_model(f"{server.address}/v1#second")) == "second"
        assert await told_by(await choose_model(f"{server.address}/v1/")) == "first"
        model = await choose_model(f"{server.address}/v1#second")
        assert model.name == f"second at {server.address.removeprefix('http://')}"
        assert model.traits.context_tokens == 5000
        assert (await choose_model(f"{server.address}/v1#unlisted")).traits.context_tokens == 32_768


async def test_the_window_that_llama_cpp_was_started_with() -> None:
    async with serving(serves("first", meta={"n_ctx": 8192, "n_ctx_train": 32768})) as server:
        assert (await choose_model(f"{server.address}/v1")).traits.context_tokens == 8192
    async with serving(serves("first", meta="odd")) as server:
        assert (await choose_model(f"{server.address}/v1")).traits.context_tokens == 32_768


async def test_a_server_that_names_no_model_is_told_apart_from_one_that_is_named() -> None:
    address = await closed_port()
    with pytest.raises(NoModel, match="named none"):
        await choose_model(f"{address}/v1")
    await (await choose_model(f"{address}/v1#m")).aclose()


async def test_the_embedded_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WeightsError) as caught:
        await choose_model("local")
    assert "surefoot model pull" in caught.value.remedy
    with pytest.raises(UsageError):
        await choose_model("local/no-such-model")
    embedded_weights(tmp_path, monkeypatch)
    for spec in ("local", f"local/{DEFAULT}", None):
        model = await choose_model(spec)
        assert isinstance(model, LocalModel)
        assert model.name == f"local/{DEFAULT}"


async def test_written_and_recorded_answers(tmp_path: Path) -> None:
    from surefoot.models.cassette import RecordingModel

    script = tmp_path / "script.json"
    script.write_text('["one", "two"]')
    assert await told_by(await choose_model(f"scripted:{script}")) == "one"
    cassette = tmp_path / "a.cassette"
    recording = RecordingModel(await choose_model(f"scripted:{script}"), cassette)
    assert await told_by(recording) == "one"
    assert await told_by(await choose_model(f"cassette:{cassette}")) == "one"
    for spec in ("scripted:", "cassette"):
        with pytest.raises(UsageError, match="needs a file"):
            await choose_model(spec)


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("opnai/gpt-5", "openai/gpt-5"),
        ("Antropic/claude", "anthropic/claude"),
        ("olama/qwen2.5-coder:7b", "ollama/qwen2.5-coder:7b"),
        ("locl", "local"),
        ("script:a.json", "scripted:a.json"),
    ],
)
async def test_a_misspelt_place_is_answered_with_the_right_one(spec: str, meant: str) -> None:
    with pytest.raises(UsageError, match="does not say where") as caught:
        await choose_model(spec)
    assert caught.value.remedy.startswith(f"did you mean {meant}? ")


@pytest.mark.parametrize("spec", ["gpt-x", "mistral/large", "/a/path"])
async def test_a_name_without_a_place_is_refused_with_examples(spec: str) -> None:
    with pytest.raises(UsageError, match="does not say where") as caught:
        await choose_model(spec)
    assert f"openai/{spec}" in caught.value.remedy
    assert "anthropic" in caught.value.remedy


@pytest.mark.parametrize(
    ("model", "small"),
    [("qwen2.5-coder-1.5b-instruct", True), ("llama3.2:3b", True), ("qwen2.5:7b", False), ("qwen3-30b-a3b", False),
     ("gemma-4b-it", True), ("gpt-x", False), ("phi-14b", False), ("b3b", False)],
)  # fmt: skip
async def test_small_models_are_known_by_their_names(model: str, small: bool) -> None:
    traits = (await choose_model(f"ollama/{model}")).traits
    assert (traits.small, traits.inline_bodies) == (small, not small)


@pytest.mark.req("P19")
async def test_only_of_llama_cpp_is_it_known_that_answers_can_be_begun() -> None:
    assert [(await choose_model(f"{kind}/m")).traits.continues for kind in ("llamacpp", "ollama")] == [True, False]
    for owner, continues in (("llamacpp", True), ("somebody", False)):
        listing = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]}
        told = plain(listing)
        async with serving(lambda _: told) as server:  # noqa: B023
            assert (await choose_model(f"{server.address}/v1")).traits.continues is continues


# -- settings --------------------------------------------------------------------------------------------------------


async def test_settings_name_a_server_a_model_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "my-own-key")
    async with serving(serves("first", "second")) as server:
        settings = ModelSettings(base_url=f"{server.address}/v1", api_key_env="MY_KEY", context_tokens=4000)
        for model, asked in ((None, "first"), ("second", "second"), ("openai/second", "second"), ("vllm/x", "x")):
            chosen = await choose_model(None, settings.with_(model=model))
            assert chosen.traits.context_tokens == 4000
            assert await told_by(chosen) == asked
            assert server.asked[-1].headers["authorization"] == "Bearer my-own-key"


async def test_a_key_that_is_named_and_not_set_is_a_mistake_in_the_settings() -> None:
    settings = ModelSettings(model="x", base_url="http://127.0.0.1:1/v1", api_key_env="NOT_SET_ANYWHERE")
    with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE"):
        await choose_model(None, settings)


@pytest.mark.parametrize("spec", ["openai/x", "x", "URL#x"])
async def test_a_provider_s_key_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-alone")
    async with serving(serves("x")) as server:
        settings = ModelSettings(base_url=None if "URL" in spec else f"{server.address}/v1")
        await told_by(await choose_model(spec.replace("URL", f"{server.address}/v1"), settings))
        assert server.bodies()
        assert "sk-of-openai-alone" not in str(server.asked)


async def test_where_the_user_sends_openai_s_key_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(serves("first", "second")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-proxy")
        for spec, asked in ((None, "first"), ("openai/second", "second")):
            assert await told_by(await choose_model(spec)) == asked
            assert server.asked[-1].headers["authorization"] == "Bearer sk-for-the-proxy"


async def test_settings_of_one_place_do_not_apply_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model named by hand must not be asked at the configured address, nor get the configured key."""
    monkeypatch.setenv("MY_KEY", "my-own-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    async with serving(serves("x")) as mine, serving(serves("x")) as other:
        for configured in (None, "vllm/x", f"{mine.address}/v1#x"):
            settings = ModelSettings(
                model=configured, base_url=f"{mine.address}/v1", api_key_env="MY_KEY", context_tokens=4000
            )
            claude = await choose_model("anthropic/claude-x", settings)
            assert isinstance(claude, Anthropic)
            assert claude._place.base_url == "https://api.anthropic.com"
            assert claude._place.api_key == "key-of-anthropic"
            assert claude.traits.context_tokens == 200_000
            await told_by(await choose_model(f"{other.address}/v1#x", settings))
            await told_by(await choose_model(f"{mine.address}/v1#x", settings))
        assert "my-own-key" not in str(other.asked)
        assert mine.asked[-1].headers["authorization"] == "Bearer my-own-key"


def test_the_default_models_and_variables_are_complete() -> None:
    for kind, provider in PROVIDERS.items():
        assert bool(provider.key_variable) == bool(provider.default_model), kind
    assert set(choose.ON_LOOPBACK) <= set(PROVIDERS)
