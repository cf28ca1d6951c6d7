"""The child process that runs the embedded model: llama.cpp's own HTTP server, through xllamacpp.

`process.LocalServer` starts it. It reads its settings as one JSON line from stdin, because other users can see the
command line and the key must not be there. It answers with one JSON line on stdout when the model is loaded or has
failed to load. It ends when stdin closes or the parent dies.
"""

import os
import select
import sys
from typing import Any

from surefoot.core.values import Value
from surefoot.models.local.parent_death import die_with, outlive_parent

PROMPT_CACHE_MIB = 512
"""Room for about 18,000 prompt tokens besides those of the slot, so that two alternating prompts are both cached."""


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
    """The import that failed, with the reason. If this and the address are empty, the reason is in the log."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of llama.cpp goes to the log
    settings = ServerSettings.model_validate_json(sys.stdin.readline())
    # No Python code runs while the model loads, so only the kernel can end this process with its parent.
    die_with(settings.parent)
    server, answer = _start(settings)
    outlive_parent()  # from here on, stdin and the parent are watched
    print(answer.model_dump_json(), file=answers, flush=True)
    if server is not None:
        _wait_for_parent_exit(settings.parent)
    os._exit(0 if server is not None else 1)  # at once: nobody waits for open requests


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
    parameters.cors_origins = ""  # no web page may use it
    parameters.ui = False
    parameters.endpoint_slots = False  # it would expose prompts
    parameters.offline = True
    parameters.cpuparams.n_threads = settings.threads
    parameters.cpuparams_batch.n_threads = settings.threads
    parameters.n_parallel = settings.parallel
    parameters.n_ctx = settings.context * settings.parallel  # divided evenly among the slots
    parameters.cache_ram_mib = PROMPT_CACHE_MIB
    return parameters


def _wait_for_parent_exit(parent: int) -> None:
    poller = select.poll()
    poller.register(0, select.POLLIN | select.POLLHUP)
    # A process forked by the parent may keep stdin open, so the parent itself is watched, too.
    if hasattr(os, "pidfd_open"):
        try:
            poller.register(os.pidfd_open(parent), select.POLLIN)
        except ProcessLookupError:
            return
        except OSError:  # not supported by this kernel or sandbox: watch only stdin
            pass
    poller.poll()


if __name__ == "__main__":
    main()
