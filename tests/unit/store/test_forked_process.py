"""A process that forks ends the engine's threads before, and has them again after;
a forked process that lost some opens no engine.
"""

import gc
import sys
from collections.abc import Callable, Iterator

import pytest

from hashrange.errors import StorageError
from hashrange.store.embedded import EmbeddedStore, forked_process
from hashrange.store.embedded.engine import close_engine, open_engine
from hashrange.store.embedded.threads import engine_threads

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the engine's threads cannot be seen here")


@pytest.fixture
def as_if_forked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process forget afterwards that it took itself for a forked one."""
    monkeypatch.setattr(forked_process, "_are_lost", False)
    yield
    forked_process._fork.acquire()
    forked_process._start_threads()


@pytest.mark.usefixtures("store")
def test_the_threads_are_as_before_after_a_fork() -> None:
    before = sorted((engine_threads() or {}).values())
    assert before == ["rocksdb:high", "rocksdb:low"]
    forked_process._end_threads()
    assert engine_threads() == {}
    forked_process._start_threads()
    assert sorted((engine_threads() or {}).values()) == before


@pytest.mark.usefixtures("as_if_forked")
@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.parametrize("after", [forked_process._start_threads, forked_process._note_loss])
def test_no_garbage_is_collected_while_the_threads_are_gone(after: Callable[[], None], *, collects: bool) -> None:
    """An engine that nobody has closed would wait for a thread, and with it the process that forks."""
    was_enabled = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        forked_process._end_threads()
        assert not gc.isenabled()
        after()
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was_enabled else gc.disable)()


@pytest.mark.usefixtures("as_if_forked")
def test_a_process_that_was_forked_without_threads_opens_engines(store: EmbeddedStore) -> None:
    forked_process._end_threads()
    forked_process._note_loss()
    close_engine(open_engine(None), "memory", may_fail=True)


@pytest.mark.usefixtures("store", "as_if_forked")
@pytest.mark.parametrize("threads", [{"1": "rocksdb:low"}, None], ids=["at work", "not listed"])
def test_a_process_that_lost_threads_opens_none(
    threads: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked_process, "LOOKS_MAX", 1)
    with monkeypatch.context() as patch:
        patch.setattr(forked_process, "engine_threads", lambda: threads)
        forked_process._end_threads()
        forked_process._note_loss()
    with pytest.raises(StorageError, match=r"forked while .* was at work.*get_context\(\"spawn\"\)"):
        open_engine(None)
