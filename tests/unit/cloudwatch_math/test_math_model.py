"""Random expressions of metric math give what obvious code gives;
random text gives a series or a refusal, and nothing else.
"""

import math
import random
from collections.abc import Callable, Mapping
from itertools import pairwise

import pytest

from hashrange.aws_services.operation import ServiceError
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, FakeMetrics, evaluated

Points = Mapping[int, float]
Model = float | Points
"""A number, or a series by the number of its minute."""
Spelled = tuple[str, Model]
"""An expression, and its value."""

COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda one, other: one < other,
    ">=": lambda one, other: one >= other,
    "==": lambda one, other: one == other,
    "&&": lambda one, other: bool(one and other),
    "OR": lambda one, other: bool(one or other),
}


def applied(operator: str, one: float, other: float) -> float:
    """What an operator makes of two numbers; NaN if it makes none."""
    if operator in COMPARED:
        return float(COMPARED[operator](one, other))
    if operator == "+":
        return one + other
    if operator == "-":
        return one - other
    if operator == "*":
        return one * other
    return one / other if other else math.nan


def combined(operator: str, one: Model, other: Model) -> Model:
    """What it makes of two values: a missing point is 0, and one that is no number is left out."""
    if isinstance(one, float) and isinstance(other, float):
        return applied(operator, one, other)
    times = sorted(set(() if isinstance(one, float) else one) | set(() if isinstance(other, float) else other))

    def at(value: Model, time: int) -> float:
        return value if isinstance(value, float) else value.get(time, 0.0)

    found = {time: applied(operator, at(one, time), at(other, time)) for time in times}
    divides_by_zero = {time for time in times if operator == "/" and at(other, time) == 0}
    return {time: value for time, value in found.items() if time not in divides_by_zero}


class Writer:
    """Writes random expressions."""

    def __init__(self, chance: random.Random, values: Mapping[str, list[float | None]]) -> None:
        self._chance = chance
        self._series = {
            name: {place: value for place, value in enumerate(given) if value is not None}
            for name, given in values.items()
        }
        self._minutes = max(map(len, values.values()))

    def series(self, depth: int) -> Spelled:
        """An expression that gives a series."""
        kind = self._chance.randrange(9) if depth else 0
        if kind <= 1:
            name = self._chance.choice(list(self._series))
            return name, self._series[name]
        if kind <= 4:
            return self._operation(depth)
        text, points = self.series(depth - 1)
        assert not isinstance(points, float)
        if kind == 5:
            return f"ABS({text})", {at: abs(value) for at, value in points.items()}
        if kind == 6:
            number = float(self._chance.randrange(-2, 3))
            return f"FILL({text}, {number})", {at: points.get(at, number) for at in range(self._minutes)}
        if kind == 7:
            pairs = pairwise(sorted(points))
            return f"DIFF({text})", {at: points[at] - points[before] for before, at in pairs}
        return self._choice(text, points, depth)

    def _operation(self, depth: int) -> Spelled:
        operator = self._chance.choice(["+", "-", "*", "/", *COMPARED])
        (one_text, one), (other_text, other) = self.series(depth - 1), self.any_value(depth - 1)
        if self._chance.random() < 0.5:
            (one_text, one), (other_text, other) = (other_text, other), (one_text, one)
        return f"({one_text} {operator} {other_text})", combined(operator, one, other)

    def _choice(self, text: str, points: Points, depth: int) -> Spelled:
        (then_text, then), (else_text, otherwise) = self.any_value(depth - 1), self.any_value(depth - 1)
        chosen: dict[int, float] = {}
        for at, truth in points.items():
            value = then if truth else otherwise
            if isinstance(value, float):
                chosen[at] = value
            elif at in value or truth:
                chosen[at] = value.get(at, 0.0)
        return f"IF({text}, {then_text}, {else_text})", chosen

    def any_value(self, depth: int) -> Spelled:
        """An expression that gives a series or a number."""
        kind = self._chance.randrange(4)
        if kind == 0:
            number = float(self._chance.randrange(5))
            return str(number), number
        if kind == 1 and depth > 0:
            text, points = self.series(depth - 1)
            assert not isinstance(points, float)
            if points:
                values = points.values()
                reduced = {"MAX": max(values), "MIN": min(values), "SUM": math.fsum(values)}
                name = self._chance.choice(list(reduced))
                return f"{name}({text})", reduced[name]
        return self.series(depth)


@pytest.mark.parametrize("seed", range(150))
def test_random_expressions(seed: int) -> None:
    chance = random.Random(seed)
    values = {
        name: [float(chance.randrange(-2, 5)) if chance.random() < 0.8 else None for _ in range(6)]
        for name in ("m1", "m2", "m3")
    }
    text, expected = Writer(chance, values).series(4)
    assert not isinstance(expected, float)
    (result,) = evaluated(FakeMetrics(values), text)
    found = {(at - BEGIN_SECONDS) // 60: value for at, value in result.values.items()}
    finite = {at: value for at, value in expected.items() if math.isfinite(value)}
    assert found == pytest.approx(finite), text


PIECES = [
    "m1",
    "m2",
    "+",
    "-",
    "*",
    "/",
    "^",
    "(",
    ")",
    "[",
    "]",
    ",",
    "1",
    "1e300",
    "AND",
    "<",
    "'Sum'",
    "'{Tests} m'",
]
CALLS = [
    "SUM(",
    "IF(",
    "FILL(",
    "SORT(",
    "METRICS(",
    "SLICE(",
    "SEARCH(",
    "STDDEV(",
    "CEIL(",
    "LOG(",
    "TIME_SERIES(",
    "AVG",
]


@pytest.mark.parametrize("seed", range(30))
def test_random_text_is_evaluated_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    metrics = FakeMetrics({"m1": [1.0, None, 1e308], "m2": [0.0, -1.0, None]})
    for _ in range(100):
        text = " ".join(chance.choice(PIECES + CALLS) for _ in range(chance.randrange(1, 9)))
        opened = text.count("(") - text.count(")")
        try:
            results = evaluated(metrics, text + ")" * chance.choice((0, max(opened, 0))))
        except ServiceError as error:
            assert error.code == "ValidationError"
            continue
        assert all(math.isfinite(value) for one in results for value in one.values.values())
