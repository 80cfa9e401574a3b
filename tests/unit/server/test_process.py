"""What the process is given around a server."""

import asyncio
import gc
import os
import signal
from collections.abc import Iterator

import pytest

from hashrange.server.process import handled_signals, raise_descriptor_limit, run_on_best_loop, settle_collector

resource = pytest.importorskip("resource")


@pytest.fixture
def collector() -> Iterator[None]:
    """Leaves the collector as it was."""
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """Leaves the descriptor limit as it was."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_best_loop_is_uvloop_where_it_exists() -> None:
    kinds: list[str] = []

    async def main() -> None:
        kinds.append(type(asyncio.get_running_loop()).__module__)

    run_on_best_loop(main())
    assert kinds == ["uvloop"]


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_heard_and_given_back(name: signal.Signals) -> None:
    before = signal.getsignal(name)

    async def main() -> None:
        heard = asyncio.Event()
        with handled_signals(asyncio.get_running_loop(), heard.set):
            os.kill(os.getpid(), name)
            async with asyncio.timeout(5):
                await heard.wait()

    run_on_best_loop(main())
    assert signal.getsignal(name) in {before, signal.SIG_DFL, signal.default_int_handler}


def test_the_descriptor_limit_is_raised_as_far_as_allowed_and_never_lowered(limits: tuple[int, int]) -> None:
    _, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    raise_descriptor_limit(10)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 10 + 1024
    raise_descriptor_limit(1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 10 + 1024
    raise_descriptor_limit(10_000_000)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) in {(hard, hard), (10_001_024, hard)}


def test_the_collector_no_longer_looks_at_what_the_start_has_made(collector: None) -> None:
    settle_collector()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] > 700
