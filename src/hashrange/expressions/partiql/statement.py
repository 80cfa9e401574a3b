"""How is a PartiQL statement compiled? Text and types of parameters become a Statement, which is cached.

Order of checks: no lone surrogates in the text → one type per parameter → syntax → not too few parameters → their
values → static checks. Further parameters than the text has `?` are ignored. Tables are unknown here: operations find
out which conditions fix a key. Source: service behaviour, captures to 23 October 2026; the order is partly unconfirmed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from hashrange.errors import Malformed, RequestFault
from hashrange.expressions.cache import Cache
from hashrange.expressions.checks import check_disjoint, check_operator_count, check_paths, misuse_fault
from hashrange.expressions.condition import (
    CONDITION_FUNCTIONS,
    CompiledCondition,
    ValueCheck,
    check_terms,
    run_value_checks,
)
from hashrange.expressions.partiql.literals import Build, compile_build, compile_build_map
from hashrange.expressions.partiql.parser import read_statement
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.tree import (
    Constant,
    Data,
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    MapData,
    OrderAttribute,
    Parameter,
    Returning,
    SelectStatement,
    Tree,
    UpdateStatement,
)
from hashrange.expressions.predicates import compile_conditions
from hashrange.expressions.projection import CompiledProjection
from hashrange.expressions.tree import And, Clauses, ConditionNode, DocumentPath, FunctionCall
from hashrange.expressions.update import CompiledUpdate, compile_clauses
from hashrange.expressions.update_terms import check_actions
from hashrange.items.paths import resolve_path
from hashrange.items.steps import look
from hashrange.items.types import TYPE_NAMES, Item, Value
from hashrange.items.values import check_value
from hashrange.messages.partiql import MISSING_COMPARED, PARAMETER_COUNT, UNRECOGNIZED_FUNCTION

RawParameters = Sequence[dict[str, Any]]
"""A request's parameters, not yet checked."""
StatementKind = Literal["SELECT", "INSERT", "UPDATE", "DELETE", "EXISTS"]

_KINDS: dict[type, StatementKind] = {
    SelectStatement: "SELECT",
    InsertStatement: "INSERT",
    UpdateStatement: "UPDATE",
    DeleteStatement: "DELETE",
    ExistsStatement: "EXISTS",
}
_NO_PARAMETERS: RawParameters = ()
_UPDATE_FUNCTIONS = ("list_append",)


class ValueTable:
    """The values of a statement's value tokens: constants, parameters, and values built from parameters."""

    __slots__ = ("built", "constants", "direct")

    def __init__(self, data: dict[str, Data]) -> None:
        self.constants: dict[str, Value] = {}
        self.direct: list[tuple[str, int]] = []
        """Tokens that stand for parameters, each with the position of its parameter."""
        self.built: list[tuple[str, Build]] = []
        """Tokens of lists, tuples and bags that contain parameters, each with the function that builds its value."""
        for token, one in data.items():
            if isinstance(one, Constant):
                self.constants[token] = one.value
            elif isinstance(one, Parameter):
                self.direct.append((token, one.position))
            else:
                self.built.append((token, compile_build(one)))

    def fill(self, parameters: RawParameters | None) -> dict[str, Value]:
        """Return the canonical value for each token that stands for a value in the statement's tree.

        If one is faulty, raises the fault of the request's first faulty parameter, or if there is none, of this value.
        """
        if parameters is None:
            return self.constants
        try:
            return self._fill(parameters)
        except RequestFault:
            check_statement_parameters(parameters)
            raise

    def _fill(self, parameters: RawParameters) -> dict[str, Value]:
        values = self.constants.copy()
        for token, position in self.direct:
            value = parameters[position]
            text = value.get("S")
            is_plain = text.__class__ is str and len(value) == 1 and text.isascii()  # valid as it is
            values[token] = value if is_plain else check_value(value)[0]
        for token, build in self.built:
            values[token] = check_value(build(parameters))[0]
        return values


