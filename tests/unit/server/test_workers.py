"""Workers run long work between short requests: work gives way, continues in order,
and loses neither results nor errors.
"""

import asyncio
import contextlib
import gc
import gzip
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from greenlet import getcurrent

from hashrange.aws_services.operation import Operation
from hashrange.clock import SystemClock
from hashrange.errors import StorageBusy, ValidationException
from hashrange.items import steps
from hashrange.items.steps import LARGE_PIECE_BYTES, LOOK_STEPS, gave_way, look, spend_decoding, walk
from hashrange.operations.operation import JSON, JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.server.listener import Server, read_secrets
from hashrange.server.protocols.dynamodb_json import call, protocol
from hashrange.service.drive import Driver, in_turns
from hashrange.service.service import Service
from hashrange.service.workers import IDLE_WORKERS_MAX, LARGE_TOGETHER_BYTES, SLICE_SECONDS, Worker, Workers
from hashrange.settings import Settings
from hashrange.store.pause import PAUSE
from hashrange.wire import content_codings
from tests.support.clocks import VirtualClock
from tests.support.waiting import until
from tests.support.working import HurriedClock
from tests.unit.server.harness import ECHO_OPERATIONS, EchoRequest, FrontEnd, StubStore, Turns, replies


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def workers(turns: Turns, clock: VirtualClock) -> Iterator[Workers]:
    before = steps._look, steps._queue
    workers = Workers(clock)
    loop: Any = turns
    workers.take_turns(loop)
    workers.begin_turn()
    yield workers
    steps._look, steps._queue = before


def work(clock: VirtualClock, log: list[str], name: str, slices: int) -> Callable[[], None]:
    """Work that takes `slices` slices of time, and gives way after each."""

    def run() -> None:
        for number in range(slices):
            log.append(f"{name}{number}")
            clock.advance_all(SLICE_SECONDS)
            look()

    return run


def test_short_work_ends_at_once(workers: Workers, turns: Turns) -> None:
    done: list[int] = []
    assert workers.run(done.append, 1)
    assert workers.run(done.append, 2)
    assert (done, turns.due) == ([1, 2], [])


