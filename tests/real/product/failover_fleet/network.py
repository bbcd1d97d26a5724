"""Lines between processes that can be cut, all on one event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

CHUNK = 65_536


class Network:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._lines: list[Line] = []
        self._thread = threading.Thread(target=self.loop.run_forever, name="network", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def line(self, port: int) -> "Line":
        """A port of its own that leads to this one."""
        made = Line(port)
        self.run(made.listen()).result(60)
        self._lines.append(made)
        return made

    def set(self, *lines: "Line", asks: bool, answers: bool) -> None:
        """Which way the lines carry: what is held back meanwhile comes late, as on any network."""

        async def turn() -> None:
            for line in lines:
                for gate, opened in ((line.asks, asks), (line.answers, answers)):
                    (gate.set if opened else gate.clear)()

        self.run(turn()).result(60)

    def close(self) -> None:
        self.run(self._end_all()).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(60)
        self.loop.close()

    async def _end_all(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for line in self._lines:
            line.server.close()
        await asyncio.sleep(0.1)  # what was closed is closed in the next turns of the loop


class Line:
    """One port in front of another; each way can be closed, and then nothing passes, not even an error."""

    def __init__(self, upstream: int) -> None:
        self.upstream, self.port = upstream, 0
        self.asks, self.answers = asyncio.Event(), asyncio.Event()
        self.asks.set()
        self.answers.set()

    async def listen(self) -> None:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self.upstream)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
            return
        with suppress(asyncio.CancelledError):
            await asyncio.gather(_pump(reader, forth, self.asks), _pump(back, writer, self.answers))
        forth.transport.abort()
        writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            await gate.wait()
            writer.write(data)
            await writer.drain()
    with suppress(OSError, RuntimeError):
        writer.close()
