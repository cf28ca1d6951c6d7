"""Watchers for `server.py`, as a process of their own: python server_watchers.py BASE TOKEN COUNT RUN...

Each socket watches one of the runs, answers pings and acknowledges batches. `ready` is printed when all of them watch.
With `-` as the first run, the sockets watch the second one and print each batch with the time of its arrival.
"""

import asyncio
import json
import sys
import time

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException


async def watch(base: str, token: str, run: str, ready: list[int], tell: bool, turn: asyncio.Semaphore) -> None:
    """Watch for ever: connect again when the server drops the socket, as it does with one that was stopped for long."""
    url = base.replace("http", "ws") + "/socket.io/?EIO=4&transport=websocket"
    watching = False
    while True:
        try:
            async with turn:
                socket = await connect(url, origin=base, max_size=None, open_timeout=60)  # type: ignore[arg-type]
                await socket.recv()
                await socket.send("40" + json.dumps({"token": token}))
                await socket.recv()
                asked = time.perf_counter()
                await socket.send("420" + json.dumps(["run:watch", {"run": run}]))
            if not watching:
                ready.append(1)
                watching = True
            await follow(socket, tell, asked)
        except (OSError, TimeoutError, WebSocketException):
            await asyncio.sleep(0.5)


async def follow(socket: ClientConnection, tell: bool, asked: float) -> None:
    async for text in socket:
        assert isinstance(text, str)
        if text == "2":
            await socket.send("3")
        elif text.startswith("430") and "error" in text:
            sys.exit(f"the server refused to show the run: {text[3:]}")
        elif text.startswith("42") and text[2].isdigit():
            number, _, body = text[2:].partition("[")
            await socket.send(f"43{number}[]")
            if tell:
                name, data = json.loads(f"[{body}")
                seconds = round(time.perf_counter() - asked, 4) if name == "run:snapshot" else None
                upto = data.get("upto", data.get("seq"))
                print(json.dumps({"name": name, "upto": upto, "at": time.time(), "seconds": seconds}), flush=True)


async def main() -> None:
    base, token, count, *runs = sys.argv[1:]
    tell = runs[0] == "-"
    runs = runs[1:] if tell else runs
    ready: list[int] = []
    turn = asyncio.Semaphore(20)
    watching = [watch(base, token, runs[number % len(runs)], ready, tell, turn) for number in range(int(count))]
    tasks = [asyncio.create_task(each) for each in watching]
    while len(ready) < int(count):  # noqa: ASYNC110 - filled by the tasks
        await asyncio.sleep(0.05)
    print("ready", flush=True)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    asyncio.run(main())
