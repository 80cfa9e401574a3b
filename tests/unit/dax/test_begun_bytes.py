"""Who goes when requests that are not complete take too much memory, and how much work it is to find out."""

import random
from collections import Counter
from functools import partial

import pytest

from hashrange.server.dax.begun_bytes import HELD_BYTES_MIN, BegunBytes
from tests.support.working import lines_of

UNIT = HELD_BYTES_MIN
READ_BYTES = 256 * 1024
"""What one read of a socket brings at most."""


class Holder:
    """What `BegunBytes` knows of a connection."""

    def __init__(self, begun: BegunBytes, account: str, gone: "list[Holder] | None" = None) -> None:
        """`gone`: to be told when it goes."""
        self.begun, self.account = begun, account
        self.is_over = False
        self._gone = [] if gone is None else gone

    def hold(self, size_bytes: int) -> None:
        self.begun.count(self, size_bytes)

    def abort(self) -> None:
        self.is_over = True
        self._gone.append(self)
        self.hold(0)


def test_who_holds_most_goes_and_not_whom_he_leaves_no_room() -> None:
    """Four unfinished requests of one account kept those of all others out for a minute."""
    begun = BegunBytes(100 * UNIT)
    small, many = Holder(begun, "a"), [Holder(begun, "b") for _ in range(4)]
    for units, one in zip((24, 26, 25, 23), many, strict=True):
        one.hold(units * UNIT)
    small.hold(2 * UNIT)
    assert begun.size_bytes == 100 * UNIT
    small.hold(10 * UNIT)
    assert [one.is_over for one in many] == [False, True, False, False]
    large = Holder(begun, "a")
    large.hold(40 * UNIT)
    assert (large.is_over, begun.size_bytes) == (False, (10 + 24 + 23 + 40) * UNIT)
    assert [one.is_over for one in many] == [False, True, True, False]
    large.hold(80 * UNIT)
    assert (large.is_over, small.is_over, begun.size_bytes) == (True, False, (10 + 24 + 23) * UNIT)
    alone = Holder(begun, "c")
    alone.hold(200 * UNIT)
    assert (alone.is_over, begun.size_bytes) == (True, 57 * UNIT)


def crowd(begun: BegunBytes, accounts: int, connections: int, size_bytes: int) -> list[Holder]:
    holders = [Holder(begun, f"{number % accounts}") for number in range(connections)]
    for one in holders:
        one.hold(size_bytes)
    return holders


@pytest.mark.parametrize("is_of_one_account", [True, False])
def test_of_many_connections_the_largest_is_found_as_fast_as_of_a_few(*, is_of_one_account: bool) -> None:
    """14,000 connections were counted for each that went: a piece of 256 KB took 1 s."""
    lines = []
    for connections in (2_000, 8_000):
        begun = BegunBytes(connections * UNIT)
        crowd(begun, 1 if is_of_one_account else connections, connections, UNIT)
        sender = Holder(begun, "sender")
        lines.append(lines_of(partial(sender.hold, UNIT)))
        assert begun.size_bytes == begun.limit_bytes
    assert lines[0] == lines[1]


def test_one_read_ends_few_connections_however_little_they_hold() -> None:
    """Connections that hold a byte each could be ended by the thousand in one step."""
    begun = BegunBytes(2_000 * UNIT)
    holders = crowd(begun, 1, 2_000, 1)
    sender = Holder(begun, "sender")
    sender.hold(READ_BYTES)
    assert not sender.is_over
    assert sum(one.is_over for one in holders) == READ_BYTES // UNIT
    assert begun.size_bytes == begun.limit_bytes


def test_very_many_that_go_together_do_not_call_each_other() -> None:
    """Each end began the next one within itself."""
    begun = BegunBytes(2_000 * UNIT)
    holders = crowd(begun, 1, 2_000, UNIT)
    begun.limit_bytes = UNIT
    sender = Holder(begun, "sender")
    sender.hold(UNIT)
    assert sum(one.is_over for one in [*holders, sender]) == 2_000
    assert begun.size_bytes == UNIT


@pytest.mark.parametrize("seed", range(5))
def test_whoever_comes_and_goes_the_sums_are_right_and_the_largest_goes(seed: int) -> None:
    draw = random.Random(seed)
    begun = BegunBytes(200 * UNIT)
    gone: list[Holder] = []
    holders = [Holder(begun, f"{number % 5}", gone) for number in range(50)]
    held = dict.fromkeys(holders, 0)
    for _ in range(2_000):
        one = draw.choice(holders)
        held[one] = draw.choice([0, 1, 2, 3, 5, 8, 13])
        one.hold(held[one] * UNIT)
        for other in gone:
            of_accounts = Counter[str]()
            for each, units in held.items():
                of_accounts[each.account] += units
            assert of_accounts.total() > 200
            assert of_accounts[other.account] == max(of_accounts.values())
            assert held[other] == max(units for each, units in held.items() if each.account == other.account)
            held[other] = 0
        gone.clear()
        assert begun.size_bytes == sum(held.values()) * UNIT <= begun.limit_bytes
    for one in holders:
        one.hold(0)
    assert (begun.size_bytes, begun._accounts, begun._of_accounts) == (0, [], {})
