"""Selecting a model: the order of the sources, specs, settings and keys."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.fake_weights import CONTENT, tiny_weights
from support.loopback import Request, Response, closed_port, event_stream, json_response, serving
from surefoot.config.model import ModelSettings
from surefoot.errors import ConfigError, NoModel, ServerUnreachable, UsageError, WeightsError
from surefoot.models.base import MIN_CONVERSATION_TOKENS, LanguageModel, Message, ModelRequest
from surefoot.models.local.model import LocalModel
from surefoot.models.local.weights import DEFAULT, KNOWN
from surefoot.models.providers.anthropic import Anthropic
from surefoot.models.providers.catalog import PROVIDERS
from surefoot.models.providers.openai_compatible import OpenAICompatible
from surefoot.models.select import Choice, choose_model, create_model, find_choice, require_reachable
from surefoot.models.tokens import count_tokens
from surefoot.prompting.choose import how_asked

REQUEST = ModelRequest(messages=(Message(role="user", content="hello"),))
VARIABLES = ("SUREFOOT_MODEL", "SUREFOOT_WEIGHTS", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "NO_PROXY", "no_proxy")


@pytest.fixture(autouse=True)
async def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No keys, no weights, and no server on the default ports."""
    for name in (*VARIABLES, *(provider.key_variable for provider in PROVIDERS.values() if provider.key_variable)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "cache"))
    for kind in ("ollama", "llamacpp", "vllm"):
        move_provider(monkeypatch, kind, await closed_port())


def move_provider(monkeypatch: pytest.MonkeyPatch, kind: str, address: str) -> None:
    monkeypatch.setitem(PROVIDERS, kind, replace(PROVIDERS[kind], base_url=f"{address}/v1"))


def listing(*names: str, **more: Any) -> Callable[[Request], Response]:
    """A server that lists these models and answers with the name of the requested one."""

    def respond(request: Request) -> Response:
        if request.path == "/v1/models":
            return json_response({"object": "list", "data": [{"id": name, **more} for name in names]})
        choice = {"index": 0, "delta": {"content": request.body["model"]}, "finish_reason": "stop"}
        return event_stream([f"data: {json.dumps({'choices': [choice], 'model': 'x'})}\n\n"])

    return respond


async def answer_of(model: LanguageModel) -> str:
    try:
        return (await model.complete(REQUEST)).text
    finally:
        await model.aclose()


def embedded_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setitem(KNOWN, DEFAULT, tiny_weights().with_(name=DEFAULT))
    monkeypatch.setenv("SUREFOOT_WEIGHTS", str(tmp_path / "tiny.gguf"))


# -- precedence -----------------------------------------------------------------------------------------------------


async def test_without_any_model_the_remedy_lists_ways_to_get_one() -> None:
    with pytest.raises(NoModel) as caught:
        await choose_model()
    options = [line for line in caught.value.remedy.splitlines() if line.startswith("  ")]
    assert len(options) == 3
    assert options[0].strip().startswith("surefoot model pull")


async def test_precedence_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded_weights(tmp_path, monkeypatch)
    assert (await find_choice()) == Choice(spec="local", source="the weights of the embedded model are installed")
    async with (
        serving(listing("nomic-embed-text", "/models/coder.gguf")) as llamacpp,
        serving(listing("qwen:7b")) as ollama,
    ):
        move_provider(monkeypatch, "llamacpp", llamacpp.address)
        choice = await find_choice()
        assert choice.spec == "llamacpp//models/coder.gguf"
        assert choice.source == f"a llama.cpp server answers on {llamacpp.address.removeprefix('http://')}"
        move_provider(monkeypatch, "ollama", ollama.address)
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


