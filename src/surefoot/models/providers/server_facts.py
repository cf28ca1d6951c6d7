"""Ask a llama.cpp or Ollama server for its context window, and whether its chat template supports tools.

Both are settings of the server, not of the model. Blocking; without an answer, nothing is known.
"""

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 2.0
MAX_BYTES = 5_000_000


@dataclass(frozen=True)
class ServerFacts:
    context_tokens: int | None = None
    tools: bool | None = None
    """None: the server does not say."""


def ask_server(kind: str, base_url: str, model: str) -> ServerFacts:
    """Return what the server reports about itself and the model; for a server of another kind, nothing."""
    if kind == "llamacpp":
        return _llamacpp(base_url)
    return _ollama(base_url, model) if kind == "ollama" else ServerFacts()


def _llamacpp(base_url: str) -> ServerFacts:
    props = _request(base_url, "GET", "/props")
    settings = props.get("default_generation_settings")
    context = settings.get("n_ctx") if isinstance(settings, dict) else None
    capabilities = props.get("chat_template_caps")
    tools = capabilities.get("supports_tools") if isinstance(capabilities, dict) else None
    return ServerFacts(_positive(context), tools if isinstance(tools, bool) else None)


def _ollama(base_url: str, model: str) -> ServerFacts:
    answer = _request(base_url, "POST", "/api/show", {"model": model})
    capabilities = answer.get("capabilities")
    tools = "tools" in capabilities if isinstance(capabilities, list) else None
    # The Modelfile decides unless the model is loaded with another context already.
    parameter = re.search(r"^num_ctx\s+(\d+)", str(answer.get("parameters") or ""), re.MULTILINE)
    context = int(parameter.group(1)) if parameter else None
    for entry in _request(base_url, "GET", "/api/ps").get("models") or ():
        if isinstance(entry, dict) and model in (entry.get("name"), entry.get("model")):
            context = _positive(entry.get("context_length")) or context
    return ServerFacts(context, tools)


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _request(base_url: str, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    import http.client

    address = urlsplit(base_url)
    connect = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = connect(address.hostname or "", address.port, timeout=TIMEOUT_SECONDS)
    try:
        payload = json.dumps(body) if body is not None else None
        connection.request(method, path, payload, {"content-type": "application/json"})
        response = connection.getresponse()
        value = json.loads(response.read(MAX_BYTES)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()
    return value if isinstance(value, dict) else {}
