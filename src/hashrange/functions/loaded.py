"""Which functions can run at once? Those that are loaded: code unpacked or in place, with the environments that run it.

A function is loaded when it is created or first invoked. After an update, its new code and configuration are another
`LoadedFunction`; the one before is retired: its invocations go on to their end.
Those that were used longest ago are retired too if there are too many, or too many environments wait.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hashrange.clock import Clock
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.code import CodeFolders, CodeUnusable, find_code
from hashrange.functions.connection import Listener
from hashrange.functions.description import FunctionDescription, FunctionOptions, Runnable
from hashrange.functions.guardian import Guardian
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation, InvocationOutcome
from hashrange.functions.invocation_log import FunctionLog, errors_of_functions
from hashrange.functions.log_lines import LogLines, log_lines_of, shown
from hashrange.functions.names import FunctionKey
from hashrange.functions.pool import EnvironmentPool
from hashrange.functions.refusals import parameter_refusal
from hashrange.functions.remote import RemoteFunction
from hashrange.limits import ENVIRONMENTS_IDLE_MAX, FUNCTIONS_LOADED_MAX, INVOCATIONS_RUNNING_MAX
from hashrange.messages.functions import CONCURRENCY_EXCEEDED
from hashrange.soon import kept_until_done, shielded, until_one_ends

T = TypeVar("T")
ReadZip = Callable[[FunctionDescription], Coroutine[Any, Any, bytes | None]]
"""Returns the zip of a function; None if it has been changed or deleted."""


class LoadedFunction:
    """The code of one version of a function, and what runs it."""

    def __init__(
        self, description: FunctionDescription, runner: EnvironmentPool | RemoteFunction, folder: str | None
    ) -> None:
        """`folder`: of unpacked code, which is removed in the end."""
        self.description = description
        self.folder = folder
        self.running: set[asyncio.Task[Any]] = set()
        """Invocations, and starts of environments, that have not ended."""
        self._runner = runner
        self._hurried = asyncio.Event()

    @property
    def idle_count(self) -> int:
        """Environments that wait for an invocation."""
        return self._runner.idle_count if isinstance(self._runner, EnvironmentPool) else 0

    async def start(self, request_id: str) -> InvocationOutcome | None:
        """Start an environment; returns the error of the handler's module, or None if it is loaded."""
        if not isinstance(self._runner, EnvironmentPool):
            return None
        return await self._begin(self._runner.start_one(request_id))

    async def invoke(self, payload: bytes, request_id: str, client_context: str | None) -> Invocation:
        """See `EnvironmentPool.invoke`."""
        return await self._begin(self._runner.invoke(payload, request_id, client_context))

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        return kept_until_done(asyncio.ensure_future(work), self.running)

    async def end(self) -> None:
        """End all environments, once the invocations that run have ended or `hurry` was called."""
        while self.running and not self._hurried.is_set():
            await until_one_ends(self.running, self._hurried)
        if isinstance(self._runner, EnvironmentPool):
            await self._runner.close()

    def hurry(self) -> None:
        """Let `end` wait for no invocation."""
        self._hurried.set()