async def test_other_services_on_the_port_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    responses = [
        json_response({"data": []}),
        json_response({"data": [{"name": "x"}]}),
        json_response([1]),
        json_response({"data": 5}),
        json_response({}, 404),
        Response([b"<html>"]),
        Response([], end="lost"),
        Response([b"{"], end="silent"),
    ]
    for response in responses:
        async with serving(lambda _, response=response: response) as server:  # type: ignore[misc]
            move_provider(monkeypatch, "llamacpp", server.address)
            with pytest.raises(NoModel):
                await find_choice()
            assert [request.path for request in server.requests] == ["/v1/models"]


async def test_wrong_weights_raise_a_weights_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded_weights(tmp_path, monkeypatch)
    (tmp_path / "tiny.gguf").write_bytes(b"wrong")
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
        (
            "https://api.openai.com/v1#gpt-x",
            "OPENAI_API_KEY",
            "gpt-x at api.openai.com",
            "https://api.openai.com/v1",
        ),
    ],
)
async def test_each_provider_gets_its_own_key(
    monkeypatch: pytest.MonkeyPatch, spec: str, variable: str, name: str, address: str
) -> None:
    monkeypatch.setenv(variable, "the-right-key")
    model = await choose_model(spec, ModelSettings(context_tokens=9000))
    assert isinstance(model, OpenAICompatible)
    assert model.name == name
    endpoint = model._endpoint
    assert (endpoint.base_url, endpoint.api_key, endpoint.key_variable) == (address, "the-right-key", variable)


@pytest.mark.parametrize("kind", ["openai", "anthropic", "deepseek", "openrouter", "qwen"])
async def test_a_key_alone_selects_the_default_model_and_without_it_the_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    variable = PROVIDERS[kind].key_variable
    with pytest.raises(NoModel, match=variable) as caught:
        await choose_model(f"{kind}/some-model")
    assert variable in caught.value.remedy
    monkeypatch.setenv(variable, "a-key")
    model = await create_model()
    assert model.name == f"{kind}/{PROVIDERS[kind].default_model}"
    assert model.traits.context_tokens >= PROVIDERS[kind].default_context_tokens


async def test_anthropic_has_its_own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORK_KEY", "the-key-at-work")
    settings = ModelSettings(model="anthropic/claude-x", api_key_env="WORK_KEY", context_tokens=50_000)
    model = await choose_model(None, settings)
    assert isinstance(model, Anthropic)
    assert (model.name, model.traits.context_tokens) == ("anthropic/claude-x", 50_000)
    assert (model._endpoint.api_key, model._endpoint.key_variable) == ("the-key-at-work", "WORK_KEY")


@pytest.mark.parametrize(
    ("spec", "name"),
    [("ollama/qwen2.5:7b", "qwen2.5:7b"), ("vllm/Qwen/Qwen2.5-7B", "Qwen/Qwen2.5-7B"), ("llamacpp", "first"),
     ("ollama", "first"), ("vllm/", "first")],
)  # fmt: skip
async def test_servers_on_this_machine(monkeypatch: pytest.MonkeyPatch, spec: str, name: str) -> None:
    async with serving(listing("text-embedding-3", "first", "second")) as server:
        move_provider(monkeypatch, re.split("[/:]", spec)[0], server.address)
        assert await answer_of(await choose_model(spec)) == name
        assert "authorization" not in server.requests[-1].headers


async def test_a_url_with_or_without_a_model_name() -> None:
    async with serving(listing("first", "second", max_model_len=5000)) as server:
        assert await answer_of(await choose_model(f"{server.address}/v1#second")) == "second"
        assert await answer_of(await choose_model(f"{server.address}/v1/")) == "first"
        model = await choose_model(f"{server.address}/v1#second")
        assert model.name == f"second at {server.address.removeprefix('http://')}"
        assert model.traits.context_tokens == 5000
        assert (await choose_model(f"{server.address}/v1#unlisted")).traits.context_tokens == 32_768


async def test_the_context_window_reported_by_llama_cpp() -> None:
    async with serving(listing("first", meta={"n_ctx": 8192, "n_ctx_train": 32768})) as server:
        assert (await choose_model(f"{server.address}/v1")).traits.context_tokens == 8192
    async with serving(listing("first", meta="odd")) as server:
        assert (await choose_model(f"{server.address}/v1")).traits.context_tokens == 32_768


