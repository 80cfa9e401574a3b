"""How are a WHERE clause and a SET value parsed? By operator precedence, into the nodes of `expressions.tree`.

From loose to tight:

    OR    AND    NOT    = <> != < <= > >= BETWEEN IN IS    ||    + -    * / %

`!=` is `<>`. Faults that are not of the syntax, such as arithmetic in a condition, are recorded (`refuse_later`) and
raised with the static checks (`statement.py`); in a SET value they are raised at once. Source: service behaviour,
captures to 23 October 2026; for expected tokens and their messages PartiQL's reference grammar, which agrees with the
captures.
"""

from hashrange.errors import RequestFault
from hashrange.expressions import tree
from hashrange.expressions.checks import misuse_fault, operand_type
from hashrange.expressions.lexer import END, NAME, SYMBOL
from hashrange.expressions.partiql.lexer import KEYWORD, QUOTED
from hashrange.expressions.partiql.literals import begins_data, read_data
from hashrange.expressions.partiql.reader import PlacedCall, StatementReader
from hashrange.expressions.partiql.tree import Constant
from hashrange.expressions.partiql.type_conditions import MISSING, read_type_test
from hashrange.items.steps import spend
from hashrange.messages import partiql as say
from hashrange.messages.expressions import ANY_TYPE, OPERAND_TYPE

_OR, _AND, _NOT, _COMPARE, _CONCAT, _ADD, _MULTIPLY = range(2, 9)
"""How tightly operators bind; 1 is left for operators of sets (`parser.py`)."""
_COMPARISONS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">="))
SYMBOL_PRECEDENCES = dict.fromkeys(_COMPARISONS, _COMPARE) | {
    "||": _CONCAT,
    "+": _ADD,
    "-": _ADD,
    "*": _MULTIPLY,
    "/": _MULTIPLY,
    "%": _MULTIPLY,
}
WORD_PRECEDENCES = {"OR": _OR, "AND": _AND, "BETWEEN": _COMPARE, "IN": _COMPARE, "IS": _COMPARE, "NOT": _COMPARE}
_LIKE = "Like"
_ARITHMETIC = {"+": "Plus", "-": "Minus", "||": "Concat", "*": "Times", "/": "Divide", "%": "Modulo"}
"""Operator → its name in messages about SET values (unconfirmed)."""
_OPERAND_STEPS = 5
_CONDITIONS = (tree.Comparison, tree.Between, tree.Membership, tree.Not, tree.And, tree.Or)


def read_condition(reader: StatementReader) -> tree.ConditionNode:
    """Read the whole condition that begins at the current token."""
    reader.is_condition = True
    condition = _as_condition(reader, _read(reader, _OR), None)
    reader.is_condition = False
    return condition


def read_operand(reader: StatementReader) -> tree.Operand:
    """Read a SET value: arithmetic is allowed, conditions are not."""
    operand = _read(reader, _CONCAT)
    if isinstance(operand, _CONDITIONS):
        reader.fail(say.UNEXPECTED_TERM)
    return operand


def _read(reader: StatementReader, floor: int, *, is_right_side: bool = False) -> tree.Node:
    """Read an expression whose operators bind at least as tightly as `floor`. 5 µs an operand.

    `is_right_side`: an operator precedes the expression; if the text ends there, the missing right side is reported.
    """
    spend(_OPERAND_STEPS)
    first = reader.position
    node = _read_prefix(reader, is_right_side=is_right_side)
    while True:
        precedence = _precedence_at_hand(reader)
        if precedence < floor:
            return node
        if precedence in (_OR, _AND):
            node = _read_chain(reader, node, precedence)
        elif precedence == _COMPARE:
            node = _read_comparison(reader, node, first)
        else:
            node = _read_arithmetic(reader, node, precedence)


def _precedence_at_hand(reader: StatementReader) -> int:
    """Precedence of the operator at the current token, 0 if there is none; refuses LIKE, which the service lacks."""
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == SYMBOL:
        return SYMBOL_PRECEDENCES.get(text, 0)
    if kind != KEYWORD:
        return 0
    if text == "LIKE":
        raise reader.refuse(say.UNSUPPORTED_OPERATION.format(operation=_LIKE))
    return WORD_PRECEDENCES.get(text, 0)


# --- operands, brackets and NOT -----------------------------------------------------------------------


