"""How does a database run inside another program? `InProcess` runs it on a thread of its own, and takes HTTP requests
and calls with plain values, without sockets.
"""

import asyncio
import contextlib
import errno
import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, InvalidStateError
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from hashrange.clock import Clock, callers_time
from hashrange.functions.feature import FUNCTIONS
from hashrange.limits import BODY_BYTES_MAX
from hashrange.server.access import Access
from hashrange.server.protocols.http import http_front
from hashrange.server.protocols.values import ValuesCall
from hashrange.service.service import Service
from hashrange.service.taken_apart import take_apart
from hashrange.settings import Settings
from hashrange.soon import kept_until_done
from hashrange.testing.lending_loop import LendingLoop
from hashrange.wire.http import LAYOUTS_MAX, HeaderLayout, HttpRequest, layout_of
from hashrange.wire.identifiers import request_id_of

if TYPE_CHECKING:
    from hashrange.server.front import Front
    from hashrange.server.listener import Server

CLOSED = "This database is closed: its `with` block has ended, or close() was called."
FORKED = (
    "This process was forked from the one that runs the database, and cannot reach it in this way."
    " Start another database here, or call this one at its `endpoint`, which the first process has"
    " to ask for before it forks."
)
OWN_THREAD = (
    "This code runs on the database's own thread, which would wait for itself. In a program that Database.run has"
    " begun, use the methods of its first argument, such as `await inside.call(…)`."
)
T = TypeVar("T")
OpenService = Callable[[], Awaitable[Service]]


class Answer(NamedTuple):
    """The reply to one HTTP request."""

    status: int
    headers: dict[str, str]
    body: bytes


class Exchange:
    """One HTTP request without a connection: its reply is kept, and who waits for it is told.
    Used on one thread at a time.
    """

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
        for line in extra.decode("latin-1").splitlines():
            name, _, value = line.partition(": ")
            headers[name] = value
        self._end(Answer(status, headers, body))

    def cut(self, share: float) -> None:
        """Let the reply be lost."""
        self._end(ConnectionError("The connection was closed before the whole reply had come."))

    def _end(self, answer: Answer | ConnectionError) -> None:
        self.answer = answer
        if self.is_answered is not None and not self.is_answered.done():
            self.is_answered.set_result(None)


