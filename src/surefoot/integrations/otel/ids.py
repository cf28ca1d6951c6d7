"""The ids of traces and spans. Those of a run follow from its id, so that a resumed run continues its trace."""

import hashlib
import random


def trace_id_of(run_id: str) -> int:
    """The trace of a run; the same in every process."""
    return _derived(f"surefoot trace {run_id}", 16)


def run_span_id(run_id: str, resumed: int) -> int:
    """The span of the work on a run by one process: the first one, or the one that resumed it for the n-th time."""
    return _derived(f"surefoot run {run_id} {resumed}", 8)


def _derived(text: str, size: int) -> int:
    # Zero is no valid id.
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


class Ids:
    """An id generator of the SDK whose next ids can be given. Used from the thread of the event loop only."""

    def __init__(self) -> None:
        self.next_trace = 0
        self.next_span = 0

    def generate_trace_id(self) -> int:
        given, self.next_trace = self.next_trace, 0
        return given or random.getrandbits(128) or 1

    def generate_span_id(self) -> int:
        given, self.next_span = self.next_span, 0
        return given or random.getrandbits(64) or 1

    def is_trace_id_random(self) -> bool:
        """The hash of a run's id is as good as random for samplers that read the trace id."""
        return True
