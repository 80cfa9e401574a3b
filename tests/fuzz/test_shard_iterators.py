"""Spoiled shard iterators, sequence numbers, times and ARNs: each is accepted, or refused with one of four errors.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import os
import random
from base64 import b64decode, b64encode
from typing import Any

import pytest

from hashrange.errors import ApiError
from hashrange.operations.streams.iterators import Position, encode_iterator
from hashrange.tables.streams import SEQUENCE_MAX
from tests.fuzz.mutations import spoil_bytes
from tests.unit.jobs.streaming import DAY, begin, change, pass_time, sequence, shards, switch_off, switch_on
from tests.unit.jobs.world import World

ITERATORS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) * 4
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
REFUSALS = {
    "ValidationException",
    "ExpiredIteratorException",
    "TrimmedDataAccessException",
    "ResourceNotFoundException",
}
TEXT_MAX = 2048
KINDS = ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP")
NUMBERS = (
    "0" * 21,
    "9" * 40,
    "1" * 21,
    "-" + "1" * 25,
    "1" * 24 + ".5",
    "٣" * 21,
    "1e" + "0" * 20,
    " " * 21,
    "+" + "1" * 22,
)


class Target:
    """Three streams, one of which has ended and one of which is deleted, and iterators of them,
    some of them expired.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = world = World(None)
        gone = switch_on(world)
        self.arns = [gone]
        self.shard_ids = [one["ShardId"] for one in shards(world, gone)]
        old = begin(world, gone, self.shard_ids[0])
        switch_off(world)
        self.iterators = [old]
        for seconds in (DAY, 5000.0):
            pass_time(world, seconds)
            arn = switch_on(world)
            self.arns.append(arn)
            for value in range(5):
                change(world, value, value)
            pass_time(world, 4 * 3600.0)
            change(world, 1, 9)
            for shard in shards(world, arn):
                self.shard_ids.append(shard["ShardId"])
                self.iterators += [begin(world, arn, shard["ShardId"], kind) for kind in ("TRIM_HORIZON", "LATEST")]
            if seconds == DAY:
                switch_off(world)
                pass_time(world, 16 * 60.0)
        reply = world.request("GetRecords", ShardIterator=self.iterators[-4])
        self.numbers = [str(sequence(one)) for one in reply["Records"]]
        assert self.numbers
        assert {self.ask("GetRecords", ShardIterator=one) for one in self.iterators} == {
            None,
            "ExpiredIteratorException",
        }

    def ask(self, name: str, **members: Any) -> str | None:
        """The error's code; None for a success."""
        try:
            self.world.request(name, **members)
        except ApiError as error:
            assert error.code in REFUSALS, (error, members)
            return error.code
        return None

    # --- iterators ----------------------------------------------------------------------------

    def iterator(self) -> str:
        """An iterator that no server gave out."""
        make = self.chance.choice((self.random_text, self.truncated, self.swapped, self.flipped, self.mutated))
        return make()[:TEXT_MAX] or "x"

    def random_text(self) -> str:
        size = self.chance.randint(1, 300)
        text = self.chance.randbytes(size).decode(self.chance.choice(("latin-1", "utf-16-le")), "replace")
        return self.chance.choice(("", self.chance.choice(self.arns) + "|1|")) + text

    def truncated(self) -> str:
        text = self.chance.choice(self.iterators)
        return text[: self.chance.randrange(1, len(text))]

    def swapped(self) -> str:
        """An iterator with the ARN of one iterator and the place of another."""
        place = self.chance.choice(self.iterators).rpartition("|")[2]
        arn = self.chance.choice(
            [*self.arns, "arn:aws:dynamodb:us-east-1:000000000000:table/other/stream/x", "", "|1|"]
        )
        return self.chance.choice((f"{arn}|1|{place}", f"{arn}|2|{place}", f"{place}|1|{arn}", f"{arn}|1||1|{place}"))

    def flipped(self) -> str:
        """An iterator with changed bits, or with bytes cut off or added."""
        arn, _, place = self.chance.choice(self.iterators).rpartition("|")
        content = bytearray(b64decode(place))
        for _ in range(self.chance.randint(1, 3)):
            content[self.chance.randrange(len(content))] ^= 1 << self.chance.randrange(8)
        size = self.chance.choice((len(content), len(content), self.chance.randrange(len(content)), 60))
        return f"{arn}|{b64encode(bytes(content).ljust(size)[:size]).decode()}"

    def mutated(self) -> str:
        return spoil_bytes(self.chance.choice(self.iterators).encode(), self.chance).decode(errors="replace")

    def forged(self) -> str:
        """An iterator with a right check sum, as a server on another folder may give it out."""
        chance = self.chance
        now_seconds = self.world.clock.service_time()
        position = Position(
            chance.choice((0, 1, 2, 3, 4, 2**32 - 1)),
            chance.choice((0, 1, 2, 3, 2**32 - 1)),
            chance.choice((0, 1, SEQUENCE_MAX, chance.randrange(SEQUENCE_MAX), int(now_seconds * 1000) << 32)),
            chance.random() < 0.5,
        )
        at_seconds = now_seconds + chance.choice((0.0, -899.0, -901.0, 10**6, 10**15))
        return encode_iterator(chance.choice([*self.arns, "", "x", "|1|"]), position, at_seconds)

    # --- requests for iterators -------------------------------------------------------------------

    def request(self) -> dict[str, Any]:
        chance = self.chance
        arn = chance.choice([*self.arns, "arn:aws:dynamodb:us-east-1:000000000000:table/other/stream/x", "a" * 40])
        if chance.random() < 0.2:
            arn = spoil_bytes(arn.encode(), chance).decode(errors="replace").ljust(37, "x")[:1024]
        kind = chance.choice(KINDS)
        members: dict[str, Any] = {
            "StreamArn": arn,
            "ShardId": chance.choice([*self.shard_ids, "shardId-" + "0" * 20 + "-zz"]),
            "ShardIteratorType": kind,
        }
        if "SEQUENCE" in kind or chance.random() < 0.1:
            members["SequenceNumber"] = chance.choice((*self.numbers, *NUMBERS, "0", "1" * 30))[:40].ljust(21, "0")
        if kind == "AT_TIMESTAMP" or chance.random() < 0.1:
            now_seconds = self.world.clock.service_time()
            times = (
                0,
                -1,
                now_seconds,
                now_seconds - 2 * DAY,
                now_seconds + 1,
                1e18,
                -1e18,
                1e308,
                -1e308,
                5e-324,
                -0.0,
            )
            members["Timestamp"] = chance.choice(times)
        return members


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_spoiled_iterators(seed: int) -> None:
    target = Target(seed)
    for _ in range(ITERATORS // 4):
        text = target.iterator()
        if text not in target.iterators:
            assert target.ask("GetRecords", ShardIterator=text) in {"ValidationException", "ExpiredIteratorException"}


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_forged_iterators(seed: int) -> None:
    target = Target(seed)
    answers = {target.ask("GetRecords", ShardIterator=target.forged()) for _ in range(ITERATORS // 4)}
    assert answers == {None, *REFUSALS}


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_spoiled_requests_for_iterators(seed: int) -> None:
    """An iterator that GetShardIterator returns is accepted by GetRecords."""
    target = Target(seed)
    codes = set()
    for _ in range(ITERATORS // 4):
        members = target.request()
        code = target.ask("GetShardIterator", **members)
        codes.add(code)
        if code is None:
            iterator = target.world.request("GetShardIterator", **members)["ShardIterator"]
            assert target.ask("GetRecords", ShardIterator=iterator) is None
    assert {None, "ValidationException", "ResourceNotFoundException"} <= codes


def test_every_place_in_a_shard_gives_the_rest() -> None:
    """A sequence number gives an iterator for the records from there on, even if no record has that number."""
    target = Target(SEED)
    arn, shard_id = target.arns[-1], target.shard_ids[-2]
    for number in target.numbers:
        for shift in (-1, 0, 1):
            for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
                at = int(number) + shift
                iterator = begin(target.world, arn, shard_id, kind, SequenceNumber=str(at))
                found = [
                    str(sequence(one)) for one in target.world.request("GetRecords", ShardIterator=iterator)["Records"]
                ]
                is_at = kind == KINDS[0]
                assert found == [one for one in target.numbers if int(one) > at or (is_at and int(one) == at)]
