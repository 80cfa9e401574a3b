"""Random writes, shards that end and split, functions that fail in every way, kills of the job and restarts:
no record is lost, and none overtakes another.

An invocation may begin only if every earlier record of its items was handled or given up.
What was handled comes again only after a kill, or another number of lanes. A mapping's checkpoints never fall.
The state of a tumbling window holds each record once.
"""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.triggers.failure_message import FailureMessage
from tests.support.seeds import seeds
from tests.unit.jobs.streaming import HOUR, pass_time, shard_records
from tests.unit.triggers.deliveries import Deliveries, Event, Failing, sequence_of

STEPS = 150
KEYS = 12
WINDOW_SECONDS = 900
HOURS_MAX = 20.0
"""Hours of service time of one run: no record is lost to the retention of a day."""
QUEUE = "arn:aws:sqs:us-east-1:000000000000:failed"
INSERTS_AND_REMOVALS = '{"eventName": ["INSERT", "REMOVE"]}'
KILLED = "killed"


def key_of(record: Any) -> str:
    return str(record["dynamodb"]["Keys"]["id"]["S"])


class Judge:
    """The function, and what it may and may not see."""

    def __init__(self, walk: "Walk", chance: Random, settings: dict[str, Any]) -> None:
        self.walk = walk
        self.chance = chance
        self.settings = settings
        self.is_good = False
        """True once the function no longer fails."""
        self.written: dict[str, list[int]] = {}
        """Key → sequence numbers of its records that match, in order; read from the stream before each invocation."""
        self.handled: set[int] = set()
        self.given_up: set[int] = set()
        self.handled_lately: set[int] = set()
        """Records handled since the last kill."""
        self.attempts: Counter[int] = Counter()
        """Attempts since the last kill, without throttled ones."""
        self.running: set[str] = set()
        self.finals = 0
        self.outcomes: Counter[str] = Counter()

    def forget(self) -> None:
        """The job was killed, or repeats records for another reason."""
        self.handled_lately.clear()
        self.attempts.clear()
        self.running.clear()

    def answer(self, event: Event) -> Any:
        if event.get("isFinalInvokeForWindow"):
            return self.end_window(event)
        self.walk.learn()
        records = event["Records"]
        numbers = [int(sequence_of(one)) for one in records]
        keys = {key_of(one) for one in records}
        self.judge_event(numbers, records)
        kind = (
            "good" if self.is_good else self.chance.choice(("good", "good", "good", "fail", "part", "throttle", "kill"))
        )
        self.outcomes[kind] += 1
        if kind == "throttle":
            return ConcurrencyExceeded("")
        assert self.running.isdisjoint(keys), "two invocations at a time for one item"
        return self.run(kind, event, numbers, keys)

    async def run(self, kind: str, event: Event, numbers: list[int], keys: set[str]) -> Any:
        """Take some turns of the loop, and answer."""
        self.running |= keys
        for _ in range(self.chance.randint(0, 4)):
            await asyncio.sleep(0)
        if not self.is_good and self.chance.random() < 0.1:
            self.chance.choice((self.walk.write, self.walk.roll, self.walk.split))()
        self.running -= keys
        if kind == "fail":
            self.count(numbers)
            raise Failing("no")
        if kind == "kill":
            if self.chance.random() < 0.5:
                self.handled.update(numbers)
            raise AssertionError(KILLED)
        self.count(numbers)
        end = self.chance.randrange(len(numbers)) if kind == "part" else len(numbers)
        reply: dict[str, Any] = {"batchItemFailures": []}
        if end < len(numbers):
            reply["batchItemFailures"] = [{"itemIdentifier": sequence_of(event["Records"][end])}]
        if not self.settings["reports_item_failures"]:
            end = len(numbers)
        self.handled.update(numbers[:end])
        self.handled_lately.update(numbers[:end])
        if "state" in event:
            reply["state"] = {"seen": event["state"].get("seen", []) + [str(one) for one in numbers[:end]]}
        return reply

    def count(self, numbers: list[int]) -> None:
        self.attempts.update(numbers)
        if not self.settings["is_bisecting"] and self.settings["retry_attempts_max"] >= 0:
            assert max(self.attempts[one] for one in numbers) <= self.settings["retry_attempts_max"] + 1

    def judge_event(self, numbers: list[int], records: list[Any]) -> None:
        assert numbers == sorted(set(numbers))
        assert 1 <= len(numbers) <= self.settings["batch_size"]
        assert self.handled_lately.isdisjoint(numbers), "handled records came again"
        inside = set(numbers)
        for record, number in zip(records, numbers, strict=True):
            before = [one for one in self.written[key_of(record)] if one < number]
            left = set(before) - self.handled - self.given_up - inside
            assert not left, "a record overtook an earlier one of its item"

    def end_window(self, event: Event) -> Any:
        seen = event["state"].get("seen", [])
        assert len(seen) == len(set(seen)), "a record counts twice in its window"
        assert {int(one) for one in seen} <= self.handled
        if not self.is_good and self.chance.random() < 0.3:
            return Failing("no")
        self.finals += 1
        return None

    def give_up(self, message: FailureMessage) -> None:
        info = message.document["DDBStreamBatchInfo"]
        first, last = int(info["startSequenceNumber"]), int(info["endSequenceNumber"])
        self.given_up.update(one for numbers in self.written.values() for one in numbers if first <= one <= last)


