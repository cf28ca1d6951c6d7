"""The known providers of models and their defaults.

A new provider is one row of `PROVIDERS`, and its key variable in `journal.redact.PROVIDER_KEYS`. One with another
wire protocol also needs a client, which `connect.py` makes. How a server of a kind differs beyond these fields is in
`dialect.py` (requests), `server_facts.py` (what it is asked) and `errors.py` (how it words an error).
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Provider:
    base_url: str
    key_variable: str = ""
    """Empty for servers on this machine, which need no key."""
    default_model: str = ""
    """Empty if the server is asked for its models instead."""
    default_context_tokens: int = 32_768
    """The assumed context window, if neither the settings nor the server say how large it is."""
    base_url_variable: str = ""
    """The environment variable that replaces `base_url`, if there is a usual one."""
    protocol: Literal["chat", "messages"] = "chat"
    """The wire protocol: OpenAI's chat completions, or Anthropic's messages. Some models of OpenAI's own service get
    its Responses API instead of chat completions."""
    start_command: str = ""
    """How a server on this machine is started, for remedies."""
    discovered_as: str = ""
    """The description of a server that was found running and is used without configuration. Empty: it must be named."""
    owned_by: str = ""
    """The value of `owned_by` in the server's list of models, by which it is recognized at any address."""
    lists_context: bool = False
    """True if the server's list of models includes their context windows."""
    tokenizer_field: str = ""
    """The request field for the text, if the server counts tokens at /tokenize."""
    effort_in_template: bool = False
    """Send the effort of thinking as an argument of the chat template, as for servers that are not listed here."""

    @property
    def is_local(self) -> bool:
        return not self.key_variable


# The default models apply when only a key is set. They become outdated; users name their own. The order counts: without
# a configured model, `select.find_choice` takes the first provider whose key is set.
PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.4-mini", 128_000, base_url_variable="OPENAI_BASE_URL"
    ),
    "anthropic": Provider(
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "claude-sonnet-5-5",
        200_000,
        base_url_variable="ANTHROPIC_BASE_URL",
        protocol="messages",
    ),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat", 64_000),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto", 64_000),
    "qwen": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "qwen-plus", 128_000),
    # Ollama silently truncates longer prompts. This is its own default, unless the Modelfile or the loaded model says
    # otherwise (`server_facts.py`).
    "ollama": Provider(
        "http://127.0.0.1:11434/v1",
        default_context_tokens=4096,
        start_command="ollama serve",
        discovered_as="an Ollama server",
    ),
    "llamacpp": Provider(
        "http://127.0.0.1:8080/v1",
        default_context_tokens=8192,
        start_command="llama-server -m FILE.gguf",
        discovered_as="a llama.cpp server",
        owned_by="llamacpp",
        tokenizer_field="content",
        effort_in_template=True,
    ),
    "vllm": Provider(
        "http://127.0.0.1:8000/v1",
        default_context_tokens=8192,
        start_command="vllm serve MODEL",
        owned_by="vllm",
        lists_context=True,
        tokenizer_field="prompt",
        effort_in_template=True,
    ),
}
