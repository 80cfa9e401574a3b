"""A server in a thread of this process, on a free port of the loopback."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

from hashrange.aws_services.operation import Operation
from hashrange.clock import Clock, SystemClock
from hashrange.operations.operation import JsonWire
from hashrange.server.listener import Server, read_secrets
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore
from tests.support.wrapped_stores.suspending import SuspendingStore


class ThreadServer:
    """A running server; `call` runs a function on its loop, `stop` ends it."""

    def __init__(
        self,
        make_store: Callable[[], WholeStore],
        operations: Mapping[str, Operation[JsonWire]],
        clock: Clock | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.settings = settings or Settings(port=0, data_dir=None)
        self._make_store = make_store
        self._operations = operations
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait(30)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
            self._started.set()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.stopping = asyncio.Event()
        self.store = self._make_store()
        self.service = Service(self.store, self._operations, self.clock, self.settings)
        self.server = Server(self.service, read_secrets(self.settings))
        self.endpoint = await self.server.start()
        self.port = int(self.endpoint.rpartition(":")[2])
        self._started.set()
        await self.stopping.wait()
        await self.server.stop()
        await self.store.close()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a plain function on the server's loop and return what it returns."""

        async def run() -> Any:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(30)

    def propagate(self) -> None:
        """Return once every write is in the global indexes."""
        if isinstance(self.store, SuspendingStore):
            asyncio.run_coroutine_threadsafe(self.store.propagate(), self.loop).result(30)

    def stop(self) -> None:
        """End the server as SIGTERM would."""
        self.loop.call_soon_threadsafe(self.stopping.set)
        self._thread.join(30)
        assert not self._thread.is_alive()
