"""A look at the memory reads few files, however many threads and children a handler has."""

import os
from collections import Counter
from itertools import chain
from typing import Any

import pytest

from hashrange.functions import process_tree
from hashrange.functions.marks import Mark
from hashrange.functions.process_tree import memory_used_at_once, memory_used_bytes

MB = 1024 * 1024
MARK = Mark.of("0123456789abcdef.fedcba9876543210")


class Machine:
    """Processes that are not there, and a count of the files of /proc that are read of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads: Counter[str] = Counter()
        self._files: dict[str, str] = {}
        self._threads: dict[int, list[str]] = {}
        self.marked: set[int] = set()
        monkeypatch.setattr(process_tree, "HAS_PROC", True)
        monkeypatch.setattr(process_tree, "_read_file", self._read)
        monkeypatch.setattr(process_tree, "_threads_of", self._threads_of)
        monkeypatch.setattr(process_tree, "all_pids", lambda: list(self._threads))
        monkeypatch.setattr(Mark, "is_limit_of", lambda _mark, pid: pid in self.marked)

    def add(
        self, pid: int, parent: int = 0, *, own_mb: int = 0, shared_mb: int = 0, sharing: int = 1, threads: int = 1
    ) -> None:
        """Add a process, which the last thread of its parent has started; `sharing` processes share `shared_mb`."""
        rss_kb, pss_kb = 1024 * (own_mb + shared_mb), 1024 * own_mb + 1024 * shared_mb // sharing
        self._files[f"/proc/{pid}/status"] = f"Name:\tx\nRssAnon:\t{rss_kb} kB\nRssShmem:\t0 kB\nThreads:\t{threads}\n"
        self._files[f"/proc/{pid}/smaps_rollup"] = f"Pss:\t7 kB\nPss_Anon:\t{pss_kb} kB\nPss_Shmem:\t0 kB\n"
        self._threads[pid] = [f"{pid}-{number}" for number in range(threads)]
        if parent:
            path = f"/proc/{parent}/task/{self._threads[parent][-1]}/children"
            self._files[path] = f"{self._files.get(path, '')}{pid} "
        self.marked.add(pid)

    def _read(self, path: str, characters_max: int = -1) -> str:
        self.reads[path.rpartition("/")[2]] += 1
        text = self._files.get(path, "")
        return text if characters_max < 0 else text[:characters_max]

    def _threads_of(self, pid: int) -> list[str]:
        self.reads["task"] += 1
        return self._threads[pid]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine without processes."""
    return Machine(monkeypatch)


def test_a_few_threads_and_children_are_looked_at_at_once(machine: Machine) -> None:
    machine.add(1, own_mb=10, threads=4)
    machine.add(2, 1, own_mb=20)
    machine.add(3, 2, own_mb=30)
    assert memory_used_at_once(1, 100 * MB) == (60 * MB, True)
    assert machine.reads == {"status": 3, "task": 3, "children": 6}


def test_one_process_that_uses_too_much_is_seen_at_once(machine: Machine) -> None:
    machine.add(1, own_mb=200)
    assert memory_used_at_once(1, 100 * MB) == (200 * MB, True)


@pytest.mark.parametrize("threads", [3_000, 9_000])
def test_the_threads_of_a_handler_are_not_read(machine: Machine, threads: int) -> None:
    machine.add(1, own_mb=10, threads=threads)
    assert memory_used_at_once(1, 100 * MB) == (10 * MB, False)
    assert machine.reads == {"status": 1}
    machine.add(2, 1, own_mb=20)
    machine.reads.clear()
    assert memory_used_bytes(1, 100 * MB, MARK) == 30 * MB
    assert machine.reads == {"status": 2}


