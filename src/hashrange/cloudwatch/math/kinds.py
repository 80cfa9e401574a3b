"""What will an expression of metric math give: a number, a text, a time series or an array?
Told from its steps alone, without any data.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from hashrange.cloudwatch.math.functions import REDUCING_FUNCTIONS
from hashrange.cloudwatch.math.program import MathProgram, MathStep

MathKind = Literal["number", "text", "series", "array"]

_STEPS: Mapping[str, MathKind] = {"number": "number", "text": "text", "list": "array"}
"""Steps that give the same kind whatever they take."""
_FIXED: Mapping[str, MathKind] = {
    "FIRST": "series",
    "INSIGHT_RULE_METRIC": "series",
    "LAST": "series",
    "METRICS": "array",
    "METRIC_COUNT": "number",
    "PERIOD": "number",
    "REMOVE_EMPTY": "array",
    "SEARCH": "array",
    "SLICE": "array",
    "SORT": "array",
    "TIME_SERIES": "series",
}
"""Functions that give the same kind whatever they take. All others give the kind of their first argument."""


def math_kind_of(program: MathProgram, known: Mapping[str, MathKind]) -> MathKind:
    """The kind of an expression's value. `known`: kinds of the queries that it may name."""
    stack: list[MathKind] = []
    for step in program:
        count = 2 if step.kind == "operate" else 1 if step.kind == "negate" else step.value_count
        place = len(stack) - count
        values, stack[place:] = stack[place:], []
        stack.append(_kind_of_step(step, values, known))
    return stack[-1]


def _kind_of_step(step: MathStep, values: Sequence[MathKind], known: Mapping[str, MathKind]) -> MathKind:
    if step.kind in _STEPS:
        return _STEPS[step.kind]
    if step.kind == "id":
        return known[step.text]
    if step.kind != "call":
        return _widest(values)
    name = step.text
    if name in _FIXED:
        return _FIXED[name]
    if name == "IF":
        return values[0] if values[0] != "number" else _widest(values[1:])
    if name in REDUCING_FUNCTIONS or name == "DATAPOINT_COUNT":
        return "number" if len(values) == 1 and values[0] == "series" else "series"
    return values[0]


def _widest(values: Sequence[MathKind]) -> MathKind:
    """The kind that values have together: an array if one of them is one, else a series."""
    return next((kind for kind in ("array", "series") if kind in values), values[0])
