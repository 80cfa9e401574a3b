"""The benchmark of statements: both requests of a pair must mean the same, or their ratio means nothing."""

from collections.abc import Iterator

import pytest

from benchmarks.inprocess import Bench
from benchmarks.statements import pairs, ratio_of
from benchmarks.workloads import Plan, read_plan

ITEMS = 40


@pytest.fixture(name="plan", scope="module")
def make_plan() -> Plan:
    return read_plan()


@pytest.fixture(name="bench")
def make_bench(plan: Plan) -> Iterator[Bench]:
    bench = Bench(plan, 1_000, ITEMS)
    bench.prepare(next(workload for workload in plan.workload if workload.operation == "GetItem"))
    yield bench
    bench.close()


def test_both_requests_of_a_pair_mean_the_same(plan: Plan, bench: Bench) -> None:
    by_key, by_partition, insert = pairs(plan.table, plan.sort_keys_per_partition, ITEMS, bench.maker.item)
    for number in (0, 3, 11):
        assert bench.call(*by_key.statement(number))["Items"] == [bench.call(*by_key.call(number))["Item"]]
        found = bench.call(*by_partition.call(number))["Items"]
        assert bench.call(*by_partition.statement(number))["Items"] == found
        assert len(found) == plan.sort_keys_per_partition
    assert bench.call(*insert.call(0)) == {}
    assert bench.call(*insert.statement(0)) == {"Items": []}
    assert bench.call("Scan", {"TableName": plan.table, "Select": "COUNT"})["Count"] == ITEMS + 2


def test_a_ratio_is_measured(plan: Plan, bench: Bench) -> None:
    for pair in pairs(plan.table, plan.sort_keys_per_partition, ITEMS, bench.maker.item):
        call_us, ratio = ratio_of(bench, pair._replace(requests=5))
        assert call_us > 0
        assert ratio > 0