class Statement:
    """A compiled statement. Its conditions stay a tree, because the table determines which of them are on keys."""

    def __init__(
        self, tree: Tree, reader: StatementReader, value_table: ValueTable, value_checks: tuple[ValueCheck, ...]
    ) -> None:
        self.kind = _KINDS[type(tree)]
        body = tree.select if isinstance(tree, ExistsStatement) else tree
        self.table_name, self.index_name = body.target
        self.where: ConditionNode | None = None if isinstance(body, InsertStatement) else body.where
        self.order: tuple[OrderAttribute, ...] = body.order if isinstance(body, SelectStatement) else ()
        self.returning: Returning | None = (
            body.returning if isinstance(body, UpdateStatement | DeleteStatement) else None
        )
        self.projection: CompiledProjection | None = None
        """The projection of a SELECT; None for `SELECT *` and for other statements."""
        if isinstance(body, SelectStatement) and body.paths:
            self.projection = _compile_paths(body.paths)
        self.projection_fault = body.fault if isinstance(body, SelectStatement) else None
        """The fault of a SELECT that computes values, otherwise None; reported only once its table is found."""
        self.update: CompiledUpdate | None = None
        if isinstance(body, UpdateStatement):
            self.update = compile_clauses(body.clauses, [*body.clauses.targets, *_operand_paths(body.clauses)])
        self.build_item: Callable[[RawParameters], dict[str, Any]] | None = None
        """For INSERT, a function: parameters → the item, on which the caller must call `check_item`; otherwise None."""
        if isinstance(body, InsertStatement):
            self.build_item = _compile_item(body.item)

        self.value_table = value_table
        self.value_checks = value_checks
        """Checks of the request's values, which also run for each request that finds the statement in the cache."""
        self._conditions = reader.conditions
        self.attached_values: dict[object, Any] = {}
        """A function of tables and statements → the last table used with this statement, and the result for both."""

    def values(self, parameters: RawParameters | None) -> dict[str, Value]:
        """Return token → canonical value, for literals and parameters;
        raises faults of these, then of `value_checks`.
        """
        values = self.value_table.fill(parameters)
        if self.value_checks:
            run_value_checks("", self.value_checks, values)
        return values

    def condition(self, parts: Sequence[ConditionNode]) -> CompiledCondition | None:
        """Compile `parts` joined by AND; None if there are none.

        Parts are conditions of WHERE, or FunctionCall nodes that the caller adds, whose operands are only paths.
        """
        if not parts:
            return None
        root = parts[0] if len(parts) == 1 else And(tuple(parts))
        known = [*self._conditions, *[part for part in parts if isinstance(part, FunctionCall)], root]
        return CompiledCondition(
            "", compile_conditions(known, root), paths=[path.elements for path in _condition_paths(root)]
        )


_CACHE: Cache[Statement] = Cache()
_cached: Callable[[tuple[object, ...]], Statement | None] = _CACHE.entries.get


def compile_statement(text: str, parameters: RawParameters | None) -> Statement:
    """Compile a statement for parameters of the types of `parameters`; raises ValidationException or Malformed.

    Parameter values are checked here only if the statement is not cached. `Statement.values` checks them for every
    request; the caller must call `check_item` on the item of an INSERT. Cached: a hit costs about 0.5 µs.
    """
    if parameters is not None and len(parameters) > len(text):
        parameters = parameters[: len(text)]  # no walk over very many parameters that the text cannot use
    key: tuple[object, ...] = (text,) if parameters is None else (text, *map(tuple, parameters))
    statement = _cached(key)
    if statement is None:
        look()  # may give way, because compiling a long statement takes time
        statement = _compile(text, _NO_PARAMETERS if parameters is None else parameters)
        _CACHE.add(key, statement)
    return statement


def _compile(text: str, parameters: RawParameters) -> Statement:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Malformed from None
    types = []
    for parameter in parameters:
        type_name = next(iter(parameter), None)
        if len(parameter) != 1 or type_name not in TYPE_NAMES:
            check_statement_parameters(parameters)
            raise Malformed
        types.append(type_name)
    reader = StatementReader(text, tuple(types))
    tree = read_statement(reader)
    if reader.parameter_count > len(parameters):
        raise RequestFault(PARAMETER_COUNT)
    table = ValueTable(reader.data)
    return Statement(tree, reader, table, _check_statement(reader, tree, table.fill(parameters)))


