"""Metrics over each kind of store, which can be opened again."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.cloudwatch.metric_saving import MetricSaving
from hashrange.cloudwatch.metrics import Metrics
from hashrange.store.embedded import open_store
from hashrange.store.interface import WholeStore
from tests.support.clocks import VirtualClock
from tests.support.stores import as_distributed

START_SECONDS = 1_800_000_000.0


class World:
    """A store, its clock, and metrics."""

    def __init__(self, kind: str, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.kind = kind
        self.folder = str(folder / "data") if kind == "disk" else None
        self.loop = loop
        self.clock = VirtualClock(START_SECONDS)
        self.store = self._open()
        self._look_at_store()

    def _look_at_store(self) -> None:
        self.metrics = Metrics(self.store.documents, self.clock)
        self.job = MetricSaving(self.metrics, self.clock)

    def _open(self) -> WholeStore:
        if self.kind == "suspending":
            return as_distributed(open_store(None, self.clock, self.loop), 1)
        return open_store(self.folder, self.clock, self.loop)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine."""
        return self.loop.run_until_complete(work)

    def restart(self) -> None:
        """Read the metrics again, as after a restart, without a save."""
        if self.folder is not None:
            self.run(self.store.close())
            self.store = self._open()
        self._look_at_store()

    def save(self) -> None:
        """Save the metrics."""
        self.run(self.metrics.save())

    def run_job(self) -> float | None:
        """Run slices until the job rests; returns what the last one has."""
        pause_seconds: float | None = 0.0
        while pause_seconds == 0:
            pause_seconds = self.run(self.job.run_slice())
        return pause_seconds

    def documents(self) -> dict[str, bytes]:
        """All documents of metrics."""
        return dict(self.store.documents.below("metric-"))


@pytest.fixture
def open_world(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    """Open a world over a kind of store."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    worlds: list[World] = []

    def open_one(kind: str) -> World:
        worlds.append(World(kind, tmp_path / str(len(worlds)), loop))
        return worlds[-1]

    yield open_one
    for world in worlds:
        world.run(world.store.close())
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(params=["memory", "disk", "suspending"])
def world(request: pytest.FixtureRequest, open_world: Callable[[str], World]) -> World:
    """A world over each kind of store."""
    return open_world(request.param)
