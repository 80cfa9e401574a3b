"""Is a parsed expression valid? The static checks, with the service's messages.

Each check raises RequestFault for the first fault in text order (calls in the order of their closing parentheses;
`check_disjoint` in its own order).
Compilers call the checks in the service's order, which differs by kind of expression. Source: service behaviour,
captures to Oct 2026.
"""

from collections.abc import Iterable
from typing import Protocol

from hashrange.aws_services.reserved_words import RESERVED_WORDS
from hashrange.errors import RequestFault
from hashrange.expressions.lexer import fault
from hashrange.expressions.parser import ExpressionParser
from hashrange.expressions.tree import Arithmetic, DocumentPath, FunctionCall, Node, Operand, ValueToken
from hashrange.limits import EXPRESSION_OPERATORS_MAX, LIST_INDEX_MAX, PATH_DEPTH_MAX
from hashrange.messages import expressions as say

PARTIQL = ""
"""The `kind` of a statement: its messages name no parameter."""
_FUNCTION_TYPES = {
    "size": "N",
    "list_append": "L",
    **dict.fromkeys(("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains"), "BOOL"),
}
"""Function → type of its value; only PartiQL allows those of type BOOL as operands."""


class ParsedFacts(Protocol):
    """Facts that the parsers of expressions and PartiQL statements record for the static checks."""

    kind: str
    paths: list[DocumentPath]
    operator_count: int


def check_parentheses(parser: ExpressionParser) -> None:
    """Refuse doubled parentheses."""
    if parser.has_redundant_parentheses:
        raise fault(parser.kind, say.REDUNDANT_PARENTHESES)


def check_operator_count(parser: ParsedFacts) -> None:
    """Refuse more operators and functions together than an expression may have."""
    if parser.operator_count > EXPRESSION_OPERATORS_MAX:
        raise fault(parser.kind, say.TOO_MANY_OPERATORS.format(count=parser.operator_count))


def check_functions_known(parser: ExpressionParser, known: Iterable[str]) -> None:
    """Refuse calls of functions not in `known`."""
    for call in parser.calls:
        if call.function not in known:
            raise fault(parser.kind, say.UNKNOWN_FUNCTION.format(function=call.function))


def misuse_fault(kind: str, function: str) -> RequestFault:
    """The fault of a function that is not allowed in its place, such as size() as a condition."""
    return fault(kind, say.FUNCTION_MISUSED.format(function=function))


def check_reserved(parser: ExpressionParser) -> None:
    """Refuse reserved words as attribute names, unless written as a `#token`."""
    for name in parser.bare_names:
        if name.upper() in RESERVED_WORDS:
            raise fault(parser.kind, say.RESERVED_WORD.format(word=name))


def check_paths(parser: ParsedFacts) -> None:
    """Refuse paths that are too deep and list indices that are too large."""
    for path in parser.paths:
        depth = len(path.elements) - 1
        if depth > PATH_DEPTH_MAX:
            raise fault(parser.kind, say.PATH_TOO_DEEP.format(count=depth))
        for element in path.elements:
            if isinstance(element, int) and element > LIST_INDEX_MAX:
                raise fault(parser.kind, say.INDEX_OUT_OF_RANGE.format(index=element))


def check_name_defined(kind: str, path: DocumentPath) -> None:
    """Refuse a path with a `#token` that ExpressionAttributeNames does not define."""
    if path.undefined is not None:
        raise fault(kind, say.UNDEFINED_NAME.format(name=path.undefined))


def check_value_defined(kind: str, value: ValueToken) -> None:
    """Refuse a `:token` that ExpressionAttributeValues does not define."""
    if value.type_name is None:
        raise fault(kind, say.UNDEFINED_VALUE.format(token=value.token))


def check_operands_defined(kind: str, operands: Iterable[Operand]) -> None:
    """Refuse undefined `#tokens` and `:tokens` in the operands, left to right, function arguments included."""
    pending: list[Operand] = list(operands)[::-1]
    while pending:
        operand = pending.pop()
        if isinstance(operand, DocumentPath):
            check_name_defined(kind, operand)
        elif isinstance(operand, ValueToken):
            check_value_defined(kind, operand)
        elif isinstance(operand, FunctionCall):
            pending.extend(operand.operands[::-1])
        else:
            pending.append(operand.right)
            pending.append(operand.left)


