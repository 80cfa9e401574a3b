"""How is an expression of metric math read? `100 * (m1 / m2)`, `IF(m1 > 5, m1, 0)` → steps for a stack:
each takes the values of earlier ones.

`100 * (m1 / m2)` becomes 100, m1, m2, /, *. So no expression, however long, needs recursion to be evaluated. The steps
alone also tell, without any data, which kind of value the expression will give.
Source: CloudWatch user guide, *Metric math syntax and functions*.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from hashrange.cloudwatch.limits import METRIC_EXPRESSION_LENGTH_MAX, METRIC_MATH_LEVELS_MAX
from hashrange.cloudwatch.math.functions import ARGUMENT_COUNTS, REDUCING_FUNCTIONS, REFUSED_FUNCTIONS, check_count
from hashrange.cloudwatch.math.values import MathError
from hashrange.items.steps import spend
from hashrange.messages import metric_queries as sentences

StepKind = Literal["number", "text", "id", "negate", "operate", "list", "call"]


class MathStep(NamedTuple):
    """One step of a program."""

    kind: StepKind
    text: str
    """Digits, text, id, operator, or name of the function."""
    value_count: int = 0
    """How many values a list or a function takes."""


MathProgram = tuple[MathStep, ...]

_BINDING: Mapping[str, int] = {
    sign: level
    for level, signs in enumerate(
        (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/"), ("^",))
    )
    for sign in signs
}
"""Operators, with a greater number for those that bind more.
Those of one level go from left to right. (unconfirmed: their order)"""
_WORDS: Mapping[str, str] = {"OR": "||", "AND": "&&"}
_KEYWORDS = frozenset({"ASC", "DESC", "AVG", "MIN", "MAX", "SUM", "LINEAR", "REPEAT"})
"""Names in capitals that are arguments of SORT and FILL."""
_next_token = re.compile(
    r"""\s*(?:
        (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
        | '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)"
        | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
        | (?P<sign>\|\||&&|==|!=|<=|>=|[-+*/^<>(),\[\]])
    )""",
    re.VERBOSE | re.DOTALL,
).match

PROGRAMS_KEPT = 64
"""Programs that are kept; the longest expression's takes some 140 KB."""


class _Token(NamedTuple):
    kind: Literal["number", "text", "name", "sign", "end"]
    text: str


@lru_cache(PROGRAMS_KEPT)
def read_expression(text: str) -> MathProgram:
    """The program of an expression; that of an alarm is asked for each minute. Raises MathError."""
    if len(text) > METRIC_EXPRESSION_LENGTH_MAX:
        raise MathError(sentences.EXPRESSION_LONG.format(most=METRIC_EXPRESSION_LENGTH_MAX))
    if re.match(r"\s*SELECT\s", text, re.IGNORECASE):
        raise MathError(sentences.NOT_INSIGHTS)
    reader = _Reader(list(_tokens(text)))
    reader.read_operation(0, 0)
    reader.expect_end()
    return tuple(reader.steps)


def ids_in(program: MathProgram) -> Iterator[str]:
    """Ids of the queries that the expression names."""
    return (step.text for step in program if step.kind == "id")


def _tokens(text: str) -> Iterator[_Token]:
    place, end = 0, len(text.rstrip())
    while place < end:
        spend(2)
        match = _next_token(text, place)
        if match is None:
            raise MathError(sentences.SYNTAX_AT.format(position=place + 1))
        place = match.end()
        if match["number"] is not None:
            yield _Token("number", match["number"])
        elif match["name"] is not None:
            word = match["name"]
            yield _Token("sign", _WORDS[word]) if word in _WORDS else _Token("name", word)
        elif match["sign"] is not None:
            yield _Token("sign", match["sign"])
        elif match["single"] is not None:
            yield _Token("text", match["single"].replace("\\'", "'"))
        else:
            yield _Token("text", match["double"].replace('\\"', '"'))
    yield _Token("end", "end")


class _Reader:
    """Reads tokens from left to right; a step is added once its operands have been."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.steps: list[MathStep] = []
        self._tokens = tokens
        self._place = 0

    def _take(self, sign: str) -> bool:
        token = self._tokens[self._place]
        if token.kind == "sign" and token.text == sign:
            self._place += 1
            return True
        return False

    def _wrong(self, expected: str) -> MathError:
        found = self._tokens[self._place].text[:100]
        return MathError(sentences.SYNTAX_EXPECTED.format(expected=expected, found=found))

    def expect_end(self) -> None:
        """Raise MathError unless all tokens have been read."""
        if self._tokens[self._place].kind != "end":
            raise self._wrong(sentences.EXPECTED_END)

    def read_operation(self, least: int, depth: int) -> None:
        """Read operands, with operators between them that bind at least so much."""
        if depth > METRIC_MATH_LEVELS_MAX:
            raise MathError(sentences.SYNTAX_LEVELS.format(most=METRIC_MATH_LEVELS_MAX))
        self._read_operand(depth)
        while True:
            token = self._tokens[self._place]
            binding = _BINDING.get(token.text, -1) if token.kind == "sign" else -1
            if binding < least:
                return
            self._place += 1
            self.read_operation(binding + 1, depth + 1)
            self.steps.append(MathStep("operate", token.text))

    def _read_operand(self, depth: int) -> None:
        is_negative = False
        while (minus := self._take("-")) or self._take("+"):
            is_negative ^= minus
        self._read_value(depth)
        if is_negative:
            self.steps.append(MathStep("negate", "-"))

    def _read_value(self, depth: int) -> None:
        if self._take("("):
            self.read_operation(0, depth + 1)
            if not self._take(")"):
                raise self._wrong(")")
            return
        if self._take("["):
            self.steps.append(MathStep("list", "", self._read_members("]", depth)))
            return
        token = self._tokens[self._place]
        if token.kind not in {"number", "text", "name"}:
            raise self._wrong(sentences.EXPECTED_VALUE)
        self._place += 1
        if token.kind == "name":
            self._read_name(token.text, depth)
        else:
            self.steps.append(MathStep("number" if token.kind == "number" else "text", token.text))

    def _read_name(self, name: str, depth: int) -> None:
        if self._take("("):
            if name in REFUSED_FUNCTIONS:
                raise MathError(sentences.FUNCTION_REFUSED.format(name=name))
            if name not in ARGUMENT_COUNTS:
                raise MathError(sentences.NO_SUCH_FUNCTION.format(name=name[:100]))
            step = MathStep("call", name, self._read_members(")", depth))
            check_count(name, step.value_count)
            self.steps.append(step)
        elif name[0].islower():
            self.steps.append(MathStep("id", name))
        elif name in _KEYWORDS:
            self.steps.append(MathStep("text", name))
        else:
            raise MathError(sentences.SYNTAX_NAME.format(name=name[:100]))

    def _read_members(self, end: str, depth: int) -> int:
        """Read members up to a closing sign; returns how many there are."""
        if self._take(end):
            return 0
        count = 0
        while not count or self._take(","):
            self.read_operation(0, depth + 1)
            count += 1
        if not self._take(end):
            raise self._wrong(end)
        return count


# --- kinds of values ------------------------------------------------------------------------------


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
