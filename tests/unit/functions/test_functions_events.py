"""An asynchronous invocation runs once if it succeeds and at most three times if not, and is not lost by a restart."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from hashrange.errors import StorageError
from hashrange.functions import events
from hashrange.functions.api.operation import LambdaError
from tests.support.waiting import until
from tests.unit.functions.functions_world import ECHO, FunctionsWorld, run_functions

WRITES = """
import os
def handler(event, context):
    with open(event["file"], "a") as file: file.write(event["text"])
    if event.get("fails"): raise LookupError("no order")
"""
WAITS = """
def handler(event, context):
    with open(event["file"] + ".began", "a") as file: file.write(".")
    with open(event["file"]) as fifo: fifo.read()
"""


async def queue(world: FunctionsWorld, name: str = "orders", **event: object) -> None:
    """Invoke a function asynchronously."""
    status, body, headers = await world.reply(
        "Invoke", FunctionName=name, InvocationType="Event", Payload=json.dumps(event).encode()
    )
    assert (status, body, list(headers)) == (202, b"", ["x-amzn-RequestId"])


def queued(world: FunctionsWorld) -> list[str]:
    """Names of the documents of queued invocations."""
    return [name for name in world.documents.content if name.startswith("event/")]


def test_events_run_when_the_job_does(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        woken: list[int] = []
        world.functions.events.wake = lambda: woken.append(1)
        file = tmp_path / "written"
        await world.create(code=WRITES)
        for number in range(3):
            await queue(world, file=str(file), text=str(number))
        assert (len(queued(world)), len(woken), world.functions.events.count) == (3, 3, 3)
        assert not file.exists()
        assert await world.functions.events.run_slice() is None
        assert sorted(file.read_text()) == ["0", "1", "2"]
        assert queued(world) == []
        assert world.functions.events.count == 0

    run_functions(test)


def test_an_event_that_fails_is_retried_twice_by_service_time(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: FunctionsWorld) -> None:
        file = tmp_path / "written"
        await world.create(code=WRITES)
        await queue(world, file=str(file), text=".", fails=True)
        job = world.functions.events
        for pause_seconds, written in ((60.0, "."), (120.0, "..")):
            assert await job.run_slice() == pause_seconds
            assert file.read_text() == written
            world.clock.advance(pause_seconds - 1)
            assert await job.run_slice() == 1.0
            assert file.read_text() == written
            world.clock.advance(1)
        assert await job.run_slice() is None
        assert file.read_text() == "..."
        assert queued(world) == []
        (message,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        assert "of the function orders is given up: " in message
        assert "no order" in message

    run_functions(test)


def test_queued_events_survive_a_restart_with_their_failures(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        file = tmp_path / "written"
        await world.create(code=WRITES)
        await queue(world, file=str(file), text="a", fails=True)
        await world.functions.events.run_slice()
        await queue(world, file=str(file), text="b")
        second = FunctionsWorld()
        second.documents.replace(world.documents.content)
        assert second.functions.events.count == 2
        assert await second.functions.events.run_slice() == 60.0
        assert file.read_text() == "ab"
        second.clock.advance(60)
        assert await second.functions.events.run_slice() == 120.0
        second.documents.replace({})
        assert await second.functions.events.run_slice() is None
        await second.close()

    run_functions(test)


def test_a_cancelled_job_repeats_what_ran(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = str(tmp_path / "fifo")
        os.mkfifo(path)
        await world.create(code=WAITS)
        await queue(world, file=path)
        running = asyncio.ensure_future(world.functions.events.run_slice())
        began = Path(path + ".began")
        await until(lambda: began.exists() and began.read_text() == ".")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert len(queued(world)) == 1
        again = asyncio.ensure_future(world.functions.events.run_slice())
        await until(lambda: began.read_text() == "..")
        await asyncio.to_thread(Path(path).write_text, "")
        assert await again is None
        assert queued(world) == []

    run_functions(test)


def test_an_event_that_arrives_during_a_slice_runs_in_it(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path, file = str(tmp_path / "fifo"), tmp_path / "written"
        os.mkfifo(path)
        await world.create(code=WAITS)
        await world.create("writes", WRITES)
        await queue(world, file=path)
        running = asyncio.ensure_future(world.functions.events.run_slice())
        await until(lambda: Path(path + ".began").exists())
        await queue(world, "writes", file=str(file), text="x")
        await until(lambda: file.exists() and file.read_text() == "x")
        assert not running.done()
        await asyncio.to_thread(Path(path).write_text, "")
        assert await running is None

    run_functions(test)


def test_an_event_that_cannot_begin_waits_longer_and_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = str(tmp_path / "fifo")
        os.mkfifo(path)
        await world.create(code=WAITS)
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=1)
        running = asyncio.ensure_future(world.invoke(event={"file": path}))
        await until(lambda: Path(path + ".began").exists())
        await queue(world, file=path)
        pauses = []
        for _ in range(11):
            pause_seconds = await world.functions.events.run_slice()
            assert pause_seconds is not None
            pauses.append(pause_seconds)
            world.clock.advance(pause_seconds)
        assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        world.clock.advance(6 * 3600)
        assert await world.functions.events.run_slice() is None
        assert queued(world) == [], "given up after six hours"
        await asyncio.to_thread(Path(path).write_text, "")
        await running

    run_functions(test)


def test_a_throttled_event_is_tried_at_once_when_the_reserved_concurrency_changes(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = str(tmp_path / "fifo")
        os.mkfifo(path)
        began = Path(path + ".began")
        await world.create(code=WAITS)
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=1)
        running = asyncio.ensure_future(world.invoke(event={"file": path}))
        await until(began.exists)
        await queue(world, file=path)
        assert await world.functions.events.run_slice() == 1
        await world.call("DeleteFunctionConcurrency", FunctionName="orders")
        job = asyncio.ensure_future(world.functions.events.run_slice())
        await until(lambda: began.read_text() == "..")
        while not (running.done() and job.done()):
            os.close(os.open(path, os.O_RDWR))  # lets those that have opened it end, and waits for nobody
            await asyncio.sleep(0)
        assert await job is None

    run_functions(test)


def test_events_of_functions_that_are_stopped_or_gone_are_given_up() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        await world.create("others")
        await queue(world)
        await queue(world, "others")
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=0)
        await world.call("DeleteFunction", FunctionName="others")
        assert await world.functions.events.run_slice() is None
        assert queued(world) == []

    run_functions(test)


@pytest.mark.parametrize(("limit", "most"), [("EVENTS_QUEUED_MAX", 2), ("EVENTS_QUEUED_BYTES_MAX", 5)])
def test_a_full_queue(monkeypatch: pytest.MonkeyPatch, limit: str, most: int) -> None:
    monkeypatch.setattr(events, limit, most)

    async def test(world: FunctionsWorld) -> None:
        await world.create(code=ECHO)
        await queue(world)
        await queue(world)
        with pytest.raises(LambdaError) as refusal:
            await queue(world)
        assert (refusal.value.http_status, refusal.value.code) == (429, "TooManyRequestsException")
        await world.functions.events.run_slice()
        await queue(world)

    run_functions(test)


def test_a_failed_write_keeps_the_event(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        file = tmp_path / "written"
        await world.create(code=WRITES)
        await queue(world, file=str(file), text=".")
        world.documents.failure = StorageError("the disk is full")
        with pytest.raises(StorageError):
            await queue(world, file=str(file), text="lost")
        with pytest.raises(StorageError):
            await world.functions.events.run_slice()
        world.documents.failure = None
        assert world.functions.events.count == 1
        assert await world.functions.events.run_slice() is None
        assert file.read_text() == "..", "at least once"

    run_functions(test)


def test_an_event_that_runs_is_not_run_twice_when_another_one_fails(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path, file = str(tmp_path / "fifo"), tmp_path / "written"
        os.mkfifo(path)
        await world.create(code=WAITS)
        await world.create("writes", WRITES)
        await queue(world, file=path)
        await queue(world, "writes", file=str(file), text=".")
        world.documents.failure = StorageError("the disk is full")
        with pytest.raises(StorageError):
            await world.functions.events.run_slice()
        world.documents.failure = None
        again = asyncio.ensure_future(world.functions.events.run_slice())
        await until(lambda: file.read_text() == ".." and Path(path + ".began").exists())
        await until(lambda: len(queued(world)) == 1)
        await asyncio.to_thread(Path(path).write_text, "")
        assert await again is None
        assert Path(path + ".began").read_text() == "."

    run_functions(test)


def test_closing_leaves_events_that_run_in_the_queue(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = str(tmp_path / "fifo")
        os.mkfifo(path)
        await world.create(code=WAITS)
        await queue(world, file=path)
        running = asyncio.ensure_future(world.functions.events.run_slice())
        await until(lambda: Path(path + ".began").exists())
        running.cancel()
        await world.close()
        assert len(queued(world)) == 1

    run_functions(test)


def test_events_of_a_function_that_hangs_hold_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "EVENTS_RUNNING_MAX", 2)

    async def test(world: FunctionsWorld) -> None:
        fifo, written = tmp_path / "fifo", tmp_path / "written"
        os.mkfifo(fifo)
        await world.create("hanging", code=WAITS)
        await world.create(code=WRITES)
        for _ in range(5):
            await queue(world, "hanging", file=str(fifo))
        await queue(world, file=str(written), text="a")
        job = asyncio.create_task(world.functions.events.run_slice())
        began = tmp_path / "fifo.began"
        await until(lambda: written.exists() and began.exists() and len(began.read_text()) == 2)
        assert written.read_text() == "a"
        await until(lambda: world.functions.events.count == 5)
        while not job.done():
            os.close(os.open(fifo, os.O_RDWR))  # lets those that have opened it end, and waits for nobody
            await asyncio.sleep(0)
        assert len(began.read_text()) == 5
        assert world.functions.events.count == 0

    run_functions(test)