def check_operand_count(kind: str, call: FunctionCall, count: int) -> None:
    """Refuse a call that does not have exactly `count` operands."""
    if len(call.operands) != count:
        raise fault(kind, say.OPERAND_COUNT.format(operator=call.function, count=len(call.operands)))


def path_required_fault(kind: str, operator: str) -> RequestFault:
    """The fault of an operand that is no document path, although `operator` requires one."""
    return fault(kind, say.PATH_REQUIRED.format(operator=operator))


def check_distinct(kind: str, operator: str, first: Node, others: Iterable[Node]) -> None:
    """Refuse an operator or function whose first operand is a document path that another operand repeats."""
    if isinstance(first, DocumentPath):
        for other in others:
            if isinstance(other, DocumentPath) and other.elements == first.elements:
                raise fault(kind, say.SAME_OPERAND.format(operator=operator, path=render_path(first.elements)))


def operand_type(operand: Node) -> str | None:
    """The type of an operand's value; None if only the item determines the type, or for an undefined `:token`."""
    if isinstance(operand, ValueToken):
        return operand.type_name
    if isinstance(operand, FunctionCall):
        return _FUNCTION_TYPES.get(operand.function)
    return "N" if isinstance(operand, Arithmetic) else None


def check_operand_type(kind: str, operator: str, operand: Node, allowed: Iterable[str]) -> None:
    """Refuse an operand whose type is known without the item (`operand_type`) and is not in `allowed`."""
    type_name = operand_type(operand)
    if type_name is not None and type_name not in allowed:
        raise fault(kind, say.OPERAND_TYPE.format(operator=operator, type_name=type_name))


def render_path(elements: tuple[str | int, ...]) -> str:
    """The path as the service's messages quote it: `[a, b, [1]]` for `a.b[1]`."""
    return "[" + ", ".join([f"[{e}]" if isinstance(e, int) else e for e in elements]) + "]"


class _PathNode:
    """A node in the tree of the document paths that `check_disjoint` has checked so far."""

    __slots__ = ("by_index", "by_name", "first", "is_end", "steps")

    def __init__(self, first: DocumentPath) -> None:
        self.first = first
        """The first path through this node."""
        self.is_end = False
        self.steps: dict[str | int, _PathNode] = {}
        self.by_name: DocumentPath | None = None
        """The first path that continues from this node with a name."""
        self.by_index: DocumentPath | None = None


def check_disjoint(kind: str, paths: Iterable[DocumentPath]) -> None:
    """Refuse two paths of which one equals or begins the other; if none exist, two that use one value as map and list.

    The time is linear in the number of elements of all paths.
    """
    conflict: tuple[DocumentPath, DocumentPath] | None = None
    root: _PathNode | None = None
    for path in paths:
        if root is None:
            root = _PathNode(path)
        step = root
        for element in path.elements:
            rival = step.by_index if isinstance(element, str) else step.by_name
            if rival is not None and conflict is None:
                conflict = (rival, path)
            if isinstance(element, str):
                step.by_name = step.by_name or path
            else:
                step.by_index = step.by_index or path
            following = step.steps.get(element)
            if following is None:
                following = step.steps[element] = _PathNode(path)
            elif following.is_end:
                raise _paths_fault(kind, say.PATHS_OVERLAP, following.first, path)
            step = following
        if step.steps:
            raise _paths_fault(kind, say.PATHS_OVERLAP, step.first, path)
        step.is_end = True
    if conflict is not None:
        raise _paths_fault(kind, say.PATHS_CONFLICT, *conflict)


def _paths_fault(kind: str, message: str, one: DocumentPath, two: DocumentPath) -> RequestFault:
    return fault(kind, message.format(one=render_path(one.elements), two=render_path(two.elements)))
