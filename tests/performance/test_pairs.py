"""Are two commits compared fairly? Turns, medians, the verdict, and the refusals of the command line."""

import asyncio
import random
import shlex
from itertools import pairwise
from typing import cast

import msgspec
import pytest

from benchmarks.__main__ import arguments_parser, check_no_pair_options, make_choice, run_pair
from benchmarks.pair import (
    MEASURING_SHARE,
    READING,
    Comparison,
    Shares,
    Sides,
    in_random_order,
    make_comparison,
    orders,
    requests_in,
    take_turns,
)
from benchmarks.pair_served import CONNECTIONS, Wire
from benchmarks.pair_verdict import Compared, Limits, Turn, quartiles, render_comparison, verdict
from benchmarks.workloads import read_plan

PLAN = read_plan()


class FakeSide:
    """Records its runs, each of which takes a given time."""

    def __init__(self, name: str, log: list[tuple[str, str, int, int]], request_ns: int) -> None:
        self.name = name
        self.log = log
        self.request_ns = request_ns

    def run(self, workload: str, start: int, count: int) -> int:
        self.log.append((self.name, workload, start, count))
        return self.request_ns * count


def fake_turns(
    name: str, *, is_after_first: bool = False, ends_at: float = float("inf")
) -> tuple[list[Turn], list[tuple[str, str, int, int]]]:
    """Five turns of a workload whose requests take 10 µs before and 20 µs after, and the recorded runs."""
    log: list[tuple[str, str, int, int]] = []
    sides = cast("Sides", (FakeSide("before", log, 10_000), FakeSide("after", log, 20_000)))
    paired = msgspec.structs.replace(PLAN.paired, turns=5, turns_min=3, turn_us=320, warm_up_us=1_000)
    turns = take_turns(PLAN.named(name), sides, paired, is_after_first=is_after_first, ends_at=ends_at)
    return turns, log[-2 * len(turns) * (2 if PLAN.named(name).undo else 1) :]


def test_sides_run_in_turns_and_odd_pairs_begin_with_the_other() -> None:
    assert list(orders(4, is_after_first=False)) == [(0, 1), (1, 0), (0, 1), (1, 0)]
    assert list(orders(3, is_after_first=True)) == [(1, 0), (0, 1), (1, 0)]


@pytest.mark.parametrize("is_after_first", [False, True])
def test_both_sides_run_the_same_requests(is_after_first: bool) -> None:
    turns, log = fake_turns("get", is_after_first=is_after_first)
    assert turns == [Turn(10.0, 20.0)] * 5
    names = ["after", "before", "before", "after"] if is_after_first else ["before", "after", "after", "before"]
    assert [name for name, *_ in log[:4]] == names
    for first, second in zip(log[::2], log[1::2], strict=True):
        assert first[1:] == second[1:]
    starts = [start for _, _, start, _ in log[::2]]
    count = log[0][3]
    assert count == 32 // CONNECTIONS * CONNECTIONS  # 320 µs of 10 µs each
    assert [later - start for start, later in pairwise(starts)] == [count] * 4
    assert starts[0] >= CONNECTIONS  # the runs before are the warm-up


def test_when_time_is_over_there_are_as_many_turns_as_have_to_be() -> None:
    assert len(fake_turns("get", ends_at=float("-inf"))[0]) == 3
    assert len(fake_turns("get")[0]) == 5


def test_what_is_left_of_the_time_is_shared_by_what_is_left_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([1000.0, 1020.0, 1140.0, 1240.0])
    monkeypatch.setattr("benchmarks.pair.time.monotonic", lambda: next(moments))
    shares = Shares(100.0, 4)
    assert shares.next_ends_at() == 1020 + 80 / 4 * MEASURING_SHARE
    assert shares.next_ends_at() < 1140  # late: only the least time is left
    assert shares.used_seconds() == 240


def test_a_turn_is_whole_groups_and_of_batches_any_number() -> None:
    group = CONNECTIONS
    for request_us, count in ((1_000 / group, group), (1_000 / group / 2.9, 3 * group), (5_000, group)):
        assert requests_in(1_000, request_us, is_batch=False) == count
    assert [requests_in(1_000, request_us, is_batch=True) for request_us in (400, 5_000)] == [2, 1]


def test_what_a_run_takes_away_is_brought_back_and_does_not_count() -> None:
    turns, log = fake_turns("delete")
    assert turns == [Turn(10.0, 20.0)] * 5
    for run, undo in zip(log[::2], log[1::2], strict=True):
        assert (run[1], undo[1]) == ("delete", "delete-undo")
        assert (run[0], *run[2:]) == (undo[0], *undo[2:])


def test_reads_come_first_and_a_seed_makes_the_order() -> None:
    workloads = [PLAN.named(name) for name in PLAN.paired.memory]
    seen = [in_random_order(workloads, random.Random(seed)) for seed in (1, 1, 2)]
    assert seen[0] == seen[1] != seen[2]
    for order in seen:
        is_reading = [workload.operation in READING for workload in order]
        assert is_reading == sorted(is_reading, reverse=True)
        assert {workload.name for workload in order} == set(PLAN.paired.memory)


def test_the_plan_compares_indexed_writes_in_both_modes() -> None:
    for names in (PLAN.paired.memory, PLAN.paired.disk):
        assert len(set(names)) == len(names)
        operations = {PLAN.named(name).operation for name in names if PLAN.named(name).indexes}
        assert {"PutItem", "UpdateItem"} <= operations
    assert PLAN.paired.pairs >= 9
    assert all(workload.name in PLAN.paired.memory for workload in PLAN.workload if workload.is_paired_only)
    assert all(PLAN.named(name).keys != "pages" for name in PLAN.paired.memory)


