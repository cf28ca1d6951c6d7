"""The known providers of models and their defaults."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Provider:
    base_url: str
    key_variable: str = ""
    """Empty for servers on this machine, which need no key."""
    default_model: str = ""
    """Empty if the server is asked for its models instead."""
    context_tokens: int = 32_768


# The default models apply when only a key is set. They become outdated; users name their own.
PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.4-mini", 128_000),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-sonnet-5-5", 200_000),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat", 64_000),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter/auto", 64_000),
    "qwen": Provider("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", "qwen-plus", 128_000),
    # Ollama silently truncates longer prompts, so its own default applies unless context_tokens is configured.
    "ollama": Provider("http://127.0.0.1:11434/v1", context_tokens=4096),
    "llamacpp": Provider("http://127.0.0.1:8080/v1", context_tokens=8192),
    "vllm": Provider("http://127.0.0.1:8000/v1", context_tokens=8192),
}
BASE_URL_VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
DISCOVERED_SERVERS = {"ollama": "an Ollama server", "llamacpp": "a llama.cpp server"}
"""Local servers that are used without configuration if they are running."""
