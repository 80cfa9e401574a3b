"""How does a database run inside another program? `InProcess` runs it on a thread of its own, and takes HTTP requests and calls with plain values, without sockets."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from hashrange.clock import Clock, SystemClock, callers_time
from hashrange.server.access import Access
from hashrange.server.protocols.http import http_front
from hashrange.server.protocols.values import ValuesCall
from hashrange.service.opening import open_service
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.testing.lending_loop import LendingLoop
from hashrange.wire.http import LAYOUTS_MAX, HeaderLayout, HttpRequest, layout_of
from hashrange.wire.identifiers import request_id_of

if TYPE_CHECKING:
    from hashrange.server.listener import Server

CLOSED = "This database is closed: its `with` block has ended, or close() was called."
T = TypeVar("T")
OpenService = Callable[[], Awaitable[Service]]


class Answer(NamedTuple):
    """The reply to one HTTP request."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Exchange:
    """One HTTP request and its reply, without a connection. Used on one thread at a time."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.answer: Answer | ConnectionError | None = None
        """The reply, or why there is none; None until then."""
        self.is_answered: Future[None] | None = None
        """Set, if anybody waits, when there is an answer."""

    def respond(
        self, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b"", used: str = ""
    ) -> None:
        """Answer the request."""
        request = self.request
        told = content_type or request.header(b"content-type") or b"application/x-amz-json-1.0"
        headers = {
            "x-amzn-RequestId": request_id_of(request.number).decode(),
            "Content-Type": told.decode("latin-1"),
            "Content-Length": str(len(body)),
        }
        self._end(Answer(status, headers, body))

    def cut(self, share: float) -> None:
        """Let the reply be lost."""
        self._end(ConnectionError("The connection was closed before the whole reply had come."))

    def _end(self, answer: Answer | ConnectionError) -> None:
        self.answer = answer
        if self.is_answered is not None:
            self.is_answered.set_result(None)


class InProcess:
    """A database in this process, in memory unless `settings` has a `data_dir`; a context manager.

    Its methods may be called on any thread except the database's own.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        clock: Clock | None = None,
        open_with: OpenService | None = None,
    ) -> None:
        """Start the database; returns when it is open. Raises StorageError.

        `open_with`, called on the database's event loop, opens the service instead of `open_service`; then `settings`
        and `clock` are not used.
        """
        settings = settings or Settings(data_dir=None)
        clock = clock or SystemClock()
        self._open_with = open_with or partial(open_service, settings, clock)
        self._layouts: dict[tuple[str, ...], HeaderLayout] = {}
        self._waited_for: set[Future[Any]] = set()
        """What threads wait for: replies and results that the end of the database must not leave open."""
        self._is_over = False
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="hashrange", daemon=True)
        self._thread.start()
        self._started.result()

    def ask(self, method: str, url: str, headers: Mapping[str, str | bytes], body: bytes) -> Answer:
        """Answer a request as if it had come by HTTP; `url` is a path with its query.

        Raises ConnectionError if a fault cuts the reply off, and RuntimeError if the database is closed.
        """
        names = tuple(headers)
        layout = self._layouts.get(names) or self._keep_layout(names)
        values = [value if isinstance(value, bytes) else value.encode("latin-1") for value in headers.values()]
        request = HttpRequest(method.encode(), url.encode(), layout, [*values, None], body, keeps_alive=True)
        exchange = _Exchange(request)
        self._require_open()
        if not self._loop.lend(self._answer_now, exchange):
            exchange.is_answered = Future()
            self._begin(self._front.handle, [(request, exchange.respond)])
        if exchange.is_answered is not None:
            self._result_of(exchange.is_answered)
        answer = exchange.answer
        if not isinstance(answer, Answer):
            assert answer is not None
            raise answer
        return answer

    def _keep_layout(self, names: tuple[str, ...]) -> HeaderLayout:
        layout = layout_of(tuple([name.lower().encode("latin-1") for name in names]))
        if len(self._layouts) < LAYOUTS_MAX:
            self._layouts[names] = layout
        return layout

    def _answer_now(self, exchange: _Exchange) -> None:
        """Answer a small read on its client's thread; begin another request in the next turn of the loop."""
        is_begun = self._front.answer_now(exchange.request, exchange.respond)
        if exchange.answer is None:
            exchange.is_answered = Future()
        if not is_begun:
            self._loop.call_soon(self._front.handle, [(exchange.request, exchange.respond)])

    def call(self, account: str, region: str, operation: str, members: Mapping[str, Any]) -> dict[str, Any]:
        """Run an operation; returns the members of its output as plain values. Raises its ApiError, and StorageError.

        `members`, the operation's input as plain values, meet the same constraints as a request's JSON.
        """
        ended: Future[dict[str, Any]] = Future()
        self._begin(partial(ValuesCall.start, self.service, account, region, operation, members, ended))
        return self._result_of(ended)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function or coroutine function on the database's event loop; returns or raises as the function does.

        Raises RuntimeError if the database is closed.
        """
        self._require_open()

        async def run() -> Any:
            result = function(*arguments)
            return await result if asyncio.iscoroutine(result) else result

        work = run()
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            self._require_open()
            raise
        return self._result_of(future)

    @property
    def is_over(self) -> bool:
        """True once the database is closed."""
        return self._is_over

    def _require_open(self) -> None:
        if self._is_over or self._loop.is_closed():
            raise RuntimeError(CLOSED)

    def _begin(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function in the next turn of the loop. Raises RuntimeError if the database is closed."""
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            self._require_open()
            raise

    def _result_of(self, future: Future[T]) -> T:
        """Wait for a future's result. Raises its error, or RuntimeError once the database has ended without a result."""
        self._waited_for.add(future)
        try:
            if self._is_over and not future.done():
                raise RuntimeError(CLOSED)
            return future.result()
        finally:
            self._waited_for.discard(future)

    def _end_waiting(self) -> None:
        """Let no thread wait for a result that will not come."""
        self._is_over = True
        while self._waited_for:
            with contextlib.suppress(KeyError, InvalidStateError):  # the thread that waited may be faster
                self._waited_for.pop().set_exception(RuntimeError(CLOSED))

    def listen(self) -> str:
        """Listen on the host and port of the settings; returns the endpoint's URL. Does nothing if called again.

        Raises ListenError.
        """
        endpoint: str = self.run(self._listen)
        return endpoint

    def close(self) -> None:
        """Stop the database, and return when its thread has ended."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- on its own thread ----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=LendingLoop) as runner:
                runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - raised to the thread that started the database
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            self._end_waiting()

    async def _live(self) -> None:
        """Open the service, run it until `close` is called, and close its store."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LendingLoop)
        self._loop = loop
        self._stopping = asyncio.Event()
        self._server: Server | None = None
        self.service = await self._open_with()
        try:
            self._front = http_front(self.service, Access(self.service, wall_time=callers_time))
            self.service.take_turns(self._loop)
            self.service.start_jobs()
            self._started.set_result(None)
            await self._stopping.wait()
            if self._server is not None:
                await self._server.close()
            await self.service.stop_jobs()
        finally:
            await self.service.store.close()

    async def _listen(self) -> str:
        # Imported here: most databases in a process listen on no port, and start time counts.
        from hashrange.server.listener import Secrets, Server  # noqa: PLC0415

        if self._server is None:
            server = Server(self.service, Secrets(None, None))
            self._endpoint = await server.listen()
            self._server = server
        return self._endpoint
