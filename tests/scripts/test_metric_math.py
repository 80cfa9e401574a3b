"""Expressions of metric math by cases: series and expressions → values."""

from hashrange.aws_services.operation import ServiceError
from tests.scripts.cases import case_test
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, FakeMetrics, evaluated


def evaluate(text: str) -> str:
    """Evaluate each line that is no series, with the series above it."""
    values: dict[str, list[float | None]] = {}
    shown = []
    for line in text.splitlines():
        name, sign, given = line.partition(" := ")
        if sign:
            values[name] = [None if one == "-" else float(one) for one in given.split()]
        else:
            shown.append(f"{line} → {_result(FakeMetrics(values), line)}")
    return "\n".join(shown)


def _result(metrics: FakeMetrics, expression: str) -> str:
    try:
        results = evaluated(metrics, expression)
    except ServiceError as error:
        assert error.code == "ValidationError"
        return error.message.removeprefix("Error in expression 'e1': ")
    if len(results) == 1:
        return _points(metrics, results[0].values, has_dropped=results[0].has_dropped)
    return (
        " | ".join(f"{one.label}: {_points(metrics, one.values, has_dropped=one.has_dropped)}" for one in results)
        or "no series"
    )


def _points(metrics: FakeMetrics, values: object, *, has_dropped: bool) -> str:
    assert isinstance(values, dict)
    times = range(BEGIN_SECONDS, metrics.end_seconds, 60)
    assert set(values) <= set(times)
    shown = " ".join(f"{values[at]:.6g}" if at in values else "-" for at in times)
    return f"{shown} (some dropped)" if has_dropped else shown


test_metric_math = case_test("metric_math.case", evaluate)