def test_long_work_goes_on_in_later_turns(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    log: list[str] = []
    ways_given = gave_way()
    assert not workers.run(work(clock, log, "a", 3))
    assert log == ["a0"]
    turns.turn()
    assert log == ["a0", "a1"]
    turns.turn()
    turns.turn()
    assert log == ["a0", "a1", "a2"]
    assert gave_way() == ways_given + 3
    assert turns.due == []


def test_long_works_take_turns(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    log: list[str] = []
    for name in "abc":
        assert not workers.run(work(clock, log, name, 2))
    while turns.due:
        turns.turn()
        log.append("|")
    assert log == ["a0", "b0", "c0", "a1", "|", "b1", "|", "c1", "|", "|"]


def test_after_a_piece_that_took_long_the_sockets_go_first(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    log: list[str] = []

    def large(name: str) -> None:
        for number in range(2):
            log.append(f"{name}{number}")
            clock.advance_all(3 * SLICE_SECONDS)  # a piece that cannot give way
            look()

    for name in "ab":
        assert not workers.run(large, name)
    while turns.due:
        turns.turn()
        turns.call_soon(lambda: log.append("socket")) if turns.due else None
    assert log == ["a0", "b0", "a1", "socket", "b1", "socket"] + ["socket"] * (len(log) - 6)


def test_work_that_is_to_be_done_later_shares_a_turn(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    done: list[int] = []
    for number in range(5):
        workers.run_later(lambda number=number: done.append(number))  # type: ignore[misc]
    assert done == []
    turns.turn()
    assert (done, turns.due) == ([0, 1, 2, 3, 4], [])


def test_what_is_added_in_a_turn_waits_for_the_next(workers: Workers, turns: Turns) -> None:
    done: list[int] = []

    def again() -> None:
        done.append(0)
        workers.run_later(again)

    workers.run_later(again)
    for count in (1, 2, 3):
        turns.turn()
        assert len(done) == count


def test_work_that_is_left_keeps_what_it_has(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    totals = []

    def add(members: range) -> None:
        total = 0
        for member in walk(members):
            clock.advance_all(SLICE_SECONDS / LOOK_STEPS)
            total += member
        totals.append(total)

    for count in (1_000, 2_000, 3_000):
        assert not workers.run(add, range(count))
    while turns.due:
        turns.turn()
    assert totals == [sum(range(count)) for count in (1_000, 2_000, 3_000)]


def test_an_error_is_raised_where_the_work_was_entered(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    def fail() -> None:
        clock.advance_all(SLICE_SECONDS)
        look()
        raise ValueError("late")

    def fail_now() -> None:
        raise ValueError("soon")

    with pytest.raises(ValueError, match="soon"):
        workers.run(fail_now)
    assert not workers.run(fail)
    with pytest.raises(ValueError, match="late"):
        turns.turn()
    done: list[int] = []
    assert workers.run(done.append, 1)
    assert done == [1]


def test_work_of_work_is_part_of_it(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    log: list[str] = []

    def outer() -> None:
        assert workers.run(work(clock, log, "a", 2))
        log.append("end")

    assert not workers.run(outer)
    while turns.due:
        turns.turn()
    assert log == ["a0", "a1", "end"]


def test_without_a_loop_work_gives_way_to_nobody(clock: VirtualClock) -> None:
    before = steps._look, steps._queue
    log: list[str] = []
    assert Workers(clock).run(work(clock, log, "a", 3))
    assert log == ["a0", "a1", "a2"]
    steps._look, steps._queue = before


@pytest.mark.parametrize("size_bytes", [LARGE_PIECE_BYTES, LARGE_TOGETHER_BYTES // 2, 2 * LARGE_TOGETHER_BYTES])
def test_so_much_is_decoded_at_a_time(workers: Workers, turns: Turns, clock: VirtualClock, size_bytes: int) -> None:
    together = max(1, LARGE_TOGETHER_BYTES // size_bytes)
    at_it: set[int] = set()
    most = 0
    order: list[int] = []

    def large(number: int) -> None:
        nonlocal most
        spend_decoding(size_bytes)
        at_it.add(number)
        most = max(most, len(at_it))
        assert not gc.isenabled()  # a collection would visit the values being decoded, again and again
        for _ in range(3):
            spend_decoding(size_bytes)  # granted already: no second wait
        at_it.remove(number)
        order.append(number)

    collects = gc.isenabled()
    for number in range(together + 3):
        assert not workers.run(large, number)
        assert at_it == set()  # other requests run before decoding, which cannot be interrupted
    small: list[int] = []
    assert workers.run(small.append, 1)
    while turns.due:
        turns.turn()
    assert most == together
    assert order == list(range(together + 3))
    assert gc.isenabled() == collects


def test_who_holds_something_large_need_not_wait_for_more(workers: Workers, turns: Turns) -> None:
    """Two workers that each hold what the other one waits for would wait forever."""
    done: list[int] = []

    def growing(number: int) -> None:
        for size_bytes in (LARGE_PIECE_BYTES, LARGE_TOGETHER_BYTES, 2 * LARGE_TOGETHER_BYTES):
            spend_decoding(size_bytes)
        done.append(number)

    for number in range(5):
        assert not workers.run(growing, number)
    while turns.due:
        turns.turn()
    assert sorted(done) == list(range(5))


class Large:
    """An object that must not outlive the work that made it."""


@pytest.mark.parametrize("fails", [False, True])
def test_a_worker_keeps_nothing_of_its_work(workers: Workers, fails: bool) -> None:
    made: list[weakref.ref[Large]] = []

    def make(argument: Large) -> None:
        large = Large()
        made.extend((weakref.ref(argument), weakref.ref(large)))
        if fails:
            raise ValueError("with a traceback")

    with contextlib.suppress(ValueError):
        workers.run(make, Large())
    gc.collect()
    assert [one() for one in made] == [None, None]


# --- slices of jobs -------------------------------------------------------------------------------


def test_a_slice_of_a_job_runs_as_operations_do_and_gives_way() -> None:
    workers = Workers(HurriedClock())
    before = steps._look, steps._queue
    others: list[int] = []

    async def slice_of_a_job() -> float:
        for _ in range(5):
            steps.look()
            others.append(0)
        await PAUSE
        await asyncio.sleep(0)
        steps.look()
        return 1.5

    async def failing() -> float:
        steps.look()
        raise StorageBusy("for the test")

    async def run() -> None:
        loop = asyncio.get_running_loop()
        workers.take_turns(loop)
        loop.call_soon(others.append, 1)
        assert await in_turns(slice_of_a_job(), workers) == 1.5
        assert others.index(1) < len(others) - 1
        with pytest.raises(StorageBusy):
            await in_turns(failing(), workers)
        cancelled = in_turns(slice_of_a_job(), workers)
        cancelled.cancel()
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(others) == 11

    try:
        asyncio.run(run())
    finally:
        steps._look, steps._queue = before


def test_a_servers_jobs_run_so() -> None:
    store: Any = StubStore()
    settings = Settings(port=0, data_dir=None)
    server = Server(Service(store, ECHO_OPERATIONS, SystemClock(), settings), read_secrets(settings))
    ran_in: list[type] = []

    async def expire(limit_rows: int, see: object) -> None:
        ran_in.append(type(getcurrent()))

    store.maintenance.expire = expire

    async def run() -> None:
        await server.start()
        await until(lambda: ran_in)
        await server.stop()

    asyncio.run(run())
    assert ran_in[0] is Worker


# --- work that did not fit in a turn --------------------------------------------------------------


def test_what_had_no_share_comes_in_its_order_and_what_was_left_beside_it(
    workers: Workers, turns: Turns, clock: VirtualClock
) -> None:
    """The order is kept however much work each turn leaves over."""
    log: list[str] = []

    def takes_a_slice(name: str) -> None:
        log.append(name)
        clock.advance_all(SLICE_SECONDS)
        workers.run_next(lambda: log.append(f"behind {name}"))

    assert not workers.run(work(clock, log, "w", 3))
    for name in "ab":
        workers.run_next(lambda name=name: takes_a_slice(name))  # type: ignore[misc]
    while turns.due:
        turns.turn()
    assert log == ["w0", "a", "w1", "b", "w2", "behind a", "behind b"]


def test_nobody_of_a_group_waits_for_a_request_that_gives_way(turns: Turns) -> None:
    """Other requests of a group do not wait, even if the request gives way in a later turn because an earlier one
    used up the first."""
    before = steps._look, steps._queue

    async def slow(scope: Scope, request: EchoRequest) -> Reply:
        if request.TableName == "at once":
            front.clock.advance_all(3 * SLICE_SECONDS)
        elif request.TableName == "in turns":
            for _ in range(5):
                front.clock.advance_all(SLICE_SECONDS)
                look()
        return {}

    try:
        front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, slow, JsonWire(is_quick=True))})
        loop: Any = turns
        front.connections.take_turns(loop)
        front.service.take_turns(loop)
        clients = {name: front.connect() for name in ("at once", "in turns", "short")}
        for _ in range(2):  # the cost of a client's first request is not known yet
            for name, (connection, _) in clients.items():
                connection.data_received(front.request(b'{"TableName":"%b"}' % name.encode()))
            counts: list[list[int]] = []
            while turns.due:
                turns.turn()
                counts.append([len(replies(transport.written)) for _, transport in clients.values()])
            for _, transport in clients.values():
                transport.take()
        assert [1, 0, 1] in counts[:3]
        assert counts[-1] == [1, 1, 1]
    finally:
        steps._look, steps._queue = before


@pytest.fixture
def slow_front(turns: Turns) -> Iterator[tuple[FrontEnd, list[str]]]:
    """A front whose operations take five slices, noting each: a read, a write, and an operation that may be either."""
    before = steps._look, steps._queue
    noted: list[str] = []

    async def slow(scope: Scope, request: EchoRequest) -> Reply:
        for number in range(5):
            noted.append(f"{request.TableName} {number}")
            front.clock.advance_all(SLICE_SECONDS)
            spend_decoding(LARGE_PIECE_BYTES)
            look()
        return {}

    async def suspended(scope: Scope, request: EchoRequest) -> Reply:
        await PAUSE
        return await slow(scope, request)

    async def suspending(scope: Scope, request: EchoRequest) -> Reply:
        for number in range(5):
            noted.append(f"{request.TableName} {number}")
            await PAUSE
        return {}

    def refusing(scope: Scope, request: EchoRequest) -> Reply:
        noted.append("refused")
        raise ValidationException("no")

    front = FrontEnd(
        operations={
            "DescribeTable": Operation("DescribeTable", EchoRequest, refusing, JSON),
            "Query": Operation("Query", EchoRequest, suspended, JSON),
            "BatchGetItem": Operation("BatchGetItem", EchoRequest, suspending, JSON),
            "BatchWriteItem": Operation("BatchWriteItem", EchoRequest, suspending, JSON, writes=True),
            "Scan": Operation("Scan", EchoRequest, slow, JSON),
            "PutItem": Operation("PutItem", EchoRequest, slow, JSON, writes=True),
            "ExecuteStatement": Operation(
                "ExecuteStatement",
                EchoRequest,
                slow,
                JSON,
                writes=True,
                is_read=lambda request: request.TableName == "select",
            ),
        }
    )
    loop: Any = turns
    front.connections.take_turns(loop)
    front.service.take_turns(loop)
    yield front, noted
    steps._look, steps._queue = before


@pytest.mark.parametrize(
    ("operation", "name", "slices"),
    [
        ("Scan", "a", 1),
        ("Query", "a", 1),
        ("BatchGetItem", "a", 1),
        ("BatchWriteItem", "a", 5),
        ("PutItem", "a", 5),
        ("ExecuteStatement", "select", 1),
        ("ExecuteStatement", "insert", 5),
    ],
)
def test_a_read_ends_where_it_gives_way_once_its_client_has_left(
    slow_front: tuple[FrontEnd, list[str]],
    turns: Turns,
    operation: str,
    name: str,
    slices: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    front, noted = slow_front
    connection, _ = front.connect()
    connection.data_received(front.request(b'{"TableName":"%b"}' % name.encode(), operation))
    while not noted:
        turns.turn()
    connection.connection_lost(None)
    while turns.due:
        turns.turn()
    assert noted == [f"{name} {number}" for number in range(slices)]
    assert caplog.records == []
    workers = front.service.workers
    assert (workers._large_bytes, workers._large_waiting, workers.count_left()) == (0, 0, 0)


@pytest.mark.parametrize("is_gone", [False, True])
def test_the_decoding_of_a_request_ends_where_it_gives_way_once_its_client_has_left(
    slow_front: tuple[FrontEnd, list[str]],
    turns: Turns,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    *,
    is_gone: bool,
) -> None:
    front, noted = slow_front
    decode_body = content_codings.decode_body

    def decode_slowly(body: bytes, encoding: bytes) -> bytes:
        for number in range(5):
            noted.append(f"decode {number}")
            front.clock.advance_all(SLICE_SECONDS)
            look()
        return decode_body(body, encoding)

    monkeypatch.setattr(protocol, "decode_body", decode_slowly)
    connection, transport = front.connect()
    body = gzip.compress(b'{"TableName":"a"}')
    connection.data_received(front.request(body, "PutItem", {"Content-Encoding": "gzip"}))
    while len(noted) < 2:
        turns.turn()
    if is_gone:
        connection.connection_lost(None)
    while turns.due:
        turns.turn()
    if is_gone:
        assert noted == ["decode 0", "decode 1"]
    else:
        assert noted == [f"decode {number}" for number in range(5)] + [f"a {number}" for number in range(5)]
        assert len(replies(transport.take())) == 1
    assert caplog.records == []
    assert front.service.workers.running is None


def test_a_large_request_whose_client_has_left_is_not_read_over_again(
    slow_front: tuple[FrontEnd, list[str]], turns: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    front, noted = slow_front

    def read_over(_request: object) -> bytes:
        noted.append("slow path")
        return b""

    monkeypatch.setattr(protocol, "plain_body", read_over)
    connection, _ = front.connect()
    front.clock.advance_all(SLICE_SECONDS)
    connection.data_received(front.request(b'{"TableName":"a"%b}' % (b" " * LARGE_PIECE_BYTES), "PutItem"))
    while not front.service.workers.count_left():
        turns.turn()
    connection.connection_lost(None)
    while turns.due:
        turns.turn()
    assert noted == []


def test_the_refusal_of_a_read_is_not_ended_with_it(
    slow_front: tuple[FrontEnd, list[str]],
    turns: Turns,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    front, noted = slow_front

    def free_slowly(_request: object) -> None:
        front.clock.advance_all(SLICE_SECONDS)
        look()
        noted.append("freed")

    monkeypatch.setattr(call, "free_request", free_slowly)
    connection, _ = front.connect()
    connection.data_received(front.request(b'{"TableName":"refused"%b}' % (b" " * LARGE_PIECE_BYTES), "DescribeTable"))
    while "refused" not in noted:
        turns.turn()
    connection.connection_lost(None)
    while turns.due:
        turns.turn()
    assert noted == ["refused", "freed"]
    assert caplog.records == []


def test_a_read_ends_also_where_it_gives_way_again(slow_front: tuple[FrontEnd, list[str]], turns: Turns) -> None:
    front, noted = slow_front
    connection, _ = front.connect()
    connection.data_received(front.request(b'{"TableName":"a"}', "Scan"))
    while len(noted) < 3:
        turns.turn()
    connection.connection_lost(None)
    while turns.due:
        turns.turn()
    assert noted == ["a 0", "a 1", "a 2"]


@pytest.mark.parametrize("operation", ["Scan", "Query"])
def test_what_follows_an_operation_is_not_ended_with_it(
    slow_front: tuple[FrontEnd, list[str]], turns: Turns, operation: str
) -> None:
    front, _ = slow_front
    connection, _ = front.connect()
    connection.data_received(front.request(b'{"TableName":"a"}', operation))
    while turns.due:
        turns.turn()
    assert front.service.workers.running is None


def test_what_a_worker_runs_next_is_not_ended_with_it(slow_front: tuple[FrontEnd, list[str]], turns: Turns) -> None:
    front, noted = slow_front
    for name, operation in (("left", "Scan"), ("stays", "PutItem"), ("reads", "Scan")):
        connection, transport = front.connect()
        connection.data_received(front.request(b'{"TableName":"%b"}' % name.encode(), operation))
        if name == "left":
            while not noted:
                turns.turn()
            connection.connection_lost(None)
        while turns.due:
            turns.turn()
    assert [one.split()[0] for one in noted].count("stays") == 5
    assert [one.split()[0] for one in noted].count("reads") == 5
    assert len(replies(transport.take())) == 1


# --- the end ---------------------------------------------------------------------------------------


def test_all_workers_end_when_nobody_waits_any_more(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    """Python's collector does not see workers that have not ended, so they are ended by hand:
    idle ones, and those that gave way.
    """
    log: list[str] = []
    ends: list[str] = []

    def long_work(name: str) -> None:
        try:
            work(clock, log, name, 3)()
        finally:
            ends.append(name)

    for name in "abcdef":
        workers.begin_turn()
        workers.run(long_work, name)
    workers.begin_turn()
    workers.run(lambda: None)
    kept = [weakref.ref(one) for one in (*workers._left, *workers._idle)]
    assert len(kept) > 6
    workers.abandon()
    assert sorted(ends) == list("abcdef")
    assert [one for one in kept if one() is not None] == []


def test_a_worker_that_is_one_too_many_ends(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    log: list[str] = []
    for name in "abcdefgh":
        workers.begin_turn()
        workers.run(work(clock, log, name, 2))
    kept = [weakref.ref(one) for one in workers._left]
    assert len(kept) == 8
    while turns.due:
        turns.turn()
    assert len(log) == 16
    living = [one() for one in kept if one() is not None]
    assert len(living) == len(workers._idle) == IDLE_WORKERS_MAX


def test_what_ends_with_its_worker_tells_nobody(workers: Workers, turns: Turns, clock: VirtualClock) -> None:
    told: list[object] = []

    async def operation() -> None:
        await PAUSE
        work(clock, [], "a", 3)()

    Driver(operation(), lambda *result: told.append(result), workers).wait(None)
    turns.turn()
    turns.turn()
    assert workers._left
    workers.abandon()
    assert told == []


def test_operations_whose_futures_are_done_together_share_the_slices_of_turns(clock: VirtualClock) -> None:
    """What follows may be long and cannot give way: a hundred functions may answer in one moment with 6 MB each."""
    ended_by_turn: list[int] = [0]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        workers = Workers(clock)
        workers.take_turns(loop)
        future = loop.create_future()

        def tick() -> None:
            ended_by_turn.append(0)
            loop.call_soon(tick)

        async def operation() -> None:
            await future
            clock.advance_all(SLICE_SECONDS)
            ended_by_turn[-1] += 1

        operations = [in_turns(operation(), workers, begins_now=True) for _ in range(5)]
        tick()
        future.set_result(None)
        await asyncio.gather(*operations)

    before = steps._look, steps._queue
    asyncio.run(main())
    steps._look, steps._queue = before
    assert (sum(ended_by_turn), max(ended_by_turn)) == (5, 1)