def _read_prefix(reader: StatementReader, *, is_right_side: bool) -> tree.Node:
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == KEYWORD and text == "NOT":
        return _read_negation(reader)
    if kind == SYMBOL and text == "(":
        reader.enter()
        reader.position += 1
        node = _read(reader, _OR)
        reader.take_symbol(")")
        reader.depth -= 1
        return node
    if begins_data(reader):
        return reader.add_value(read_data(reader))
    if reader.is_function():
        return _read_call(reader)
    if kind not in (NAME, QUOTED):
        if reader.is_condition and reader.skip_word("MISSING"):
            return MISSING
        reader.fail(say.MISSING_RIGHT_SIDE if is_right_side and kind == END else None)
    return reader.read_path()


def _read_negation(reader: StatementReader) -> tree.Node:
    """Read any number of NOTs and the condition after them."""
    first = reader.position
    while reader.skip_word("NOT"):
        reader.operator_count += 1
    count = reader.position - first
    reader.enter()
    node: tree.ConditionNode = _as_condition(reader, _read(reader, _NOT), "NOT")
    reader.depth -= 1
    for _ in range(count):
        node = reader.note(tree.Not(node))
    return node


def _read_call(reader: StatementReader) -> tree.FunctionCall:
    """Read `function(operand, …)`; function names are case-insensitive."""
    first = reader.position
    name = reader.token.text.lower()
    place = reader.place(first)
    reader.enter()
    reader.position += 2
    reader.operator_count += 1
    operands: list[tree.Operand] = []
    while not reader.is_symbol(")"):
        if operands:
            reader.take_symbol(",", ")")
        if reader.skip_symbol("*"):
            continue
        operands.append(_as_operand(reader, _read(reader, _OR)))
    reader.take_symbol(")")
    reader.depth -= 1
    call = tree.FunctionCall(name, tuple(operands))
    reader.calls.append(PlacedCall(call, place))
    return call


# --- operators ----------------------------------------------------------------------------------


def _read_arithmetic(reader: StatementReader, left: tree.Node, precedence: int) -> tree.Arithmetic:
    """Read an operator and its right side. A condition may have none; a SET value may have one, + or -."""
    operator = reader.token.text
    reader.position += 1
    reader.operator_count += 1
    if reader.is_condition:
        reader.refuse_later(reader.refuse(say.UNSUPPORTED_OPERATOR.format(operator=operator)))
    elif precedence != _ADD:
        raise _arithmetic_fault(reader, operator)
    right = _read(reader, precedence + 1, is_right_side=True)
    if not reader.is_condition and (isinstance(left, tree.Arithmetic) or isinstance(right, tree.Arithmetic)):
        raise _arithmetic_fault(reader, operator)
    return tree.Arithmetic(operator, _as_part(reader, left), _as_part(reader, right))


def _read_chain(reader: StatementReader, first: tree.Node, precedence: int) -> tree.ConditionNode:
    """Read the rest of a chain of AND, or of OR, that begins with `first`; returns one node for the chain."""
    word = "AND" if precedence == _AND else "OR"
    parts = [_as_condition(reader, first, word)]
    while reader.skip_word(word):
        reader.operator_count += 1
        parts.append(_as_condition(reader, _read(reader, precedence + 1, is_right_side=True), word))
    return reader.note(tree.And(tuple(parts)) if word == "AND" else tree.Or(tuple(parts)))


def _read_comparison(reader: StatementReader, left: tree.Node, first: int) -> tree.ConditionNode:
    """Read a comparison, BETWEEN, IN or IS after its left operand, which begins at the position `first`."""
    if isinstance(left, _CONDITIONS):
        reader.fail(say.UNEXPECTED_OPERATOR)
    word = reader.token.text
    reader.position += 1
    reader.operator_count += 1
    if word == "IS":
        return read_type_test(reader, left, first)
    is_negated = word == "NOT"
    if is_negated:
        word = reader.token.text
        if reader.token.kind == KEYWORD and word == "LIKE":
            raise reader.refuse(say.UNSUPPORTED_OPERATION.format(operation=_LIKE))
        if reader.token.kind != KEYWORD or word not in ("BETWEEN", "IN"):
            reader.fail()
        reader.position += 1
        reader.operator_count += 1
    node: tree.ConditionNode
    if word == "BETWEEN":
        node = _read_between(reader, left)
    elif word == "IN":
        node = _read_in(reader, left)
    else:
        node = _read_order(reader, word, left)
        if isinstance(node, tree.Not):
            return node
    node = reader.note(node)
    return reader.note(tree.Not(node)) if is_negated else node


