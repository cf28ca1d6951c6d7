"""The child process that holds the embedded model: llama.cpp's own HTTP server, through xllamacpp.

`local.LocalServer` starts it. It reads its settings as one JSON line from stdin, because other users can see a command
line and the key must not be there. It answers with one JSON line on stdout when the model is loaded, or with what went
wrong. It ends when stdin closes or the parent is gone, whichever comes first.
"""

import os
import select
import sys
from typing import Any

from surefoot.models.leash import tie_to, untie
from surefoot.values import Value

PROMPT_CACHE_MIB = 512
"""Room for about 18,000 prompt tokens besides the slot's own, so that two kinds of prompts that take turns both hit."""


class ServerSettings(Value):
    parent: int
    weights: str
    alias: str
    host: str
    port: int
    api_key: str | None
    threads: int
    context: int
    parallel: int


class ServerAnswer(Value):
    address: str = ""
    missing: str = ""
    """What could not be imported, and why. With neither of the two, the reason is in the log."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever llama.cpp prints belongs in the log
    settings = ServerSettings.model_validate_json(sys.stdin.readline())
    # While the model loads no Python code runs here, so only the kernel can end this process with its parent.
    tie_to(settings.parent)
    server, answer = _start(settings)
    untie()
    print(answer.model_dump_json(), file=answers, flush=True)
    if server is not None:
        _wait_until_unwanted(settings.parent)
    os._exit(0 if server is not None else 1)  # no farewell to requests that nobody waits for


def _start(settings: ServerSettings) -> tuple[Any, ServerAnswer]:
    try:
        import xllamacpp
    except ImportError as error:
        return None, ServerAnswer(missing=str(error))
    try:
        server = xllamacpp.Server(_parameters(xllamacpp.CommonParams(), settings))
    except RuntimeError:
        return None, ServerAnswer()
    return server, ServerAnswer(address=server.listening_address)


def _parameters(parameters: Any, settings: ServerSettings) -> Any:
    parameters.model.path = settings.weights
    parameters.model_alias = {settings.alias}
    parameters.hostnames = [settings.host]
    parameters.port = settings.port
    parameters.api_keys = [settings.api_key] if settings.api_key else []
    parameters.cors_origins = ""  # no web page has business here
    parameters.ui = False
    parameters.endpoint_slots = False  # it would show prompts
    parameters.offline = True
    parameters.cpuparams.n_threads = settings.threads
    parameters.cpuparams_batch.n_threads = settings.threads
    parameters.n_parallel = settings.parallel
    parameters.n_ctx = settings.context * settings.parallel  # the slots share it out evenly
    parameters.cache_ram_mib = PROMPT_CACHE_MIB
    return parameters


def _wait_until_unwanted(parent: int) -> None:
    wanted = select.poll()
    wanted.register(0, select.POLLIN | select.POLLHUP)
    # A process that the parent forked may hold the other end of stdin; so the parent itself is watched as well.
    if hasattr(os, "pidfd_open"):
        try:
            wanted.register(os.pidfd_open(parent), select.POLLIN)
        except ProcessLookupError:
            return
        except OSError:  # a kernel or a sandbox without it: stdin has to do
            pass
    wanted.poll()


if __name__ == "__main__":
    main()
