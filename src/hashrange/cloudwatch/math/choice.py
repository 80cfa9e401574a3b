"""What does IF choose? IF(condition, then, else) takes each point from `then` or `else`.

Source: CloudWatch user guide, *Using IF expressions*.
"""

from collections.abc import Sequence

from hashrange.cloudwatch.math.values import MathValue, TimeSeries, as_array, as_number


def choose(arguments: Sequence[MathValue]) -> MathValue:
    """The value of IF. A condition that is a series is looked at point by point, and only its points count.

    Where it is true, a point that is missing in `then` is 0; where it is false,
    one that is missing in `else` is left out.
    """
    condition, then = arguments[0], arguments[1]
    otherwise = arguments[2] if len(arguments) == 3 else None
    if isinstance(condition, float):
        if condition:
            return then
        return otherwise if otherwise is not None else _nothing_like(then)
    if isinstance(condition, TimeSeries):
        return _chosen(condition, then, otherwise)
    return tuple(_chosen(one, then, otherwise) for one in as_array(condition))


def _nothing_like(value: MathValue) -> MathValue:
    return value.of({}) if isinstance(value, TimeSeries) else ()


def _chosen(condition: TimeSeries, then: MathValue, otherwise: MathValue | None) -> TimeSeries:
    values: dict[int, float] = {}
    for at, truth in condition.values.items():
        value = _at(then if truth else otherwise, at)
        if value is None and truth:
            value = 0.0
        if value is not None:
            values[at] = value
    return condition.of(values)


def _at(value: MathValue | None, at: int) -> float | None:
    if value is None:
        return None
    if isinstance(value, TimeSeries):
        return value.values.get(at)
    return as_number(value)
