"""What is an execution environment? A process that has loaded a handler and runs one invocation at a time.

An environment is used until it fails: a handler that takes too long or too much memory, ends its process or breaks
the protocol loses its environment, with all processes that it started, as far as `marks.py` recognises them.
Errors that a handler raises do not end it.
"""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hashrange.clock import real_seconds
from hashrange.functions import invocation as outcomes
from hashrange.functions.connection import EnvironmentConnection, Listener, Message
from hashrange.functions.description import Runnable
from hashrange.functions.handler_errors import read_handler_error
from hashrange.functions.invocation import InvocationOutcome
from hashrange.functions.invocation_log import InvocationLog
from hashrange.functions.marks import Mark
from hashrange.functions.process import Process, spawn
from hashrange.functions.process_tree import data_limit_bytes, memory_used_at_once, memory_used_bytes
from hashrange.functions.programs import ProgramMissing, find_command
from hashrange.functions.turns import by_size
from hashrange.functions.variables import make_variables
from hashrange.limits import INIT_SECONDS_MAX, INVOCATION_REPLY_BYTES_MAX
from hashrange.messages import functions as messages
from hashrange.work_threads import WorkThread

_EXIT_GRACE_SECONDS = 1.0
"""A process that closes its connection usually ends; its status is waited for this long."""
_DRAIN_TURNS = 4


