"""`--kinesis-endpoint` begins the delivery; without it, nothing of it is loaded,
and the operator hears of changes that wait.
"""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.service.opening import open_service
from hashrange.settings import Settings, SettingUnusable
from tests.support.fake_kinesis import FakeKinesis, fake_kinesis
from tests.support.waiting import until, until_at_rest
from tests.unit.jobs.streaming import change
from tests.unit.triggers.kinesis_world import KinesisWorld, in_world


def test_an_endpoint_that_is_no_url_stops_the_start() -> None:
    settings = Settings(data_dir=None, kinesis_endpoint="localhost:4568")
    with pytest.raises(SettingUnusable, match="--kinesis-endpoint: 'localhost:4568' is no URL"):
        asyncio.run(open_service(settings, MovableClock(SystemClock())))


def test_a_server_delivers_what_an_earlier_one_has_left(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server without endpoint in between says that changes wait; none is lost."""

    async def test(world: KinesisWorld) -> None:
        world.enable()
        await world.deliver_all()
        change(world, 1, 1)
        world.restart()
        world.embedded.close_now()
        await serve(tmp_path / "data", None, world.kinesis)
        assert world.numbers() == []
        assert "orders has a Kinesis destination, but --kinesis-endpoint is not set" in caplog.records[-1].message
        await serve(tmp_path / "data", world.kinesis.url, world.kinesis)
        assert world.numbers() == [1]
        world.open()

    with caplog.at_level(logging.WARNING, "hashrange.kinesis"):
        in_world(test, data_dir=tmp_path / "data")


async def serve(folder: Path, endpoint: str | None, kinesis: FakeKinesis) -> None:
    """Run a service's jobs until they have nothing to do."""
    settings = Settings(data_dir=str(folder), kinesis_endpoint=endpoint)
    service = await open_service(settings, MovableClock(SystemClock()))
    service.take_turns(asyncio.get_running_loop())
    service.features.start()
    if endpoint is not None:
        await until(lambda: kinesis.records["changes"])
    await until_at_rest(service.jobs)
    await service.features.stop()
    await service.store.close()


def test_a_service_that_stops_does_not_wait_for_kinesis(tmp_path: Path) -> None:
    async def main() -> None:
        async with fake_kinesis() as kinesis:
            world = KinesisWorld(kinesis, tmp_path / "data")
            world.enable()
            await world.deliver_all()
            change(world, 1, 1)
            world.embedded.close_now()
            kinesis.misbehave = lambda _: "hang"
            settings = Settings(data_dir=str(tmp_path / "data"), kinesis_endpoint=kinesis.url)
            service = await open_service(settings, MovableClock(SystemClock()))
            service.take_turns(asyncio.get_running_loop())
            service.features.start()
            await until(lambda: kinesis.met["hang"])
            await service.features.stop()
            await service.store.close()

    asyncio.run(main())


def test_without_the_setting_nothing_of_it_is_loaded() -> None:
    code = (
        "import asyncio, sys; from hashrange.clock import *; from hashrange.settings import Settings;"
        "from hashrange.service.opening import open_service;"
        "asyncio.run(open_service(Settings(data_dir=None), MovableClock(SystemClock())));"
        "print([name for name in sys.modules if name.startswith('hashrange.triggers.kinesis')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