class LoadedFunctions:
    """All loaded functions of a server."""

    def __init__(self, clock: Clock, options: FunctionOptions) -> None:
        self._clock, self._options = clock, options
        self._listener: asyncio.Task[Listener] | None = None
        self._guardian: Guardian | None = None
        """Started when the first environment is."""
        self._folders = CodeFolders()
        self._log_lines = LogLines(clock, shown)
        self._errors_of = errors_of_functions()
        self._loaded: dict[FunctionKey, LoadedFunction] = {}
        """In the order of their last use."""
        self._loading: dict[FunctionKey, tuple[str, asyncio.Task[LoadedFunction | None]]] = {}
        """The run id of the version that is being loaded, and the task that loads it."""
        self._loads: set[asyncio.Task[Any]] = set()
        """All tasks that load, also those of versions that are no longer wanted."""
        self._tried: set[LoadedFunction] = set()
        """Functions that are neither installed nor retired:
        it is being found out whether their handlers can be loaded."""
        self._running: Counter[FunctionKey] = Counter()
        self._retired: dict[LoadedFunction, asyncio.Task[None]] = {}
        """Functions that end, each with the task that ends it."""
        self._is_closed = False

    # --- loading --------------------------------------------------------------------------------

    async def load(self, description: FunctionDescription, zipped: bytes) -> LoadedFunction:
        """Unpack or find the function's code; no process is started. The result must be installed or retired.

        `zipped`: empty for a declared function. Raises LambdaError if the code cannot be used. To be called while an
        invocation counts (`counted`), which is not possible once the functions are closed.
        """
        return await shielded(kept_until_done(asyncio.ensure_future(self._load(description, zipped)), self._loads))

    async def _load(self, description: FunctionDescription, zipped: bytes) -> LoadedFunction:
        folder = watched = None
        runner: EnvironmentPool | RemoteFunction
        try:
            if description.url is not None:
                runner = RemoteFunction(description.url, description.timeout_seconds)
            else:
                listener = await self._listening()
                if description.code_in_place is not None:
                    place, _, watched = await asyncio.to_thread(find_code, description.code_in_place)
                else:
                    place = folder = await self._folders.unpack(zipped)
                runner = self._pool(description, listener, place, watched)
        except CodeUnusable as error:
            raise parameter_refusal(str(error)) from error
        except OSError as error:
            raise LambdaError(500, "ServiceException", error.strerror or str(error)) from error
        loaded = LoadedFunction(description, runner, folder)
        self._tried.add(loaded)
        return loaded

    def _pool(
        self, description: FunctionDescription, listener: Listener, folder: str, watched: str | None
    ) -> EnvironmentPool:
        runnable = Runnable(
            function=description,
            folder=folder,
            watched=watched,
            endpoints=self._options.endpoints,
            credentials=self._options.credentials_of(description.key.caller),
        )
        log = FunctionLog(log_lines_of(description.name), self._log_lines, self._errors_of(description.run_id))
        return EnvironmentPool(runnable, listener, self._clock, log)

    def reach(self, options: FunctionOptions) -> None:
        """From now on, new environments get these variables and credentials; what is loaded is retired."""
        self._options = options
        self.unload_all()

    async def _listening(self) -> Listener:
        """The port that environments connect to, open once the first one is needed."""
        if self._listener is None:
            self._listener = asyncio.ensure_future(self._listen())
        return await asyncio.shield(self._listener)

    async def _listen(self) -> Listener:
        listener = Listener()
        self._guardian = Guardian(listener.mark, self._folders.root)
        await listener.start()
        return listener

    # --- which are loaded -----------------------------------------------------------------------

    def install(self, loaded: LoadedFunction) -> None:
        """Use this code and configuration from the next invocation on; those of an earlier version are retired."""
        key = loaded.description.key
        self.unload(key)
        self._tried.discard(loaded)
        self._loaded[key] = loaded
        self.retire_surplus()

    def unload(self, key: FunctionKey) -> None:
        """Retire what is loaded of a function that has been deleted or changed."""
        self._loading.pop(key, None)
        loaded = self._loaded.pop(key, None)
        if loaded is not None:
            self.retire(loaded)

    def unload_all(self) -> None:
        """Retire all loaded functions."""
        for key in {*self._loaded, *self._loading}:
            self.unload(key)

    def end_all(self) -> None:
        """Retire all loaded functions, and end what runs of them and of functions that were retired before."""
        self.unload_all()
        for loaded in self._retired:
            loaded.hurry()

    def retire(self, loaded: LoadedFunction) -> None:
        """End a function's environments once its invocations have ended, and remove its code; in the background."""
        self._tried.discard(loaded)
        if loaded not in self._retired:
            task = self._retired[loaded] = asyncio.ensure_future(self._end(loaded))
            task.add_done_callback(lambda _: self._retired.pop(loaded))

    async def _end(self, loaded: LoadedFunction) -> None:
        await loaded.end()
        if loaded.folder is not None:
            await self._folders.remove(loaded.folder)

    def retire_surplus(self) -> None:
        """Retire the functions used longest ago while too many are loaded, or too many environments wait."""
        idle_count = sum(one.idle_count for one in self._loaded.values())
        surplus = len(self._loaded) - FUNCTIONS_LOADED_MAX
        for key, loaded in list(self._loaded.items()):
            if idle_count <= ENVIRONMENTS_IDLE_MAX and surplus <= 0:
                break
            if not loaded.running and (surplus > 0 or loaded.idle_count):
                idle_count -= loaded.idle_count
                surplus -= 1
                self.unload(key)

    # --- invocations ----------------------------------------------------------------------------

    @contextmanager
    def counted(self, key: FunctionKey, reserved_executions: int | None = None) -> Iterator[None]:
        """A context in which one invocation or start of an environment counts.

        Raises ConcurrencyExceeded if as many run as the function has reserved, or as may run altogether.
        """
        is_full = self._running.total() >= INVOCATIONS_RUNNING_MAX
        is_used_up = reserved_executions is not None and self._running[key] >= reserved_executions
        if self._is_closed or is_full or is_used_up:
            raise ConcurrencyExceeded(CONCURRENCY_EXCEEDED)
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1
            if not self._running[key]:
                del self._running[key]

    async def current(self, description: FunctionDescription, read_zip: ReadZip) -> LoadedFunction | None:
        """What is loaded of this version, after loading it if nothing is; see `load`.
        None if it was retired or changed meanwhile.

        Whoever gets it must use it before anything else can run.
        """
        key = description.key
        loaded = self._loaded.get(key)
        if loaded is not None and loaded.description.run_id == description.run_id:
            if next(reversed(self._loaded)) != key:
                self._loaded[key] = self._loaded.pop(key)
            return loaded
        if self._loading.get(key, ("", None))[0] != description.run_id:
            loading = kept_until_done(asyncio.ensure_future(self._load_and_install(description, read_zip)), self._loads)
            self._loading[key] = description.run_id, loading
            del loading
        loaded = await shielded(self._loading[key][1])
        return loaded if loaded is not None and self._loaded.get(key) is loaded else None

    async def _load_and_install(self, description: FunctionDescription, read_zip: ReadZip) -> LoadedFunction | None:
        """Load a version, and install it unless the function has been changed, deleted or unloaded meanwhile."""
        key, own_task = description.key, asyncio.current_task()
        try:
            zipped = b"" if description.is_declared else await read_zip(description)
            loaded = None if zipped is None else await self.load(description, zipped)
        finally:
            is_wanted = self._loading.get(key, ("", None))[1] is own_task
            if is_wanted:
                del self._loading[key]
        if loaded is None:
            return None
        if is_wanted:
            self.install(loaded)
            return loaded
        self.retire(loaded)
        return None

    async def close(self) -> None:
        """End all environments, also of invocations that run, and remove all code."""
        self._is_closed = True
        while self._loads:
            await asyncio.wait(self._loads)
        for loaded in tuple(self._tried):
            self.retire(loaded)
        while self._loaded or self._retired:
            self.end_all()
            await asyncio.wait(self._retired.values())
        if self._listener is not None:
            await (await self._listener).close()
        await self._folders.close()
        if self._guardian is not None:
            await self._guardian.close()
        await self._log_lines.written()