class Walk:
    """One random run."""

    def __init__(self, folder: Path | None, seed: int, *, is_suspending: bool) -> None:
        chance = self.chance = Random(seed)
        self.settings: dict[str, Any] = {
            "batch_size": chance.choice((1, 3, 10, 100)),
            "parallelization_factor": chance.choice((1, 1, 2, 5)),
            "batching_window_seconds": chance.choice((0, 0, 20)),
            "retry_attempts_max": chance.choice((-1, -1, 0, 3)),
            "is_bisecting": chance.random() < 0.3,
            "reports_item_failures": chance.random() < 0.5,
            "filters": chance.choice(((), (INSERTS_AND_REMOVALS,))),
            "tumbling_window_seconds": chance.choice((0, 0, WINDOW_SECONDS)),
        }
        if self.settings["retry_attempts_max"] >= 0:
            self.settings["destination_arn"] = QUEUE
        if self.settings["tumbling_window_seconds"]:
            self.settings["parallelization_factor"] = 1
        self.judge = Judge(self, chance, self.settings)
        self.world = Deliveries(folder, is_suspending=is_suspending, partition_size_max_bytes=3_000)
        self.mapping = self.world.map(**self.settings)
        self.world.functions.answer = self.judge.answer
        self.ends_at_seconds = self.world.clock.service_time() + HOURS_MAX * HOUR
        self.positions: dict[str, list[int]] = {}
        self.is_learned = False
        """True if the judge knows all records."""
        self.value = 0
        self.kills = 0

    def step(self) -> None:
        actions = (self.write, self.write, self.write, self.deliver, self.deliver, self.advance, self.roll, self.split)
        rare = (self.kill, self.change, self.toggle)
        self.chance.choice(rare if self.chance.random() < 0.06 else actions)()

    # --- what happens -----------------------------------------------------------------------------

    def write(self) -> None:
        self.is_learned = False
        for _ in range(self.chance.randint(1, 12)):
            self.value += 1
            key = self.chance.randrange(KEYS)
            if self.chance.random() < 0.2:
                self.world.ask("DeleteItem", Key={"id": {"S": f"o{key}"}})
            else:
                self.world.write(self.value, key=key, pad={"S": "x" * self.chance.choice((0, 200))})

    def advance(self) -> None:
        self.world.clock.advance(self.chance.choice((0.3, 1, 30, 600)))

    def roll(self) -> None:
        if self.world.clock.service_time() < self.ends_at_seconds - 4 * HOUR:
            pass_time(self.world, self.chance.choice((HOUR, 4 * HOUR)))

    def split(self) -> None:
        self.world.split()

    def kill(self) -> None:
        """The process ends between two slices; with a folder, the store is opened anew."""
        if self.world.data_dir is None:
            self.world.begin()
        else:
            self.world.kill()
        self.forget()

    def change(self) -> None:
        (mapping,) = self.world.mappings.all()
        self.settings["batch_size"] = batch_size = self.chance.choice((1, 3, 10, 100))
        lanes = mapping.parallelization_factor
        if not mapping.tumbling_window_seconds:
            lanes = self.chance.choice((1, 2, 5))
        self.world.change(mapping, batch_size=batch_size, parallelization_factor=lanes)
        self.forget()

    def toggle(self) -> None:
        (mapping,) = self.world.mappings.all()
        self.world.change(mapping, is_enabled=not mapping.is_enabled)
        self.judge.attempts.clear()

    def forget(self) -> None:
        self.judge.forget()
        self.positions = {}

    # --- delivering and judging -------------------------------------------------------------------

    def deliver(self) -> float | None:
        """Run a slice; a kill in it drops everything that runs."""
        try:
            return self.world.deliver()
        except AssertionError as error:
            if str(error) != KILLED:
                raise
            self.kills += 1
            self.world.begin()
            self.judge.forget()
            return 0.0
        finally:
            self.judge_checkpoints()

    def learn(self) -> None:
        """Let the judge know all records that are there."""
        if self.is_learned:
            return
        self.is_learned = True
        names = ("INSERT", "REMOVE") if self.settings["filters"] else ("INSERT", "MODIFY", "REMOVE")
        self.judge.written = {}
        for _, records in shard_records(self.world, self.world.arn, 1000):
            for one in records:
                if one["eventName"] in names:
                    self.judge.written.setdefault(key_of(one), []).append(int(sequence_of(one)))

    def judge_checkpoints(self) -> None:
        for name, checkpoint in self.world.checkpoints().items():
            positions = [int(one) for one in checkpoint["next"]]
            before = self.positions.get(name, positions)
            if len(before) == len(positions):  # else the number of lanes has changed
                assert all(new >= old for new, old in zip(positions, before, strict=True))
            self.positions[name] = positions

    def finish(self) -> None:
        """Let everything be delivered by a function that no longer fails."""
        (mapping,) = self.world.mappings.all()
        if not mapping.is_enabled:
            self.world.change(mapping, is_enabled=True)
        self.judge.is_good = True
        pause_seconds = self.deliver()
        while pause_seconds is not None:
            self.world.clock.advance(pause_seconds)
            pause_seconds = self.deliver()
        self.learn()
        written = {one for numbers in self.judge.written.values() for one in numbers}
        assert len(written) > 20
        assert written == self.judge.handled | self.judge.given_up


class Recording(list[FailureMessage]):
    """What the destination accepted; the judge hears of each message at once."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self._judge = judge

    def append(self, message: FailureMessage) -> None:
        self._judge.give_up(message)


@pytest.mark.parametrize("kind", ["memory", "disk", "suspending"])
@pytest.mark.parametrize("seed", seeds(3, 8))
def test_no_record_is_lost_and_none_overtakes_another(tmp_path: Path, seed: int, kind: str) -> None:
    walk = Walk(None if kind == "memory" else tmp_path / "data", seed, is_suspending=kind == "suspending")
    walk.world.destinations.failed = Recording(walk.judge)
    for _ in range(STEPS):
        walk.step()
    walk.finish()
    assert walk.world.close() == []