async def test_a_server_that_lists_no_model_is_refused_unless_one_is_named() -> None:
    async with serving(lambda request: json_response({"data": []})) as server:
        with pytest.raises(NoModel, match="does not list any model"):
            await choose_model(f"{server.address}/v1")
        await (await choose_model(f"{server.address}/v1#m")).aclose()


async def test_a_server_that_does_not_run_has_its_own_error() -> None:
    address = await closed_port()
    with pytest.raises(ServerUnreachable, match="nothing listens on this port"):
        await choose_model(f"{address}/v1")
    model = await choose_model(f"{address}/v1#m")
    with pytest.raises(ServerUnreachable, match="nothing listens on this port"):
        await require_reachable(model)
    limited = await choose_model(f"{address}/v1#m", ModelSettings(concurrent_calls=1))
    with pytest.raises(ServerUnreachable):
        await require_reachable(limited)
    await limited.aclose()


async def test_only_a_server_on_this_machine_is_asked_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others cost time, and what they say comes with the first question."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    model = await choose_model("openai/gpt-x")
    await require_reachable(model)
    await model.aclose()


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


async def test_scripted_and_recorded_answers(tmp_path: Path) -> None:
    from surefoot.models.testing.cassette import RecordingModel

    script = tmp_path / "script.json"
    script.write_text('["one", "two"]')
    assert await answer_of(await choose_model(f"scripted:{script}")) == "one"
    cassette = tmp_path / "a.cassette"
    recording = RecordingModel(await choose_model(f"scripted:{script}"), cassette)
    assert await answer_of(recording) == "one"
    assert await answer_of(await choose_model(f"cassette:{cassette}")) == "one"
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
async def test_a_misspelt_provider_gets_a_suggestion(spec: str, meant: str) -> None:
    with pytest.raises(UsageError, match="does not name a provider") as caught:
        await choose_model(spec)
    assert caught.value.remedy.startswith(f"did you mean {meant}? ")


@pytest.mark.parametrize("spec", ["gpt-x", "mistral/large", "/a/path"])
async def test_a_name_without_a_provider_is_refused_with_examples(spec: str) -> None:
    with pytest.raises(UsageError, match="does not name a provider") as caught:
        await choose_model(spec)
    assert (f"openai/{spec}" in caught.value.remedy) == (spec == "gpt-x"), "another provider is not a name of a model"
    assert "openai/gpt-" in caught.value.remedy
    assert "anthropic" in caught.value.remedy


@pytest.mark.parametrize(
    ("model", "small"),
    [("qwen2.5-coder-1.5b-instruct", True), ("llama3.2:3b", True), ("qwen2.5:7b", False), ("qwen3-30b-a3b", False),
     ("gemma-4b-it", True), ("gpt-x", False), ("phi-14b", False), ("b3b", False)],
)  # fmt: skip
async def test_small_models_are_recognised_by_their_names(model: str, small: bool) -> None:
    traits = (await choose_model(f"ollama/{model}")).traits
    assert (traits.small, traits.inline_bodies) == (small, not small)


@pytest.mark.req("X5")
async def test_only_llama_cpp_continues_a_begun_answer() -> None:
    assert [(await choose_model(f"{kind}/m")).traits.continues for kind in ("llamacpp", "ollama")] == [True, False]
    for owner, continues in (("llamacpp", True), ("somebody", False)):
        response = json_response({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]})
        async with serving(lambda _: response) as server:  # noqa: B023
            assert (await choose_model(f"{server.address}/v1")).traits.continues is continues


