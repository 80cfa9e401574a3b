"""How are a WHERE clause and a SET value parsed? By operator precedence, into the nodes of `expressions.tree`.

From loose to tight:

    OR    AND    NOT    = <> != < <= > >= BETWEEN IN IS    + -

`= MISSING` is attribute_not_exists, `!=` is `<>`. Operators that the service lacks (LIKE, ||, arithmetic in conditions
…) are refused by name. Source: service behaviour, captures to Oct 2026; for expected tokens and their messages
PartiQL's reference grammar, which agrees with the captures.
"""

from hashrange.errors import RequestFault
from hashrange.expressions.lexer import END, NAME, SYMBOL
from hashrange.expressions.partiql.lexer import KEYWORD, QUOTED
from hashrange.expressions.partiql.literals import begins_data, read_data
from hashrange.expressions.partiql.reader import PlacedCall, StatementReader
from hashrange.expressions.partiql.type_conditions import read_boolean_comparison, read_type_test
from hashrange.expressions.tree import (
    And,
    Arithmetic,
    Between,
    Comparison,
    ConditionNode,
    DocumentPath,
    FunctionCall,
    Membership,
    Node,
    Not,
    Operand,
    Or,
)
from hashrange.items.steps import spend
from hashrange.messages.partiql import (
    EXPECTED_AFTER_AND,
    EXPECTED_KEYWORD,
    MISSING_RIGHT_SIDE,
    UNEXPECTED_OPERATOR,
    UNEXPECTED_TERM,
    UNSUPPORTED_OPERATION,
)

_OR, _AND, _NOT, _COMPARE, _ADD = 1, 2, 3, 4, 5
_COMPARISONS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">="))
_WORD_OPERATORS = {"OR": _OR, "AND": _AND, "BETWEEN": _COMPARE, "IN": _COMPARE, "IS": _COMPARE, "NOT": _COMPARE}
_CALLABLE_KEYWORDS = frozenset(
    """
    AVG BIT_LENGTH CHARACTER_LENGTH CHAR_LENGTH COUNT EXISTS LOWER MAX MIN OCTET_LENGTH SIZE SUBSTRING SUM TRIM UPPER
    """.split()  # noqa: SIM905 - a list literal would be as many lines
)
_UNSUPPORTED = {"LIKE": "Like", "||": "Concat", "*": "Times", "/": "Divide", "%": "Modulo"}
"""Operators of PartiQL that the service lacks → their names in messages (unconfirmed)."""
_OPERAND_STEPS = 5
_CONDITIONS = (Comparison, Between, Membership, Not, And, Or)


def read_condition(reader: StatementReader) -> ConditionNode:
    """Read the whole condition that begins at the current token."""
    return _as_condition(reader, _read(reader, _OR))


def read_operand(reader: StatementReader) -> Operand:
    """Read a SET value: arithmetic is allowed, conditions are not."""
    return _as_operand(reader, _read(reader, _ADD), in_condition=False)


def _read(reader: StatementReader, floor: int, *, is_right_side: bool = False) -> Node:
    """Read an expression whose operators bind at least as tightly as `floor`. 5 µs an operand.

    `is_right_side`: an operator precedes the expression; if the text ends there, the missing right side is reported.
    """
    spend(_OPERAND_STEPS)
    node = _read_prefix(reader, is_right_side=is_right_side)
    while True:
        precedence = _precedence_at_hand(reader)
        if precedence < floor:
            return node
        if precedence in (_OR, _AND):
            node = _read_chain(reader, node, precedence)
        elif precedence == _COMPARE:
            node = _read_comparison(reader, node)
        else:
            operator = reader.token.text
            reader.position += 1
            reader.operator_count += 1
            right = _read(reader, _ADD + 1, is_right_side=True)
            if isinstance(node, Arithmetic) or isinstance(right, Arithmetic):  # a SET value may have one operator
                raise _arithmetic_fault(reader, operator)
            node = Arithmetic(operator, _as_operand(reader, node, False), _as_operand(reader, right, False))


def _precedence_at_hand(reader: StatementReader) -> int:
    """Precedence of the operator at the current token, 0 if there is none; refuses operators that the service lacks."""
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == SYMBOL:
        if text in _COMPARISONS:
            return _COMPARE
        if text in ("+", "-"):
            return _ADD
    elif kind == KEYWORD:
        if text in _WORD_OPERATORS:
            return _WORD_OPERATORS[text]
    else:
        return 0
    if text in _UNSUPPORTED:
        raise reader.refuse(UNSUPPORTED_OPERATION.format(operation=_UNSUPPORTED[text]))
    return 0


# --- operands, brackets and NOT -----------------------------------------------------------------------


def _read_prefix(reader: StatementReader, *, is_right_side: bool) -> Node:
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == KEYWORD and text == "NOT":
        reader.enter()
        reader.position += 1
        reader.operator_count += 1
        node: Node = reader.note(Not(_as_condition(reader, _read(reader, _NOT))))
        reader.depth -= 1
        return node
    if kind == SYMBOL and text == "(":
        reader.enter()
        reader.position += 1
        node = _read(reader, _OR)
        reader.take_symbol(")")
        reader.depth -= 1
        return node
    if begins_data(reader):
        return reader.add_value(read_data(reader))
    if reader.is_call() and (kind == NAME or (kind == KEYWORD and text in _CALLABLE_KEYWORDS)):
        return _read_call(reader)
    if kind not in (NAME, QUOTED):
        reader.fail(MISSING_RIGHT_SIDE if is_right_side and kind == END else None)
    return reader.read_path()