class ExecutionEnvironment:
    """One process of one function."""

    def __init__(self, runnable: Runnable, listener: Listener, log_stream: str, generation: int) -> None:
        """`listener`: started. `generation`: which code and configuration the environment is started with."""
        self.runnable = runnable
        self._listener, self._log_stream = listener, log_stream
        self._mark = f"{listener.mark}.{secrets.token_hex(16)}"
        self._log: InvocationLog | None = None
        self._process: Process | None = None
        self._connection: EnvironmentConnection | None = None
        self._is_over = False
        self.memory = MemoryWatch(runnable.function.memory_mb)
        self.init_ms = 0.0
        """Real time that the start took."""
        self.idle_since_seconds = 0.0
        """Monotonic time of the end of the last invocation; the pool sets it."""
        self.generation = generation

    @property
    def is_usable(self) -> bool:
        """True if another invocation can begin."""
        alive = self._process is not None and not self._process.exited.done()
        return alive and not self._is_over and self._connection is not None and not self._connection.is_broken

    async def start(self, log: InvocationLog) -> InvocationOutcome | None:
        """Start the process and load the handler; None if that succeeded, else what the invocation returns.

        `log`: that of the invocation for which the environment is started.
        """
        began_seconds = real_seconds()
        self._log = log
        outcome: InvocationOutcome | None
        try:
            async with asyncio.timeout(INIT_SECONDS_MAX + self.runnable.function.timeout_seconds):
                with self.memory.watched():
                    outcome = await self._start(log.request_id)
        except TimeoutError:
            await self._drain()
            outcome = outcomes.describe_timeout(log.request_id, self.runnable.function.timeout_seconds)
        except ProgramMissing as error:
            outcome = outcomes.describe_missing_program(log.request_id, str(error))
        except OSError as error:
            message = messages.program_missing(self.runnable.function.runtime, error.strerror or str(error))
            outcome = outcomes.describe_missing_program(log.request_id, message)
        self._is_over = self._is_over or outcome is not None
        self.init_ms = (real_seconds() - began_seconds) * 1000
        self.memory.forget_time()
        return outcome

    async def _start(self, request_id: str) -> InvocationOutcome | None:
        secret = secrets.token_hex(16)
        expected = self._listener.expect(secret)
        runtime = f"{self._listener.port}:{secret}:{data_limit_bytes(self.runnable.function.memory_mb)}"
        variables = make_variables(self.runnable, self._log_stream, self._mark, runtime)
        try:
            command = await find_command(self.runnable)
            async with self._listener.starting:
                process = Process(self._feed, Mark.of(self._mark))
                await spawn(process, command, self.runnable.folder, variables)
            self._process = self.memory.process = process
            if self._is_over:  # it was killed before it began
                self._process.kill()
            if not await self._is_first(expected):
                return await self._exit(request_id)
            self._connection = expected.result()
        finally:
            expected.cancel()
        message = await self._message(self._connection.started)
        match message:
            case Message(kind="ready"):
                return None
            case Message(kind="init-error"):
                return (await self._handler_error(message, request_id))._replace(is_over=True)
            case Message(kind="memory"):
                return outcomes.describe_out_of_memory(request_id)
        return await self._exit(request_id)

    async def invoke(self, payload: bytes, log: InvocationLog, client_context: str | None = None) -> InvocationOutcome:
        """Run one invocation; afterwards `is_usable` says if the environment can run another.
        If the caller is cancelled, the environment ends.
        """
        assert self._connection
        if self._log and self._log is not log:
            self._log.tell()
        self._log = log
        timeout_seconds = self.runnable.function.timeout_seconds
        head: dict[str, Any] = {
            "requestId": log.request_id,
            "arn": self.runnable.function.arn,
            "timeoutMs": timeout_seconds * 1000,
            "replyBytesMax": INVOCATION_REPLY_BYTES_MAX,
        }
        if client_context is not None:
            head["clientContext"] = client_context
        outcome = None
        try:
            async with asyncio.timeout(timeout_seconds):
                with self.memory.watched():
                    receiving = self._connection.receive()
                    await by_size(len(payload), partial(self._connection.send, head), payload)
                    message = await self._message(receiving)
            outcome = await self._outcome(message, log.request_id)
        except TimeoutError:
            await self._drain()
            outcome = outcomes.describe_timeout(log.request_id, timeout_seconds)
        finally:
            if outcome is None or outcome.is_over:
                self.kill()
        return outcome

    async def _outcome(self, message: Message | None, request_id: str) -> InvocationOutcome:
        """What the message at the end of an invocation means; None: there was none."""
        if message and message.request_id == request_id:
            match message.kind:
                case "result":
                    return InvocationOutcome(message.body)
                case "error":
                    return await self._handler_error(message, request_id)
                case "too-large":
                    return outcomes.describe_large_reply()
                case "memory":
                    return outcomes.describe_out_of_memory(request_id)
        if message:
            return outcomes.describe_exit(request_id, None)
        return await self._exit(request_id)

    async def _handler_error(self, message: Message, request_id: str) -> InvocationOutcome:
        """The outcome of an invocation whose handler, or module, has raised an error; the error is logged."""
        error_type = await by_size(len(message.body) + len(message.event), self._log_error, message)
        if error_type is None:  # the runtime's program cannot have written this
            return outcomes.describe_exit(request_id, None)
        return InvocationOutcome(message.body, error_type or "Error")

    def _log_error(self, message: Message) -> str | None:
        """Log the error of a message; returns its type, or None if the message describes none."""
        error = read_handler_error(message.body)
        if error is None:
            return None
        if self._log and message.event:
            self._log.feed_error(message.event, error)
        return error.type

    async def _message(self, receiving: asyncio.Future[Message]) -> Message | None:
        """The message; None if the process ends, breaks the connection or uses too much memory before it."""
        if not await self._is_first(receiving) or receiving.exception() is not None:
            return None
        return receiving.result()

    async def _is_first(self, expected: asyncio.Future[Any]) -> bool:
        """Wait for `expected` and the output before it; False if the process has failed before."""
        assert self._process
        waiting = {expected, self._process.exited, self.memory.over}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        await self._drain()
        return expected.done() and not expected.cancelled()

    async def _drain(self) -> None:
        """Let the loop read what the process has written so far.

        Its socket and its pipe are ready in the same turn. asyncio hands output over one turn later, and if reading was
        paused, it takes two more turns until the pipe is read: three in all, and one to spare. A long message is read
        over further turns, if others send as well.
        """
        if self._process:
            self._process.read_on()
        turns_left = _DRAIN_TURNS
        while turns_left:
            await asyncio.sleep(0)
            is_held = self._connection is not None and self._connection.is_held
            turns_left = _DRAIN_TURNS if is_held else turns_left - 1

    async def _exit(self, request_id: str) -> InvocationOutcome:
        """The error of a process that ends, uses too much memory, or does not obey the protocol."""
        assert self._process
        if self.memory.over.done():
            return outcomes.describe_out_of_memory(request_id)
        await asyncio.wait({self._process.exited}, timeout=_EXIT_GRACE_SECONDS)
        return outcomes.describe_exit(request_id, self._process.status)

    def kill(self) -> None:
        """End the process and its group at once, or as soon as it starts; `end` does the rest."""
        self._is_over = True
        if self._process:
            self._process.kill()

    async def end(self) -> None:
        """End the process and all that it started, close what belongs to it, and let go of what refers back here."""
        self.kill()
        if self._connection:
            self._connection.abort()
        if self._process:
            await self._process.end()
        if self._log:
            self._log.tell()
            self._log = None
        self._process = self._connection = self.memory.process = None

    def _feed(self, data: bytes) -> None:
        if self._log:
            self._log.feed(data)