@pytest.mark.req("X14")
@pytest.mark.parametrize("owner", ["vllm", "llamacpp"])
@pytest.mark.parametrize("name", ["", "#m"])
async def test_server_that_is_named_by_its_address_is_asked_to_count_tokens(owner: str, name: str) -> None:
    """What a server is, is known only after it was asked for its models."""

    def answer(request: Request) -> Response:
        if request.path.endswith("/tokenize"):
            return json_response({"count": 7, "tokens": list(range(7))})
        return json_response({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner}]})

    async with serving(answer) as server:
        assert await count_tokens(await choose_model(f"{server.address}/v1{name}"), "seven tokens") == 7


@pytest.mark.req("X11")
async def test_openai_reasoning_models_get_responses_and_all_others_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    chosen = {
        spec: (await choose_model(spec)).traits.protocol
        for spec in ("openai/gpt-5.4-mini", "openai/o3", "openai/gpt-4o", "anthropic/claude-x", "ollama/gpt-5")
    }
    assert list(chosen.values()) == ["responses", "responses", "chat", "messages", "chat"]
    forced = await choose_model("openai/gpt-5", ModelSettings(protocol="chat", effort="high"))
    assert (forced.traits.protocol, forced.traits.effort) == ("chat", "high")
    monkeypatch.setenv("OPENAI_BASE_URL", await closed_port())
    assert (await choose_model("openai/gpt-5")).traits.protocol == "chat", "another server may not have it"


async def test_the_traits_of_a_hosted_model_come_from_its_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    gpt = (await choose_model("openai/gpt-5")).traits
    assert (gpt.context_tokens, gpt.output_limit, gpt.edit_format) == (272_000, 32_000, "apply_patch")
    assert (gpt.tools, gpt.efforts) == ("native", ("minimal", "low", "medium", "high"))
    claude = (await choose_model("anthropic/claude-opus-4-7")).traits
    assert (claude.edit_format, claude.efforts[-1], claude.tools) == ("edit_file", "max", "native")


@pytest.mark.parametrize(("capable", "tools"), [(True, "native"), (False, "text"), (None, "native")])
async def test_llama_cpp_says_its_context_and_whether_its_template_knows_tools(
    monkeypatch: pytest.MonkeyPatch, capable: bool | None, tools: str
) -> None:
    props: dict[str, Any] = {"default_generation_settings": {"n_ctx": 16384}}
    if capable is not None:
        props["chat_template_caps"] = {"supports_tools": capable}

    def respond(request: Request) -> Response:
        return json_response(props) if request.path == "/props" else json_response({"data": [{"id": "m"}]})

    async with serving(respond) as server:
        move_provider(monkeypatch, "llamacpp", server.address)
        traits = (await choose_model("llamacpp/m")).traits
    assert (traits.context_tokens, traits.tools) == (16_384, tools)
    assert traits.protocol == ("text" if tools == "text" else "chat")


@pytest.mark.parametrize(
    ("parameters", "loaded", "context"),
    [('num_ctx                        8192\nstop "x"', 0, 8192), ("", 0, 4096), ("num_ctx 8192", 32768, 32_768)],
)
async def test_ollama_says_its_context_and_whether_the_model_knows_tools(
    monkeypatch: pytest.MonkeyPatch, parameters: str, loaded: int, context: int
) -> None:
    def respond(request: Request) -> Response:
        if request.path == "/api/show":
            assert request.body == {"model": "gemma2:9b"}
            return json_response({"capabilities": ["completion"], "parameters": parameters})
        models = [{"name": "gemma2:9b", "context_length": loaded}] if loaded else []
        return json_response({"models": models})

    async with serving(respond) as server:
        move_provider(monkeypatch, "ollama", server.address)
        traits = (await choose_model("ollama/gemma2:9b")).traits
        forced = (await choose_model("ollama/gemma2:9b", ModelSettings(strategy="conversation"))).traits
    narrow = context < MIN_CONVERSATION_TOKENS
    assert (traits.context_tokens, traits.tools) == (context, "none" if narrow else "text")
    assert forced.tools == "text"
    assert ("too small for a conversation" in how_asked(traits)) is narrow