def row(title: str, *ratios: float) -> Compared:
    """A workload of 10 µs before, with one turn in each pair."""
    return Compared(title, [[Turn(10.0, 10.0 * ratio)] for ratio in ratios])


def test_a_wild_turn_and_a_wild_pair_do_not_count() -> None:
    compared = Compared(
        "x",
        [
            [Turn(10, 11), Turn(10, 11), Turn(10, 99), Turn(10, 10)],
            [Turn(20, 24), Turn(1000, 10), Turn(20, 24), Turn(20, 80)],
            [Turn(10, 50)],
        ],
    )
    assert compared.ratios() == pytest.approx([1.1, 1.2, 5.0])
    assert compared.ratio() == pytest.approx(1.2)
    assert (compared.before_us(), compared.after_us()) == (10.0, 24.0)
    assert quartiles([1.0, 1.1, 1.2, 1.3, 9.0]) == pytest.approx((1.1, 1.3))
    assert quartiles([1.5]) == (1.5, 1.5)


def test_the_verdict_names_what_is_beyond() -> None:
    limits = Limits(1.03, 1.00)
    text, is_within = verdict([row("slow", 1.04, 1.05, 9.0), row("quick", 0.8, 0.9, 0.9)], limits)
    assert not is_within
    assert "Beyond 1.03: slow." in text
    assert "mean of 2 ratios: 0.972; at most 1.00" in text
    text, is_within = verdict([row("first", 1.02), row("second", 1.02)], limits)
    assert not is_within
    assert "The mean is beyond its limit." in text
    text, is_within = verdict([row("slow", 1.034), row("quick", 0.97)], limits)  # 1.03 when rounded
    assert is_within
    assert "No workload is beyond 1.03." in text


def test_the_table_shows_figures_ratio_and_spread() -> None:
    text = render_comparison(
        [row("GetItem; memory", 1.0, 1.1, 1.2, 1.3, 9.0), row("Query; memory", 1.0)], Limits(1.03, 1)
    )
    [get] = [line for line in text.splitlines() if "GetItem" in line]
    assert [cell.strip() for cell in get.split("|")[1:-1]] == [
        "GetItem; memory", "10.0", "12.0", "1.200", "1.100 to 1.300", "**yes**",
    ]  # fmt: skip
    assert text.count("**yes**") == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--pair a b c", "compares two commits"),
        ("--pair a --quick", "does not go with --quick"),
        ("--pair a --only get,nothing", "no such workload with --pair: nothing; there are get, "),
        ("--pair a --only query --ours-disk", "none of these workloads is measured on disk"),
        ("--pair a --pairs 0", "at least 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(line: str, reason: str) -> None:
    with pytest.raises(SystemExit, match=reason):
        run_pair(arguments_parser(PLAN).parse_args(shlex.split(line)), PLAN)


def test_options_and_workloads_of_pairs_are_refused_elsewhere() -> None:
    with pytest.raises(SystemExit, match="--at-most goes with --pair"):
        check_no_pair_options(arguments_parser(PLAN).parse_args(["--at-most", "1.5"]))
    with pytest.raises(SystemExit, match="no such workload: update-2-indexes"):
        make_choice(arguments_parser(PLAN).parse_args(["--only", "update-2-indexes"]), PLAN)
    assert not any(one.is_paired_only for one in make_choice(arguments_parser(PLAN).parse_args([]), PLAN).workloads)


def comparison_of(line: str) -> Comparison:
    return make_comparison(arguments_parser(PLAN).parse_args(["--pair", "a", *shlex.split(line)]), PLAN, [])


def test_the_command_line_says_what_is_compared() -> None:
    comparison = comparison_of("")
    assert comparison.limits == Limits(1.03, 1.0)
    assert {kind: len(chosen) for kind, chosen in comparison.workloads.items()} == {
        "memory": len(PLAN.paired.memory),
        "disk": len(PLAN.paired.disk),
    }
    narrowed = comparison_of("--ours-disk --at-most 1.5 --mean-at-most 1.1 --pairs 11 --seed 7 --minutes 2")
    assert (narrowed.limits, narrowed.pairs, narrowed.seed, narrowed.minutes) == (Limits(1.5, 1.1), 11, 7, 2)
    assert list(narrowed.workloads) == ["disk"]


# --- connections -----------------------------------------------------------------------------------------------------


class Client(asyncio.Protocol):
    """Records the bytes that it receives."""

    def __init__(self) -> None:
        self.transport: Wire
        self.received: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("Wire", transport)

    def data_received(self, data: bytes) -> None:
        self.received.append(data)


def test_a_reply_is_whole_with_its_last_byte() -> None:
    whole: list[bytes] = []
    wire = Wire(Client(), lambda one: whole.append(one.reply))
    for parts in (
        [b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"],
        [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", b"ab", b"cd"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ):
        whole.clear()
        wire.ask(b"something")
        for part in parts:
            assert not whole
            wire.write(part)
        assert whole == [b"".join(parts)]


def test_a_server_that_pauses_gets_its_request_later() -> None:
    async def ask() -> list[bytes]:
        client = Client()
        wire = Wire(client, lambda _: None)
        wire.pause_reading()
        wire.ask(b"something")
        assert client.received == []
        wire.resume_reading()
        assert client.received == []
        await asyncio.sleep(0)
        return client.received

    assert asyncio.run(ask()) == [b"something"]