def test_what_children_share_is_not_found_out_at_once(machine: Machine) -> None:
    machine.add(1, shared_mb=80, sharing=3)
    for pid in (2, 3):
        machine.add(pid, 1, shared_mb=80, sharing=3)
    assert memory_used_at_once(1, 128 * MB) == (80 * MB, False)
    assert not machine.reads["smaps_rollup"]
    assert memory_used_bytes(1, 128 * MB, MARK) == pytest.approx(80 * MB, abs=3072)


def test_a_first_process_beyond_the_limit_may_share_what_it_uses(machine: Machine) -> None:
    machine.add(1, shared_mb=200, sharing=2)
    machine.add(2, 1, shared_mb=200, sharing=2)
    assert memory_used_at_once(1, 128 * MB) == (128 * MB, False)


def test_many_children_are_a_long_look(machine: Machine) -> None:
    machine.add(1)
    for pid in range(2, 3_000):
        machine.add(pid, 1, own_mb=1)
    assert memory_used_at_once(1, 100 * MB) == (0, False)
    assert machine.reads.total() <= process_tree._READS_AT_ONCE_MAX
    machine.reads.clear()
    assert memory_used_bytes(1, 5_000 * MB, MARK) == 255 * MB
    assert machine.reads == {"status": process_tree._PROCESSES_MAX}


def test_no_more_is_looked_at_than_is_too_much(machine: Machine) -> None:
    machine.add(1)
    for pid in range(2, 102):
        machine.add(pid, 1, own_mb=10)
    assert memory_used_bytes(1, 100 * MB, MARK) == 110 * MB
    assert machine.reads["smaps_rollup"] == 12


def test_processes_that_others_have_adopted_count(machine: Machine) -> None:
    machine.add(1, own_mb=10, threads=100)
    machine.add(2, own_mb=20)
    assert memory_used_bytes(1, 100 * MB, MARK) == 30 * MB


@pytest.mark.parametrize("threads", [10, 100_000])
def test_where_no_limit_can_be_set_children_are_read_up_to_a_number(machine: Machine, threads: int) -> None:
    machine.add(1, own_mb=10, threads=threads)
    machine.add(2, 1, own_mb=20)
    machine.marked.clear()
    assert memory_used_bytes(1, 100 * MB, MARK) == (30 if threads == 10 else 10) * MB
    assert machine.reads.total() <= process_tree._READS_MAX


class Ended:
    """Processes that are killed, of which one is another user's and one has ended already."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, states: dict[int, str]) -> None:
        self.states, self.killed = states, Counter[int]()
        self.reaped: list[int] = []
        monkeypatch.setattr(process_tree, "all_pids", lambda: list(self.states))
        monkeypatch.setattr(
            process_tree, "_read_file", lambda path: f"{path} (a) b) {self.states[int(path.split('/')[2])]} 1"
        )
        monkeypatch.setattr(process_tree, "_reap", self.reaped.append)
        monkeypatch.setattr(Mark, "is_on", lambda _mark, pid: pid < 100)
        monkeypatch.setattr(os, "kill", self._kill)

    def _kill(self, pid: int, _signal: int) -> None:
        self.killed[pid] += 1
        if self.states[pid] == "foreign":
            raise PermissionError
        del self.states[pid]
        if pid == 1:
            self.states[5] = "R"  # it had started another meanwhile


def test_what_is_marked_is_killed_until_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Ended(monkeypatch, {1: "S", 2: "T", 3: "foreign", 4: "Z", 200: "S"})
    process_tree.kill_marked(7, MARK)
    assert set(ended.states) == {3, 4, 200}
    assert ended.killed == {1: 1, 2: 1, 5: 1, 3: 3}
    assert set(chain(ended.reaped)) >= {4, -7}


def test_marks_are_numbers() -> None:
    marks: list[Any] = [
        Mark.of(text) for text in ("00000000000000ff.00000000000000aa", "00000000000000ff", "other", "")
    ]
    assert [bool(one.soft_limit) for one in marks] == [True, True, False, False]
    own, server = marks[:2]
    assert own.soft_limit == server.soft_limit < own.hard_limit
    assert server.hard_limit == 0
