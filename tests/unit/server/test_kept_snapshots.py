"""A snapshot with a limit of idleness is kept as long as somebody asks for it, and released once."""

import asyncio
from typing import Any, cast

import pytest

from hashrange.clock import ServiceTimeState
from hashrange.server.copies import KeptSnapshots
from hashrange.service.snapshots import ServiceSnapshot
from tests.support.waiting import until


class Checkpoint:
    """A checkpoint that counts its releases."""

    releases = 0

    def release(self) -> None:
        self.releases += 1


class Timer:
    """What `call_later` returns, to be fired by the test."""

    is_cancelled = False

    def __init__(self, delay_seconds: float, callback: Any, *arguments: Any) -> None:
        self.delay_seconds = delay_seconds
        self._callback, self._arguments = callback, arguments

    def fire(self) -> None:
        self._callback(*self._arguments)

    def cancel(self) -> None:
        self.is_cancelled = True


async def kept_with(monkeypatch: pytest.MonkeyPatch) -> tuple[KeptSnapshots, Checkpoint, list[Timer]]:
    timers: list[Timer] = []

    def call_later(*arguments: Any) -> Timer:
        timers.append(Timer(*arguments))
        return timers[-1]

    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", call_later)
    return KeptSnapshots(), Checkpoint(), timers


def snapshot_of(checkpoint: Checkpoint) -> ServiceSnapshot:
    return ServiceSnapshot(cast("Any", checkpoint), ServiceTimeState(), 1.0)


def test_each_use_begins_the_time_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        kept, checkpoint, timers = await kept_with(monkeypatch)
        number = kept.keep(snapshot_of(checkpoint), 60.0)
        assert kept.find(number) is not None
        assert [(timer.delay_seconds, timer.is_cancelled) for timer in timers] == [(60.0, True), (60.0, False)]
        monkeypatch.undo()  # a loop that waits needs its own timers
        timers[-1].fire()
        await until(lambda: checkpoint.releases)
        assert kept.find(number) is None
        assert kept.numbers == []
        assert len(timers) == 2
        await kept.release(number)
        await kept.release_all()
        assert checkpoint.releases == 1

    asyncio.run(use())


def test_a_release_ends_the_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use() -> None:
        kept, checkpoint, timers = await kept_with(monkeypatch)
        first = kept.keep(snapshot_of(checkpoint), 60.0)
        await kept.release(first)
        kept.keep(snapshot_of(checkpoint), 60.0)
        kept.keep(snapshot_of(checkpoint))
        await kept.release_all()
        assert checkpoint.releases == 3
        assert all(timer.is_cancelled for timer in timers)
        assert len(timers) == 2

    asyncio.run(use())
