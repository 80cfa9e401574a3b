"""The engine's threads run at a lower priority than the event loop's thread, where threads have priorities."""

import os
import sys
import threading
from pathlib import Path

import pytest

from hashrange.store.embedded import EmbeddedStore, threads


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have no priorities of their own here")
def test_the_loop_goes_first(store: EmbeddedStore) -> None:
    engine_threads = [
        int(task.name)
        for task in Path("/proc/self/task").iterdir()
        if (task / "comm").read_text().startswith("rocksdb:")
    ]
    assert engine_threads
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in engine_threads} == {max(own, threads.NICE)}


def test_it_does_without_a_list_of_threads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(threads, "_TASKS", tmp_path / "none")
    assert threads.let_the_loop_go_first() == 0


def test_it_does_with_threads_that_have_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "comm").symlink_to("gone")
    (tmp_path / "999999999").mkdir()
    (tmp_path / "999999999" / "comm").write_text("rocksdb:low")
    monkeypatch.setattr(threads, "_TASKS", tmp_path)
    assert threads.let_the_loop_go_first() == 0