@pytest.mark.parametrize("answer", [json_response([]), json_response({}, 404), Response([b"<html>"])])
async def test_a_server_that_tells_nothing_gets_the_defaults(monkeypatch: pytest.MonkeyPatch, answer: Response) -> None:
    async with serving(lambda _: answer) as server:
        for kind in ("ollama", "llamacpp"):
            move_provider(monkeypatch, kind, server.address)
            traits = (await choose_model(f"{kind}/m")).traits
            assert (traits.context_tokens, traits.tools) == (PROVIDERS[kind].default_context_tokens, "none")
            assert how_asked(traits).endswith(" tokens (assumed; set model.context_tokens)")
            known = (await choose_model(f"{kind}/m", ModelSettings(context_tokens=9000))).traits
            assert how_asked(known).endswith("window 9,000 tokens")


# -- settings --------------------------------------------------------------------------------------------------------


async def test_settings_name_a_server_a_model_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "my-own-key")
    async with serving(listing("first", "second")) as server:
        settings = ModelSettings(base_url=f"{server.address}/v1", api_key_env="MY_KEY", context_tokens=4000)
        for model, name in ((None, "first"), ("second", "second"), ("openai/second", "second"), ("vllm/x", "x")):
            chosen = await choose_model(None, settings.with_(model=model))
            assert chosen.traits.context_tokens == 4000
            assert await answer_of(chosen) == name
            assert server.requests[-1].headers["authorization"] == "Bearer my-own-key"


async def test_a_configured_key_variable_that_is_not_set_is_a_config_error() -> None:
    settings = ModelSettings(model="x", base_url="http://127.0.0.1:1/v1", api_key_env="NOT_SET_ANYWHERE")
    with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE"):
        await choose_model(None, settings)


@pytest.mark.parametrize("spec", ["openai/x", "x", "URL#x"])
async def test_a_provider_s_key_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-alone")
    async with serving(listing("x")) as server:
        settings = ModelSettings(base_url=None if "URL" in spec else f"{server.address}/v1")
        await answer_of(await choose_model(spec.replace("URL", f"{server.address}/v1"), settings))
        assert server.bodies()
        assert "sk-of-openai-alone" not in str(server.requests)


async def test_openai_base_url_gets_the_openai_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(listing("first", "second")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-proxy")
        for spec, name in ((None, "first"), ("openai/second", "second")):
            assert await answer_of(await choose_model(spec)) == name
            assert server.requests[-1].headers["authorization"] == "Bearer sk-for-the-proxy"


async def test_settings_of_one_server_do_not_apply_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model named explicitly is not requested at the configured address and does not get the configured key."""
    monkeypatch.setenv("MY_KEY", "my-own-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
    async with serving(listing("x")) as configured_server, serving(listing("x")) as other_server:
        for configured in (None, "vllm/x", f"{configured_server.address}/v1#x"):
            settings = ModelSettings(
                model=configured, base_url=f"{configured_server.address}/v1", api_key_env="MY_KEY", context_tokens=4000
            )
            claude = await choose_model("anthropic/claude-x", settings)
            assert isinstance(claude, Anthropic)
            assert claude._endpoint.base_url == "https://api.anthropic.com"
            assert claude._endpoint.api_key == "key-of-anthropic"
            assert claude.traits.context_tokens == 200_000
            await answer_of(await choose_model(f"{other_server.address}/v1#x", settings))
            await answer_of(await choose_model(f"{configured_server.address}/v1#x", settings))
        assert "my-own-key" not in str(other_server.requests)
        assert configured_server.requests[-1].headers["authorization"] == "Bearer my-own-key"


def test_the_catalog_is_consistent() -> None:
    for kind, provider in PROVIDERS.items():
        assert bool(provider.key_variable) == bool(provider.default_model), kind
        assert provider.is_local == bool(provider.start_command), kind
        assert provider.is_local or not provider.discovered_as, kind
