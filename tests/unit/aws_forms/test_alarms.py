"""Alarms in three forms: what is put in one form is described in all, and what JSON cannot say is refused."""

from typing import Any

import pytest

from hashrange.testing.database import Database
from tests.unit.aws_forms.test_forms import FORMS, ask

ALARM = {"AlarmName": "load", "EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold"}
METRIC = {"Namespace": "own", "MetricName": "Load", "Statistic": "Sum", "Period": 60}
QUERIES: list[dict[str, Any]] = [
    {
        "Id": "m1",
        "MetricStat": {
            "Metric": {"Namespace": "own", "MetricName": "Load", "Dimensions": [{"Name": "Shop", "Value": "Ulm"}]},
            "Period": 60,
            "Stat": "Sum",
        },
        "ReturnData": False,
    },
    {"Id": "e1", "Expression": "m1 * 2", "Label": "twice"},
]


def described(database: Database, form: str) -> Any:
    status, found, _ = ask(database, form, "DescribeAlarms", {"AlarmNames": ["load"]})
    assert status == 200
    (alarm,) = found["MetricAlarms"]
    return alarm


@pytest.mark.parametrize("form", FORMS)
def test_an_alarm_on_metric_math_is_put_in_every_form(database: Database, form: str) -> None:
    status, error, _ = ask(database, form, "PutMetricAlarm", ALARM | {"Metrics": QUERIES})
    assert status == 200, error
    assert described(database, "json")["Metrics"] == QUERIES
    assert described(database, "cbor")["Metrics"] == QUERIES
    first, second = described(database, "query")["Metrics"]
    assert first["MetricStat"]["Metric"]["Dimensions"] == [{"Name": "Shop", "Value": "Ulm"}]
    assert (first["ReturnData"], second["Label"]) == ("false", "twice")


@pytest.mark.parametrize("form", FORMS)
def test_a_fault_in_a_query_of_an_alarm_has_its_place(database: Database, form: str) -> None:
    status, _, code = ask(database, form, "PutMetricAlarm", ALARM | {"Metrics": [{"Expression": "1"}]})
    assert (status, code) == (400, "ValidationError")


@pytest.mark.parametrize("extra", [{"a b>": "x"}, {"More": float("nan")}, {"More": [1, {"a": None}]}])
def test_members_that_no_query_has_are_not_kept(database: Database, extra: dict[str, Any]) -> None:
    queries = [QUERIES[0], QUERIES[1] | extra]
    status, error, _ = ask(database, "cbor", "PutMetricAlarm", ALARM | {"Metrics": queries})
    assert status == 200, error
    for form in FORMS:
        assert len(described(database, form)["Metrics"]) == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("threshold", ["NaN", "Infinity", "-Infinity"])
def test_a_threshold_is_a_finite_number(database: Database, form: str, threshold: str) -> None:
    """JSON could neither reply with another one, nor keep it."""
    ask(database, "json", "PutMetricAlarm", ALARM | METRIC)
    members = ALARM | METRIC | {"Threshold": threshold if form == "json" else float(threshold)}
    status, _, code = ask(database, form, "PutMetricAlarm", members)
    assert (status, code) == (400, "ValidationError")
    assert described(database, "json")["Threshold"] == 1.0


def test_texts_of_any_characters_are_described_in_xml(database: Database) -> None:
    """XML has no control characters, and two others that it lacks made the reply unreadable."""
    text = "<a>&\r\n\tb\x01\x7f\u0085\ufffe\uffff\U0001f600"
    status, _, _ = ask(database, "json", "PutMetricAlarm", ALARM | METRIC | {"AlarmDescription": text})
    assert status == 200
    assert described(database, "json")["AlarmDescription"] == text
    shown = text.replace("\x01", "\ufffd").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    assert described(database, "query")["AlarmDescription"] == shown