class InProcess:
    """A database in this process; runs from `start`, or `with`, to `close`.

    Its methods may be called on any thread except the database's own.
    """

    def __init__(self, open_with: OpenService, siblings: "set[InProcess] | None" = None) -> None:
        """Prepare a database, without starting it. `open_with`, called on its event loop, opens the service.
        `siblings`, of a fork: the `forks` of its original.
        """
        self._open_with = open_with
        self.forks: set[InProcess] = set()
        """Forks that have not ended; they end with this database."""
        self._siblings = set() if siblings is None else siblings
        self._layouts: dict[tuple[str, ...], HeaderLayout] = {}
        self._waited_for: set[Future[Any]] = set()
        """What threads wait for: replies and results that the end of the database must not leave open."""
        self.is_unwanted = False
        """True once the database is to end, which it may hear of while it starts."""
        self.is_ending = False
        """True once no more work begins."""
        self._is_over = False
        """True once no reply and no result will come any more."""
        self._stopping: asyncio.Event | None = None
        self._running: set[asyncio.Task[None]] = set()
        """Functions that `run` has begun."""
        self.clock: Clock | None = None
        self._service: Service | None = None
        self._front: Front | None = None
        self._server: Server | None = None
        self.known_endpoint: str | None = None
        """The endpoint's URL if `listen` was called, in this process or in the one that it was forked from."""
        self._process_id = os.getpid()
        self._started: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name="hashrange", daemon=True)

    def start(self) -> Self:
        """Start the database; returns when it is open. Raises StorageError.

        A database whose start is interrupted, by Ctrl-C for example, ends as soon as it has started.
        """
        try:
            self._thread.start()
            self._started.result()
        except BaseException:
            self._stop()
            raise
        return self

    def ask(self, method: str, url: str, headers: Mapping[str, str | bytes], body: bytes) -> Answer:
        """Answer a request as if it had come by HTTP; `url` is a path with its query.

        Raises ConnectionError if a fault cuts the reply off, and RuntimeError if the database is closed.
        """
        names = tuple(headers)
        layout = self._layouts.get(names) or self._keep_layout(names)
        values = [value if isinstance(value, bytes) else value.encode("latin-1") for value in headers.values()]
        request = HttpRequest(method.encode(), url.encode(), layout, [*values, None], body, keeps_alive=True)
        request.is_root_post = method == "POST" and url == "/"
        exchange = Exchange(request)
        self.require_open()
        is_refused = len(body) > BODY_BYTES_MAX and self._refuses_length(exchange)
        if not is_refused and not self._loop.lend(self._answer_now, exchange):
            exchange.is_answered = Future()
            self._begin(self._handle, exchange)
        if exchange.is_answered is not None:
            self._result_of(exchange.is_answered)
        answer = exchange.answer
        if not isinstance(answer, Answer):
            assert answer is not None
            raise answer
        return answer

    def _refuses_length(self, exchange: Exchange) -> bool:
        """Refuse a request whose body is longer than a listener reads; False if it is not."""
        # Imported here: most tests send no such request, and their first one waits for what is imported.
        from hashrange.server.protocols.long_bodies import long_body_reply  # noqa: PLC0415
        from hashrange.server.protocols.rest_json.lambda_api import body_limit  # noqa: PLC0415

        request, service = exchange.request, self.service
        has_functions = service.features.loaded(FUNCTIONS) is not None
        if has_functions and len(request.body) <= body_limit(request.url):
            return False
        reply = long_body_reply(request, has_admin=service.settings.admin, has_functions=has_functions)
        exchange.respond(reply.status, reply.body, reply.content_type, reply.header_lines)
        return True

    def _keep_layout(self, names: tuple[str, ...]) -> HeaderLayout:
        layout = layout_of(tuple([name.lower().encode("latin-1") for name in names]))
        if len(self._layouts) < LAYOUTS_MAX:
            self._layouts[names] = layout
        return layout

    def _answer_now(self, exchange: Exchange) -> None:
        """Answer a small read on its client's thread; begin another request in the next turn of the loop."""
        self.require_open()
        assert self._front is not None
        is_begun = self._front.answer_now(exchange.request, exchange.respond)
        if exchange.answer is None:
            exchange.is_answered = Future()
        if not is_begun:
            self._loop.call_soon(self._begin_now, self._handle, exchange)

    def _handle(self, exchange: Exchange) -> None:
        assert self._front is not None
        self._front.handle([(exchange.request, exchange.respond)])

    def call(self, account: str, region: str, operation: str, members: Mapping[str, Any]) -> dict[str, Any]:
        """Run an operation; returns the members of its output as plain values. Raises its ApiError, and StorageError.

        `members`, the operation's input as plain values, meet the same constraints as a request's JSON.
        """
        self.require_open()
        ended: Future[dict[str, Any]] = Future()
        self._begin(partial(ValuesCall.start, self.service, account, region, operation, members, ended))
        return self._result_of(ended)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a function or coroutine function on the database's event loop; returns or raises as the function does.

        Raises RuntimeError if the database is closed. Interrupted, by Ctrl-C for example, it lets a coroutine go on.
        """
        self.require_open()
        ended: Future[Any] = Future()
        self._begin(self._run_function, ended, function, *arguments)
        return self._result_of(ended)

    def run_interruptible(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Run a coroutine function as `run` does; it is cancelled if the wait for it is interrupted."""
        self.require_open()
        ended: Future[Any] = Future()
        try:
            self._begin(self._run_function, ended, function, *arguments)
            return self._result_of(ended)
        finally:
            ended.cancel()  # only if it has not ended

    @property
    def service(self) -> Service:
        """The database's service. Raises RuntimeError if the database has ended, or has not started."""
        if self._service is None:
            raise RuntimeError(CLOSED)
        return self._service

    @property
    def is_forked(self) -> bool:
        """True in a process that was forked from the one that runs the database.

        A thread that is not alive shows a fork as well, but a signal handler that raises while `Thread.is_alive` runs
        makes it return False from then on.
        """
        return os.getpid() != self._process_id

    def require_open(self) -> None:
        """Raise RuntimeError if the database is closed, runs in the process that this one was forked
        from, or runs this very code.
        """
        if self.is_forked:
            raise RuntimeError(FORKED)
        if threading.get_ident() == self._thread.ident:
            raise RuntimeError(OWN_THREAD)
        if self.is_ending or self._loop.is_closed():
            raise RuntimeError(CLOSED)

    def _begin(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function in the next turn of the loop. Raises RuntimeError if the database is closed."""
        try:
            self._loop.call_soon_threadsafe(self._begin_now, function, *arguments)
        except RuntimeError:
            self.require_open()
            raise

    def _result_of(self, future: Future[T]) -> T:
        """Wait for a future's result. Raises its error, or RuntimeError once the database
        has ended without a result.
        """
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
        if self.is_forked and self.known_endpoint is not None:
            return self.known_endpoint
        endpoint: str = self.run(self._listen)
        return endpoint

    def listen_for_dax(self) -> str | None:
        """Listen, as `listen` does; returns the URL of the DAX cluster `default`,
        None if there is none. Raises ListenError.
        """
        self.listen()
        return None if self._server is None else self._server.dax_endpoint

    def close(self) -> None:
        """Stop the database and its forks, and return when their threads have ended.
        Threads that wait for a reply get a RuntimeError.
        """
        end_with_forks([self])

    def end(self) -> None:
        """Stop the database, as `close` does, but not its forks."""
        self._stop()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _stop(self) -> None:
        """Let the database end: now, or as soon as it has started."""
        self.is_unwanted = True
        if self._stopping is not None and not self.is_forked:
            with contextlib.suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stopping.set)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- on its own thread ----------------------------------------------------------------------

    def _run(self) -> None:
        self._siblings.add(self)
        try:
            with asyncio.Runner(loop_factory=LendingLoop) as runner:
                runner.run(self._live())
        except BaseException as error:  # noqa: BLE001 - raised to the thread that started the database
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            self._end_waiting()
            take_apart(self._service, self._front, self._server)
            self._service = self._front = self._server = None
            self._siblings.discard(self)

    async def _live(self) -> None:
        """Open the service, run it until `close` is called, and close its store."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LendingLoop)
        self._loop = loop
        self._stopping = stopping = asyncio.Event()
        if self.is_unwanted:
            stopping.set()
        self._service = service = await self._open_with()
        try:
            self.clock = service.clock
            self._front = http_front(service, Access(service, wall_time=callers_time))
            service.take_turns(self._loop)
            service.features.start()
            if service.features.loaded(FUNCTIONS) is not None:
                await self._listen()  # handlers run in other processes
            self._started.set_result(None)
            await stopping.wait()
            await self._end_work()
        finally:
            self.is_ending = True
            await service.store.close()

    async def _end_work(self) -> None:
        """Begin nothing more, answer the requests of connections, and stop what else is running."""
        self.is_ending = True
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        if self._server is not None:
            await self._server.close()
        await self.service.features.stop()
        self.service.workers.abandon()

    def _begin_now(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function, unless the database ends: then `_end_waiting` tells those who wait."""
        if not self.is_ending:
            function(*arguments)

    def _run_function(self, ended: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
        """Begin what `run` was asked for."""
        task = kept_until_done(
            self._loop.create_task(self._finish_function(ended, function, *arguments)), self._running
        )
        ended.add_done_callback(partial(self._cancel_with, task))

    def _cancel_with(self, task: "asyncio.Task[None]", ended: Future[Any]) -> None:
        """Cancel a task if nobody waits for its end any more. Called on any thread."""
        if ended.cancelled():
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(task.cancel)

    async def _finish_function(self, ended: Future[Any], function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function, and pass on its result or error; its task is cancelled when the database ends,
        or nobody waits any more.
        """
        with contextlib.suppress(InvalidStateError):  # nobody waits any more
            try:
                result = function(*arguments)
                if asyncio.iscoroutine(result):
                    result = await result
            except asyncio.CancelledError:
                ended.set_exception(RuntimeError(CLOSED))
            except BaseException as error:  # noqa: BLE001 - raised to the thread that waits
                ended.set_exception(error)
            else:
                ended.set_result(result)

    async def _listen(self) -> str:
        # Imported here: most databases in a process listen on no port, and start time counts.
        from hashrange.server.listener import ListenError, Secrets, Server  # noqa: PLC0415

        if self._server is None:
            server = Server(self.service, Secrets(None, None))
            try:
                self.known_endpoint = await server.listen()
            except ListenError as error:
                raise ListenError(_listen_failure(self.service.settings, error.__cause__)) from error
            self._server = server
        assert self.known_endpoint is not None
        return self.known_endpoint


def end_with_forks(processes: Iterable[InProcess]) -> None:
    """End databases and their forks, each fork before its original."""
    family = list(processes)
    with contextlib.ExitStack() as ends:  # the others end even if the wait for one is interrupted
        for process in family:
            process.is_unwanted = True
            ends.callback(process.end)
            family += process.forks


def _listen_failure(settings: Settings, cause: BaseException | None) -> str:
    """Why the database could not listen, and the remedy in the words of code, which has no command line."""
    address = f"{settings.host}:{settings.port}"
    if isinstance(cause, UnicodeError):
        return f"the database cannot listen on {address}: that is no name of a host. Mend Settings(host=…)."
    is_taken = isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE
    reason = "another program has taken it" if is_taken else str(cause)
    return (
        f"the database cannot listen on {address}: {reason}. Choose another port with server(port=…), or leave"
        " it out to take a free one."
    )