def _read_call(reader: StatementReader) -> FunctionCall:
    """Read `function(operand, …)`; function names are case-insensitive."""
    first = reader.position
    name = reader.token.text.lower()
    place = reader.place(first)
    reader.enter()
    reader.position += 2
    reader.operator_count += 1
    operands: list[Operand] = []
    while not reader.is_symbol(")"):
        if operands:
            reader.take_symbol(",", ")")
        if reader.skip_symbol("*"):
            continue
        operands.append(_as_operand(reader, _read(reader, _OR)))
    reader.take_symbol(")")
    reader.depth -= 1
    call = FunctionCall(name, tuple(operands))
    reader.calls.append(PlacedCall(call, place))
    return call


# --- operators ----------------------------------------------------------------------------------


def _read_chain(reader: StatementReader, first: Node, precedence: int) -> ConditionNode:
    """Read the rest of a chain of AND, or of OR, that begins with `first`; returns one node for the chain."""
    word = "AND" if precedence == _AND else "OR"
    parts = [_as_condition(reader, first)]
    while reader.skip_word(word):
        reader.operator_count += 1
        parts.append(_as_condition(reader, _read(reader, precedence + 1, is_right_side=True)))
    return reader.note(And(tuple(parts)) if word == "AND" else Or(tuple(parts)))


def _read_comparison(reader: StatementReader, left: Node) -> ConditionNode:
    """Read a comparison, BETWEEN, IN or IS after its left operand."""
    if isinstance(left, _CONDITIONS):
        reader.fail(UNEXPECTED_OPERATOR)
    word = reader.token.text
    reader.position += 1
    reader.operator_count += 1
    if word == "IS":
        return read_type_test(reader, left)
    is_negated = word == "NOT"
    if is_negated:
        word = reader.token.text
        if reader.token.kind == KEYWORD and word == "LIKE":
            raise reader.refuse(UNSUPPORTED_OPERATION.format(operation=_UNSUPPORTED[word]))
        if reader.token.kind != KEYWORD or word not in ("BETWEEN", "IN"):
            reader.fail()
        reader.position += 1
        reader.operator_count += 1
    node: ConditionNode
    if word == "BETWEEN":
        node = _read_between(reader, left)
    elif word == "IN":
        node = _read_in(reader, left)
    elif word in ("=", "<>", "!=") and isinstance(left, DocumentPath) and reader.skip_word("MISSING"):
        return FunctionCall("attribute_not_exists" if word == "=" else "attribute_exists", (left,))
    else:
        right = _read(reader, _ADD, is_right_side=True)
        truth = read_boolean_comparison(reader, word, left, right)
        if truth is not None:
            return truth
        node = Comparison("<>" if word == "!=" else word, _as_operand(reader, left), _as_operand(reader, right))
    node = reader.note(node)
    return reader.note(Not(node)) if is_negated else node


def _read_between(reader: StatementReader, operand: Node) -> Between:
    lower = _as_operand(reader, _read(reader, _ADD, is_right_side=True))
    reader.take_word("AND", EXPECTED_KEYWORD.format(word="AND"))
    if reader.token.kind == END:
        reader.fail(EXPECTED_AFTER_AND)
    upper = _as_operand(reader, _read(reader, _ADD, is_right_side=True))
    return Between(_as_operand(reader, operand), lower, upper)


def _read_in(reader: StatementReader, operand: Node) -> Membership:
    """Read `[a, b]` or `(a, b)` after IN."""
    closer = {"[": "]", "(": ")"}.get(reader.token.text) if reader.token.kind == SYMBOL else None
    if closer is None:
        reader.fail(MISSING_RIGHT_SIDE if reader.token.kind == END else None)
    reader.position += 1
    options = [_as_operand(reader, _read(reader, _ADD))]
    while not reader.skip_symbol(closer):
        reader.take_symbol(",", closer)
        options.append(_as_operand(reader, _read(reader, _ADD)))
    return Membership(_as_operand(reader, operand), tuple(options))


# --- nodes as conditions or operands ------------------------------------------------------------------


def _as_condition(reader: StatementReader, node: Node) -> ConditionNode:
    """Return `node` as a condition, and record it if it is a call; refuses an operand."""
    if isinstance(node, FunctionCall):
        return reader.note(node)
    if not isinstance(node, _CONDITIONS):
        reader.fail(UNEXPECTED_TERM)
    return node


def _as_operand(reader: StatementReader, node: Node, in_condition: bool = True) -> Operand:
    """Return `node` as an operand; refuses conditions.

    `in_condition` (also true for arguments of calls): refuse arithmetic, and append a call to `reader.operand_calls`.
    """
    if isinstance(node, _CONDITIONS):
        reader.fail(UNEXPECTED_TERM)
    if isinstance(node, Arithmetic) and in_condition:
        raise _arithmetic_fault(reader, node.operator)
    if isinstance(node, FunctionCall) and in_condition:
        reader.operand_calls.append(node)
    return node


def _arithmetic_fault(reader: StatementReader, operator: str) -> RequestFault:
    """Return the fault of a + or - where the service does not support arithmetic."""
    return reader.refuse(UNSUPPORTED_OPERATION.format(operation="Plus" if operator == "+" else "Minus"))
