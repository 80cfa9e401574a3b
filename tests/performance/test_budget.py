"""Does no request execute more instructions than its budget? And is the budget only lowered without a reason?"""

import sys

import pytest

from benchmarks import budget
from benchmarks.budget import Budget, count_all, is_counted_here, lowered, over_budget, read_budget, render


@pytest.mark.skipif(not is_counted_here(), reason="the budget is for CPython 3.11 on Linux")
def test_no_request_takes_more_instructions_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few groups are counted if all requests stay within their budgets."""
    committed = read_budget()
    with monkeypatch.context() as patched:
        patched.setattr(budget, "GROUPS", 3)
        counts = count_all(set())
    if over_budget(committed, counts):
        counts = count_all(set())  # all of them: what a request finds in caches depends on the requests before it
    assert over_budget(committed, counts) == [], render(committed, counts)
    assert {kind: counts[kind].keys() for kind in counts} == {
        "memory": committed.memory.keys(),
        "disk": committed.disk.keys(),
    }


def test_a_budget_is_raised_only_with_a_reason() -> None:
    made = Budget(memory={"get": 1000, "put": 2000, "query": 1000}, disk={})
    counts = {"memory": {"get": 1003, "put": 1500, "query": 1002}, "disk": {"get": 90}}
    assert over_budget(made, counts) == ["get (memory)", "get (disk)"]
    made = lowered(made, counts, None)
    assert (made.memory, made.disk, made.raised) == ({"get": 1000, "put": 1500, "query": 1000}, {"get": 90}, [])
    made = lowered(made, counts, "a check of each item")
    assert made.memory == {"get": 1003, "put": 1500, "query": 1002}
    assert [one.partition(": ")[2] for one in made.raised] == ["a check of each item"]


def test_elsewhere_the_command_says_that_it_counts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    assert budget.main([]) == 0
    assert "nothing was counted" in capsys.readouterr().out