def check_statement_parameters(parameters: RawParameters) -> None:
    """Raise the fault of the request's first faulty parameter, if any."""
    for parameter in parameters:
        check_value(parameter)


def _compile_item(data: Data) -> Callable[[RawParameters], dict[str, Any]]:
    if isinstance(data, MapData):
        return compile_build_map(data)
    assert isinstance(data, Constant)
    item = data.value["M"]
    return lambda _parameters: item


# --- paths that conditions and operands read ------------------------------------------------------


def _condition_paths(root: Any) -> Iterable[DocumentPath]:
    """All document paths in a tree of conditions or operands, whose nodes are tuples of nodes."""
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, DocumentPath):
            yield node
        elif isinstance(node, tuple):
            pending.extend(node)


def _operand_paths(clauses: Clauses) -> list[DocumentPath]:
    """Paths that an update's SET actions read."""
    return [path for action in clauses.sets for path in _condition_paths(action.value)]


# --- static checks ------------------------------------------------------------------------------


def _check_statement(reader: StatementReader, tree: Tree, constants: dict[str, Value]) -> tuple[ValueCheck, ...]:
    """Raise the first static fault; `constants`: value token → its value in the request that compiles the statement.

    Order: MISSING that is compared → number of operators → unknown functions → misplaced functions of SET values →
    paths → conditions, in the order of the text → updates. The order is certain for MISSING and among conditions.
    Returns the checks to repeat on the values of each later request.
    """
    if reader.compares_missing:
        raise RequestFault(MISSING_COMPARED)
    check_operator_count(reader)
    for placed in reader.calls:
        function = placed.call.function
        if function not in CONDITION_FUNCTIONS and function not in _UPDATE_FUNCTIONS:
            raise RequestFault(UNRECOGNIZED_FUNCTION.format(function=function, place=placed.place))
    _check_placement(reader)
    check_paths(reader)
    first_refusal = reader.first_refusal
    if first_refusal is not None:
        check_terms(reader.kind, reader.conditions[: first_refusal[0]], constants)
        raise first_refusal[1]
    checks = check_terms(reader.kind, reader.conditions, constants)
    if isinstance(tree, UpdateStatement):
        check_disjoint(reader.kind, tree.clauses.targets)
        check_actions(reader.kind, tree.clauses)
    return checks


def _check_placement(reader: StatementReader) -> None:
    """Refuse calls except size() as arguments in a SET value; reports the call whose `)` comes first."""
    wrong = {id(call) for call in reader.operand_calls if call.function != "size"}
    for call, _ in reader.calls:
        if id(call) in wrong:
            raise misuse_fault(reader.kind, call.function)


# --- the paths of a SELECT ----------------------------------------------------------------------


def _compile_paths(paths: Sequence[DocumentPath]) -> CompiledProjection:
    """Compile a SELECT's paths to a projection, which returns each path's value under the last name of its path.

    `SELECT a.b, c[0]` returns attributes `b` and `c[0]`: a flat result, unlike a ProjectionExpression's. Of paths with
    the same last name, the last that has a value counts. Source: what clients of the service read back (unconfirmed).
    """
    projection = CompiledProjection([path.elements[:1] for path in paths])
    nested = [str(path.elements[0]) for path in paths if len(path.elements) > 1]
    if not nested:
        return projection
    places = [(_last_name(path.elements), path.elements) for path in paths]

    def project(item: Item) -> Item:
        projected: Item = {}
        for name, elements in places:
            value = resolve_path(item, elements)
            if value is not None:
                projected[name] = value
        return projected

    projection.project = project
    projection.nested_attributes = frozenset(nested)
    return projection


def _last_name(elements: tuple[str | int, ...]) -> str:
    """A path's last name with the indices after it, such as `c[0]`."""
    positions = ""
    for element in reversed(elements):
        if isinstance(element, str):
            return element + positions
        positions = f"[{element}]{positions}"
    raise AssertionError(elements)
