"""A model that answers once, and then no more."""

import asyncio

from surefoot.models.base import ModelReply, ModelRequest, OnText
from surefoot.models.testing.scripted import Answer, ScriptedModel


class Hanging(ScriptedModel):
    def __init__(self, answer: Answer) -> None:
        super().__init__([answer])
        self.hangs = asyncio.Event()

    async def complete(self, request: ModelRequest, on_text: OnText | None = None) -> ModelReply:
        if self.requests:
            self.hangs.set()
            await asyncio.sleep(3600)
        return await super().complete(request, on_text)
