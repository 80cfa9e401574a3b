"""How is a service opened over a cluster? By `--store`; a stand-in is in the place of what asks Cassandra."""

import asyncio
import sys
from types import ModuleType
from typing import Any

import pytest

from hashrange.clock import Clock, SystemClock
from hashrange.service.opening import open_service
from hashrange.settings import Settings, SettingUnusable
from hashrange.store.cassandra.address import ClusterAddress
from tests.support.stores import make_store
from tests.support.wrapped_stores.clustered import ClusteredStore

OPENING = "hashrange.store.cassandra.opening"
SETTINGS = Settings(store="cassandra://10.0.0.1/shop", single_node=True, item_collection_limit_bytes=1000)


class OpeningStandIn(ModuleType):
    """Opens a store in memory."""

    def __init__(self) -> None:
        super().__init__(OPENING)
        self.asked: list[tuple[Any, ...]] = []

    async def open_cassandra_store(self, address: ClusterAddress, clock: Clock, limit_bytes: int) -> ClusteredStore:
        """Notes what it is asked for."""
        self.asked.append((address, clock, limit_bytes))
        return ClusteredStore(make_store())


class WithoutDriver(ModuleType):
    """What needs the driver, which is not installed."""

    def __getattr__(self, name: str) -> Any:
        raise ModuleNotFoundError(name="acsylla")


def test_the_store_is_that_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in, clock = OpeningStandIn(), SystemClock()
    monkeypatch.setitem(sys.modules, OPENING, stand_in)

    async def opened() -> object:
        service = await open_service(SETTINGS, clock)
        await service.store.close()
        return service.store

    assert isinstance(asyncio.run(opened()), ClusteredStore)
    address = ClusterAddress(hosts=("10.0.0.1",), keyspace="shop", is_single_node=True)
    assert stand_in.asked == [(address, clock, 1000)]


def test_without_the_driver_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, OPENING, WithoutDriver(OPENING))
    with pytest.raises(SettingUnusable, match=r"--store needs acsylla.*\[cluster\]"):
        asyncio.run(open_service(SETTINGS, SystemClock()))


def test_another_module_that_is_missing_is_our_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, OPENING, None)
    with pytest.raises(ModuleNotFoundError):
        asyncio.run(open_service(SETTINGS, SystemClock()))


def test_a_wrong_address_is_refused_before_the_driver_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, OPENING, WithoutDriver(OPENING))
    with pytest.raises(SettingUnusable, match="names no keyspace"):
        asyncio.run(open_service(Settings(store="cassandra://10.0.0.1"), SystemClock()))
