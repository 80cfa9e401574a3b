"""Metrics agree with ConsumedCapacity to the unit, over random requests of all kinds;
on disk as in memory, enforced or not.
"""

import random
from collections import Counter
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.metric_recording.seen import Seen, create_table, freeze_at_minute, key
from tests.unit.throughput.test_agreement import Requests, create


@pytest.mark.parametrize("seed", range(4))
def test_metrics_show_what_replies_report(seed: int, tmp_path: Path) -> None:
    folder = None if seed % 2 else str(tmp_path / "data")
    with server(Settings(data_dir=folder, port=0, throughput="enforced" if seed < 2 else "unlimited")) as database:
        seen = Seen(database)
        database.clock.freeze()
        client = database.client()
        create(client)
        requests = Requests(client, seed)
        for number in range(120):
            requests.one()
            if number % 10 == 0:
                database.clock.advance(25)
        for kind, name in (("reads", "ConsumedReadCapacityUnits"), ("writes", "ConsumedWriteCapacityUnits")):
            assert seen.sum(name, TableName="orders") == pytest.approx(requests.used["orders", kind])
            of_index = seen.sum(name, TableName="orders", GlobalSecondaryIndexName="global")
            assert of_index == pytest.approx(requests.used["global", kind])
        assert {len(metric.dimensions) for metric in seen.found("ConsumedReadCapacityUnits")} == {1, 2}


@pytest.mark.parametrize("seed", range(3))
def test_each_minute_has_what_was_consumed_in_it(seed: int) -> None:
    """A model: units by minute, while service time is moved by random steps, and somebody reads now and then."""
    chosen = random.Random(seed)
    with server(Settings(data_dir=None, port=0)) as database:
        freeze_at_minute(database)
        seen, client = Seen(database), database.client()
        create_table(client)
        begin_seconds = database.clock.now()
        units: Counter[int] = Counter()
        samples: Counter[int] = Counter()
        for _ in range(150):
            minute = int((database.clock.now() - begin_seconds) // 60)
            if chosen.random() < 0.5:
                size = chosen.choice([1, 2_000, 5_000])
                client.put_item(TableName="orders", Item=key(str(size)) | {"text": {"S": "x" * size}})
                units[minute] += -(-(size + 40) // 1024)
                samples[minute] += 1
            if chosen.random() < 0.3:
                database.clock.advance(chosen.choice([0.5, 7, 31, 60, 61, 600]))
            if chosen.random() < 0.1:
                seen.sum("ConsumedWriteCapacityUnits", TableName="orders")
        last = int((database.clock.now() - begin_seconds) // 60)
        points = seen.points("ConsumedWriteCapacityUnits", TableName="orders")
        found = {
            int((point.at_seconds - begin_seconds) // 60): (point.statistics.sum, point.statistics.sample_count)
            for point in points
        }
        expected = {minute: (units[minute], samples[minute] or 1) for minute in range(last + 1)}
        if not samples[last]:
            del expected[last]  # the running minute is known to be idle once it is over
        assert found == expected
