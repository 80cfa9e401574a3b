"""Which series gives way if there are too many: seldom one of another account."""

import random

import pytest

from hashrange.cloudwatch import series_table
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.series_table import SeriesTable

MOST = 20
Names = list[tuple[str, str]]


@pytest.fixture(params=["AWS/DynamoDB", "Own"])
def namespace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A namespace that may have twenty series."""
    monkeypatch.setattr(series_table, "METRIC_SERIES_MAX", MOST)
    monkeypatch.setattr(series_table, "METRIC_SERIES_CUSTOM_MAX", MOST)
    return str(request.param)


class Table:
    """A table whose series belong to accounts of one letter."""

    def __init__(self, namespace: str) -> None:
        self.table = SeriesTable()
        self._namespace = namespace

    def add(self, account: str, *names: object) -> str:
        """Add metrics of an account; returns account and name of those that gave way."""
        gone: list[str] = []
        for name in names:
            metric = MetricId(account, "us-east-1", self._namespace, str(name))
            _, removed = self.table.add(self.table.next_number, metric, "None", None)  # type: ignore[arg-type]
            gone += [one.metric.account + one.metric.name for one in removed]
        return " ".join(gone)

    def touch(self, account: str, name: object) -> None:
        """Record a metric."""
        metric = MetricId(account, "us-east-1", self._namespace, str(name))
        self.table.touch(self.table.units_of(metric)["None"])

    def count(self, account: str) -> int:
        """How many series an account has."""
        return sum(one.metric.account == account for one in self.table.by_number.values())


def test_the_series_of_one_account_give_way_in_the_order_of_their_last_observations(namespace: str) -> None:
    table = Table(namespace)
    table.add("a", *range(MOST))
    table.touch("a", 0)
    assert table.add("a", "new", "newer") == "a1 a2"


def test_made_up_accounts_push_out_nobodys_metrics(namespace: str) -> None:
    table = Table(namespace)
    table.add("a", *range(MOST // 2))
    for number in range(10 * MOST):
        table.add(f"invented{number}", "x")
    assert table.count("a") == MOST // 2
    assert len(table.table.by_number) == MOST


def test_who_has_more_than_half_gives_way_to_others_and_keeps_half(namespace: str) -> None:
    table = Table(namespace)
    table.add("a", *range(MOST))
    assert table.add("b", 0, 1, 2) == "a0 a1 a2"
    for number in range(10 * MOST):
        table.add("b", f"more{number}")
    assert (table.count("a"), table.count("b")) == (MOST // 2, MOST // 2)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_what_is_there(seed: int, namespace: str) -> None:
    draw = random.Random(seed)
    table = Table(namespace)
    for number in range(500):
        account = draw.choice("aaabbc")
        table.add(account, number)
        assert len(table.table.by_number) <= MOST
        if draw.random() < 0.3:
            table.table.remove(draw.choice(list(table.table.by_number.values())))
    for known in list(table.table.by_number.values()):
        table.table.remove(known)
    for order in (table.table.others, table.table._custom):
        assert (len(order), order.counts(), order._large, order._names_bytes) == (0, [], {}, 0)
