"""Whatever the limit of open files, connections leave enough descriptors for the engine."""

import errno
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.server.descriptors import (
    ACCEPTED_MAX,
    DESCRIPTORS_MIN,
    OTHER_FILES,
    TURNED_AWAY_MAX,
    DescriptorsTooFewError,
    connections_within,
    require_sockets,
    reserve_of,
    take_descriptors,
)
from hashrange.store.embedded.open_files import OPEN_FILES_MAX, open_files_max

resource = pytest.importorskip("resource", reason="Windows has no limit of open files")


@pytest.fixture
def hard() -> Iterator[int]:
    """The hard limit of open files; restores both limits afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_leave_what_the_engine_and_the_process_may_hold() -> None:
    for descriptors in (*range(DESCRIPTORS_MIN, 5000), 10_240, 65_536, 1_000_000):
        connections = connections_within(65_536, descriptors)
        assert connections >= 8, descriptors
        held = connections + TURNED_AWAY_MAX + ACCEPTED_MAX + open_files_max(descriptors) + OTHER_FILES
        assert held <= descriptors
        assert connections == 65_536 or held == descriptors


def test_with_many_descriptors_nothing_is_cut() -> None:
    assert open_files_max(None) == OPEN_FILES_MAX
    assert connections_within(65_536, None) == 65_536
    assert connections_within(65_536, 65_536 + reserve_of(None)) == 65_536


def test_with_too_few_descriptors_the_server_says_what_to_do() -> None:
    with pytest.raises(
        DescriptorsTooFewError, match=r"may open 255 files, and needs 256 at least\. Raise the limit: ulimit -n"
    ):
        connections_within(10, DESCRIPTORS_MIN - 1)


def test_the_limit_is_raised_as_far_as_allowed_and_never_lowered(hard: int) -> None:
    wanted = 10 + reserve_of(None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    assert take_descriptors(10) == 10
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == wanted
    assert take_descriptors(1) == 1
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == wanted
    connections = take_descriptors(1_000_000)
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert soft in {hard, 1_000_000 + reserve_of(None)}
    assert connections == connections_within(1_000_000, soft)


@pytest.mark.parametrize(("connections", "is_told"), [(60, False), (1000, True)])
def test_a_machine_that_allows_few_files_is_told_of(
    hard: int, connections: int, is_told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (400, 400))
    caplog.set_level(logging.WARNING)
    assert take_descriptors(connections) == min(connections, 400 - reserve_of(400))
    assert (
        "this process may open 400 files, so 140 connections are served at a time instead of 1000" in caplog.text
    ) is is_told


def test_where_the_kernel_allows_less_than_it_says_some_of_it_is_taken(
    hard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [256, resource.RLIM_INFINITY]

    def setrlimit(_: int, wanted: tuple[int, int]) -> None:
        if wanted[0] > 10_240:
            raise ValueError("current limit exceeds maximum limit")
        limits[0] = wanted[0]

    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", setrlimit)
    assert take_descriptors(65_536) > 2_000
    assert 5_000 < limits[0] <= 10_240


def test_a_listener_that_got_no_socket_is_refused() -> None:
    """Both loops return it as if it listened."""
    listener: Any = SimpleNamespace(sockets=())
    with pytest.raises(OSError, match="no file descriptor is left") as caught:
        require_sockets(listener)
    assert caught.value.errno == errno.EMFILE
