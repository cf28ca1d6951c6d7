"""Whoever can be asked while a run is at work, and how long they are waited for."""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from surefoot.fuses import Pausable
from surefoot.state import Question

LOOK_SECONDS = 0.25
"""How often it is looked whether somebody answered from elsewhere."""


class Person(Protocol):
    """Whoever can be asked now. No answer (None) means: not now, so the run waits, also beyond this process."""

    async def answer(self, question: Question) -> str | None: ...


@contextmanager
def paused(fuses: Iterable[Pausable | None]) -> Iterator[None]:
    """The time that a person takes is not counted as the step's or the run's."""
    loop = asyncio.get_running_loop()
    left = {fuse: when - loop.time() for fuse in fuses if fuse and (when := fuse.when()) is not None}
    for fuse in left:
        fuse.reschedule(None)
    try:
        yield
    finally:
        for fuse, seconds in left.items():
            fuse.reschedule(loop.time() + seconds)


async def first_answer(person: Person, question: Question, seconds: float | None) -> str | None:
    """Of the person here, or of somebody elsewhere, whose answer then stands in the question. Raises TimeoutError when
    the question has waited for as long as it may."""
    asking = asyncio.create_task(person.answer(question))
    try:
        async with asyncio.timeout(seconds):
            while question.answer is None and not asking.done():
                await asyncio.wait([asking], timeout=LOOK_SECONDS)
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.wait([asking])
    return question.answer if question.answer is not None else asking.result()