# --- the memory in use ----------------------------------------------------------------------------

_MB_BYTES = 1024 * 1024
_LOOK_SECONDS, _PAUSE_SECONDS = 0.05, 0.02
"""Time between two looks at the memory during an invocation, and least time between looks after invocations."""
_REST_OF_LONG_LOOKS = 4
"""After a look on the thread, the next one waits for this many times as long as it took:
looks take at most a fifth of a core."""

_LOOKING = WorkThread("hashrange-memory")


class MemoryWatch:
    """Looks at the memory of one environment every 50 ms, and finds out whether it is more than the function has.

    A look at a few threads and processes takes 0.1 ms of the event loop. A handler may have thousands of threads, or
    hundreds of children that share memory, so that a look takes up to 0.3 s: it is done on a thread, one after the
    other for all functions.
    """

    def __init__(self, memory_mb: int) -> None:
        self.process: Process | None = None
        """Set once it has started."""
        self.used_bytes = 0
        """The most memory seen in use."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the environment has used more memory than the function has."""
        self._most_bytes = memory_mb * _MB_BYTES
        self._next_look: asyncio.TimerHandle | asyncio.Task[None]
        """The timer of the next look, or the look on the thread."""
        self._due_seconds = 0.0
        """Real time before which `see` does not look again."""

    def forget_time(self) -> None:
        """Let `see` look, however short a time has passed."""
        self._due_seconds = 0.0

    def see(self) -> None:
        """Note the memory in use now, unless it was noted just before; of many processes only that of the first one."""
        if real_seconds() >= self._due_seconds:
            self._look_at_once()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Meanwhile the memory is looked at, and `over` becomes done if need be."""
        self.over = asyncio.get_running_loop().create_future()
        self._look_after(_LOOK_SECONDS)
        try:
            yield
        finally:
            self._next_look.cancel()

    def _look_after(self, seconds: float) -> None:
        self._next_look = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        if self._look_at_once():
            self._end_look(_LOOK_SECONDS)
        else:
            self._next_look = asyncio.ensure_future(self._look_on_thread())

    def _end_look(self, pause_seconds: float) -> None:
        if self.used_bytes > self._most_bytes:
            self.over.set_result(None)
        else:
            self._look_after(pause_seconds)

    def _look_at_once(self) -> bool:
        """Note the memory in use, as far as that is quickly done; False if more is to be looked at."""
        if self.process is None or self.process.exited.done():
            return True
        self._due_seconds = real_seconds() + _PAUSE_SECONDS
        used_bytes, is_whole = memory_used_at_once(self.process.pid, self._most_bytes)
        self.used_bytes = max(self.used_bytes, used_bytes)
        return is_whole

    async def _look_on_thread(self) -> None:
        assert self.process is not None
        began_seconds = real_seconds()
        used_bytes = await _LOOKING.run(memory_used_bytes, self.process.pid, self._most_bytes, self.process.mark)
        if not self.process.exited.done():  # else its id may be another's
            self.used_bytes = max(self.used_bytes, used_bytes)
        self._end_look(max(_LOOK_SECONDS, _REST_OF_LONG_LOOKS * (real_seconds() - began_seconds)))
