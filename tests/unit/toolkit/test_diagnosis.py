"""What the checks of a table say where a server tells less than AWS and Hashrange do."""

from collections.abc import Mapping

from hashrange.toolkit.diagnosis import diagnose
from hashrange.toolkit.diagnosis_evidence import TableEvidence
from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.sampling import SampledItems
from hashrange.toolkit.table_metrics import Metric, TimeWindow, of_operation, of_table
from hashrange.toolkit.verdict import CheckVerdict

DAY = 86_400
TABLE = {"TableName": "Orders", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}


class Sums(dict[Metric, dict[float, float]]):
    """The sums of metrics; those of all others are empty."""

    def __missing__(self, metric: Metric) -> dict[float, float]:
        return {}


def verdicts_of(sums: Mapping[Metric, float]) -> dict[str, CheckVerdict]:
    """The verdict of each check of a table with these sums, 100 items of 4 KB, and nothing else that is known."""
    seen = TableEvidence(TABLE, TimeWindow(0, 14 * DAY))
    seen.gather("metrics", lambda: Sums({metric: {0.0: value} for metric, value in sums.items()}))
    items = tuple({"pk": {"S": f"{number:03}"}, "text": {"S": "x" * 4000}} for number in range(100))
    seen.gather("sample", lambda: SampledItems(items, 50.0))
    seen.gather("recovery", refused)
    return {one.check: one for one in diagnose(seen)}


def refused() -> bool:
    raise ToolkitFailure("this caller may not do that.")


def requests(operation: str) -> Metric:
    return of_operation("SuccessfulRequestLatency", "Orders", operation, "SampleCount")


def test_throttling_without_a_reason_is_told() -> None:
    verdict = verdicts_of({of_table("ReadThrottleEvents", "Orders"): 5.0})["throttling"]
    assert (verdict.state, verdict.evidence) == ("found", "5 read events of the table were throttled.")
    assert verdict.cause == "The server does not tell which limit was met."


def test_what_a_caller_may_not_see_is_unknown() -> None:
    verdict = verdicts_of({})["recovery"]
    assert (verdict.state, verdict.evidence) == ("unknown", "this caller may not do that.")


def test_reads_of_single_items_are_no_filter() -> None:
    units = of_table("ConsumedReadCapacityUnits", "Orders")
    assert verdicts_of({units: 5000.0, requests("Query"): 10.0})["filters"].state == "found"
    assert verdicts_of({units: 5000.0, requests("Query"): 10.0, requests("GetItem"): 5000.0})["filters"].state == "ok"
    assert verdicts_of({units: 5000.0, requests("BatchGetItem"): 50.0})["filters"].state == "ok"


def test_statements_hide_what_a_filter_returns() -> None:
    units = of_table("ConsumedReadCapacityUnits", "Orders")
    verdict = verdicts_of({units: 5000.0, requests("ExecuteStatement"): 10.0})["filters"]
    assert verdict.state == "unknown"
    assert verdict.evidence.startswith("Statements of PartiQL read this table")
