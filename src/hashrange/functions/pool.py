"""Which environment runs an invocation of a function? An idle one, else a new one.
How many run at the same time, the caller decides (`loaded.py`).
"""

import asyncio
import datetime as dt
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from hashrange.clock import Clock, real_seconds
from hashrange.functions.code import fingerprint
from hashrange.functions.connection import Listener
from hashrange.functions.description import Runnable
from hashrange.functions.environment import ExecutionEnvironment
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation, InvocationOutcome
from hashrange.functions.invocation_log import FunctionLog, InvocationLog, report_of
from hashrange.functions.names import LATEST
from hashrange.limits import ENVIRONMENT_IDLE_SECONDS_MAX, INVOCATION_PAYLOAD_BYTES_MAX
from hashrange.messages import functions as messages
from hashrange.soon import kept_until_done

_MB_BYTES = 1024 * 1024


class EnvironmentPool:
    """The environments of one version of a function.

    The environment used last is used first, so that the others become idle. One that has failed is replaced by the next
    invocation. `clock` is read for idle times (monotonic) and for names and lines of logs (wall time);
    time-outs go by the event loop's own clock.
    """

    def __init__(self, runnable: Runnable, listener: Listener, clock: Clock, log: FunctionLog) -> None:
        """`listener`: started; all pools share it."""
        self._runnable, self._listener, self._clock, self._log = runnable, listener, clock, log
        self._generation = 0
        """How often the code has changed."""
        self._fingerprint: str | None = None
        self._idle: list[ExecutionEnvironment] = []
        self._busy: set[ExecutionEnvironment] = set()
        self._rested = asyncio.Event()
        """Set when an environment is no longer busy."""
        self._ending: set[asyncio.Task[None]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def idle_count(self) -> int:
        """Environments that wait for an invocation."""
        return len(self._idle)

    async def invoke(self, payload: bytes, request_id: str, client_context: str | None = None) -> Invocation:
        """Run an invocation: what the handler returns, or its error. `client_context`: JSON for the handler's context.

        Raises ConcurrencyExceeded if the pool is closed. If the caller is cancelled, the environment ends.
        Costs some 0.3 ms, and a start some 100 ms where no environment is idle.
        """
        assert len(payload) <= INVOCATION_PAYLOAD_BYTES_MAX
        await self._look_for_changes()
        log = InvocationLog(request_id, self._log)
        environment = self._take_idle()
        is_new = environment is None
        if environment is None:
            environment = self._make_environment()
        with self._in_use(environment):
            outcome = await environment.start(log) if is_new else None
            log.begin(LATEST)
            began_seconds = real_seconds()
            if outcome is None:
                outcome = await environment.invoke(payload, log, client_context)
            duration_ms = (real_seconds() - began_seconds) * 1000
            environment.memory.see()
            if not outcome.error_type:
                self._log.errors.forget()
            function = self._runnable.function
            last_line, status = None, ""
            if outcome.is_timed_out:
                time = self._wall_time().isoformat(timespec="milliseconds").replace("+00:00", "Z")
                timed_out = messages.TIMED_OUT.format(timeout_seconds=function.timeout_seconds)
                last_line, status = f"{time} {request_id} {timed_out}", "timeout"
            elif outcome.is_over:
                status = f"error\tError Type: {outcome.error_type}"
            used_mb = min(-(-environment.memory.used_bytes // _MB_BYTES), function.memory_mb)
            init_ms = environment.init_ms if is_new else None
            log.end(report_of(duration_ms, function.memory_mb, used_mb, init_ms, status), last_line)
        await log.written()
        return Invocation(outcome.payload, "Unhandled" if outcome.error_type else None, log.tail)

    async def start_one(self, request_id: str) -> InvocationOutcome | None:
        """Start an environment, which then waits for an invocation; returns the error if it does not start.

        Raises ConcurrencyExceeded if the pool is closed.
        """
        await self._look_for_changes()
        log = InvocationLog(request_id, self._log)
        environment = self._make_environment()
        with self._in_use(environment):
            outcome = await environment.start(log)
        await log.written()
        return outcome

    @contextmanager
    def _in_use(self, environment: ExecutionEnvironment) -> Iterator[None]:
        """A context in which the environment does something, whose end `close` waits for; afterwards it waits for an
        invocation, or ends.
        """
        self._busy.add(environment)
        try:
            yield
        finally:
            self._busy.discard(environment)
            self._put_back(environment)
            self._rested.set()

    def _make_environment(self) -> ExecutionEnvironment:
        """A new environment, not started. Raises ConcurrencyExceeded if the pool is closed."""
        if self._is_closed:
            raise ConcurrencyExceeded(messages.POOL_CLOSED)
        return ExecutionEnvironment(self._runnable, self._listener, self._log_stream_name(), self._generation)

    def _wall_time(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self._clock.wall_time(), dt.UTC)

    def _log_stream_name(self) -> str:
        """The name that the service would give to the log stream of a new environment."""
        return f"{self._wall_time():%Y/%m/%d}/[{LATEST}]{secrets.token_hex(16)}"

    # --- environments ---------------------------------------------------------------------------

    async def _look_for_changes(self) -> None:
        """Replace the environments if code that is used in place has changed;
        invocations that run go on with the former code.
        """
        if self._runnable.watched is not None:
            found = await asyncio.to_thread(fingerprint, self._runnable.watched)
            if found != self._fingerprint:
                if self._fingerprint is not None:
                    self._log.errors.forget()
                self._fingerprint = found
                self._generation += 1
                self._end_all(self._idle)

    def _take_idle(self) -> ExecutionEnvironment | None:
        while self._idle:
            environment = self._idle.pop()
            if environment.is_usable:
                return environment
            self._end(environment)
        return None

    def _put_back(self, environment: ExecutionEnvironment) -> None:
        if environment.is_usable and environment.generation == self._generation and not self._is_closed:
            environment.idle_since_seconds = self._clock.monotonic()
            self._idle.append(environment)
            self._set_idle_timer()
        else:
            self._end(environment)

    def _set_idle_timer(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(ENVIRONMENT_IDLE_SECONDS_MAX, self.end_idle)

    def end_idle(self) -> None:
        """End the environments that have been idle for five minutes or have failed; called by a timer, and by tests."""
        if self._idle_timer:
            self._idle_timer.cancel()
            self._idle_timer = None
        latest_seconds = self._clock.monotonic() - ENVIRONMENT_IDLE_SECONDS_MAX
        old = [one for one in self._idle if one.idle_since_seconds <= latest_seconds or not one.is_usable]
        self._idle = [one for one in self._idle if one not in old]
        self._end_all(old)
        if self._idle:
            self._set_idle_timer()

    def _end_all(self, environments: list[ExecutionEnvironment]) -> None:
        for environment in environments:
            self._end(environment)
        environments.clear()

    def _end(self, environment: ExecutionEnvironment) -> None:
        environment.kill()
        kept_until_done(asyncio.ensure_future(environment.end()), self._ending)

    async def close(self) -> None:
        """End all environments and wait until they have ended; invocations that run return Runtime.ExitError."""
        self._is_closed = True
        if self._idle_timer:
            self._idle_timer.cancel()
        for environment in self._busy:
            environment.kill()
        self._end_all(self._idle)
        while self._busy:
            self._rested.clear()
            await self._rested.wait()
        while self._ending:
            await asyncio.wait(self._ending)
