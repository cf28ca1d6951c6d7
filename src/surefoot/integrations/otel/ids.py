"""The ids of traces and spans. Those of a run are derived from its id, so that a resumed run continues its trace."""

import hashlib
import random


def trace_id_of(run_id: str) -> int:
    """The trace id of a run; the same in every process."""
    return _derived(f"surefoot trace {run_id}", 16)


def run_span_id(run_id: str, resumed: int) -> int:
    """The id of the span of one process of a run. `resumed` is 0 for the first process, n for the n-th resume."""
    return _derived(f"surefoot run {run_id} {resumed}", 8)


def _derived(text: str, size: int) -> int:
    # Zero is not a valid id.
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


class Ids:
    """An id generator for the SDK whose next ids can be set. Use it only in the thread of the event loop."""

    def __init__(self) -> None:
        self.next_trace = 0
        self.next_span = 0

    def generate_trace_id(self) -> int:
        next_id, self.next_trace = self.next_trace, 0
        return next_id or random.getrandbits(128) or 1

    def generate_span_id(self) -> int:
        next_id, self.next_span = self.next_span, 0
        return next_id or random.getrandbits(64) or 1

    def is_trace_id_random(self) -> bool:
        """The hash of a run's id is as good as random for samplers that read the trace id."""
        return True