def _read_order(reader: StatementReader, operator: str, left: tree.Node) -> tree.Comparison | tree.Not:
    """Read a comparison's right side. `<>` beside size() is the negation of `=`, true if size() has no value."""
    right = _read(reader, _CONCAT, is_right_side=True)
    one, other = _as_operand(reader, left), _as_operand(reader, right)
    if operator not in ("<>", "!="):
        return tree.Comparison(operator, one, other)
    if any(isinstance(operand, tree.FunctionCall) and operand.function == "size" for operand in (one, other)):
        return reader.note(tree.Not(reader.note(tree.Comparison("=", one, other))))
    return tree.Comparison("<>", one, other)


def _read_between(reader: StatementReader, operand: tree.Node) -> tree.Between:
    lower = _as_operand(reader, _read(reader, _CONCAT, is_right_side=True))
    reader.take_word("AND", say.EXPECTED_KEYWORD.format(word="AND"))
    if reader.token.kind == END:
        reader.fail(say.EXPECTED_AFTER_AND)
    upper = _as_operand(reader, _read(reader, _CONCAT, is_right_side=True))
    return tree.Between(_as_operand(reader, operand), lower, upper)


def _read_in(reader: StatementReader, operand: tree.Node) -> tree.Membership:
    """Read `[a, b]` or `(a, b)` after IN."""
    closer = {"[": "]", "(": ")"}.get(reader.token.text) if reader.token.kind == SYMBOL else None
    if closer is None:
        reader.fail(say.MISSING_RIGHT_SIDE if reader.token.kind == END else None)
    reader.position += 1
    options = [_as_operand(reader, _read(reader, _CONCAT))]
    while not reader.skip_symbol(closer):
        reader.take_symbol(",", closer)
        options.append(_as_operand(reader, _read(reader, _CONCAT)))
    return tree.Membership(_as_operand(reader, operand), tuple(options))


# --- nodes as conditions or operands ------------------------------------------------------------------


def _as_condition(reader: StatementReader, node: tree.Node, operator: str | None) -> tree.ConditionNode:
    """Return `node` as a condition, and record it if it is a call; refuses an operand.

    `operator` (AND, OR or NOT) holds the condition; None if the whole WHERE is this condition.
    """
    if isinstance(node, _CONDITIONS):
        return node
    if isinstance(node, tree.FunctionCall) and operand_type(node) == "BOOL":
        return reader.note(node)
    if isinstance(node, tree.ValueToken) and node.type_name == "BOOL":
        return reader.note(tree.Comparison("=", node, reader.add_value(Constant({"BOOL": True}))))
    if isinstance(node, tree.FunctionCall) and node.function != "size":
        if node.function == "list_append":
            reader.refuse_later(misuse_fault(reader.kind, node.function))
    elif not _refuse_missing(reader, node):
        message = say.NO_BOOLEAN
        if operator is not None:
            message = OPERAND_TYPE.format(operator=operator, type_name=operand_type(node) or ANY_TYPE)
        reader.refuse_later(reader.refuse(message))
    return tree.Comparison("=", MISSING, MISSING)  # in place of what is refused


def _as_operand(reader: StatementReader, node: tree.Node) -> tree.Operand:
    """Return `node` as an operand of a condition or an argument of a call; refuses conditions.

    A call of a function of conditions is recorded, since it is a condition as well; in a SET value, each call is.
    """
    operand = _as_part(reader, node)
    if isinstance(operand, tree.FunctionCall):
        if not reader.is_condition:
            reader.operand_calls.append(operand)
        elif operand.function == "list_append":
            reader.refuse_later(misuse_fault(reader.kind, operand.function))
        elif operand_type(operand) == "BOOL":
            reader.note(operand)
    elif isinstance(operand, tree.Arithmetic) and not reader.is_condition:
        raise _arithmetic_fault(reader, operand.operator)
    return operand


def _as_part(reader: StatementReader, node: tree.Node) -> tree.Operand:
    """Return `node` as an operand, of arithmetic too; refuses conditions and MISSING."""
    if isinstance(node, _CONDITIONS):
        reader.fail(say.UNEXPECTED_TERM)
    _refuse_missing(reader, node)
    return node


def _refuse_missing(reader: StatementReader, node: tree.Node) -> bool:
    """True if `node` is MISSING, which is refused everywhere except beside IS."""
    if node is MISSING:
        reader.compares_missing = True
        return True
    return False


def _arithmetic_fault(reader: StatementReader, operator: str) -> RequestFault:
    """Return the fault of an operator that a SET value may not have in this place."""
    return reader.refuse(say.UNSUPPORTED_OPERATION.format(operation=_ARITHMETIC[operator]))
