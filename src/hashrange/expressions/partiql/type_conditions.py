"""How are `path IS type` and `function(…) = true` (or false) read, which expressions lack? They become nodes of expressions.

`a IS STRING` is attribute_type, `begins_with(a, 'x') = false` is NOT begins_with.
Source: service behaviour, captures to Oct 2026; the types STRING, BOOL, NULL and MISSING are confirmed.
"""

from typing import NoReturn

from hashrange.expressions.lexer import NAME
from hashrange.expressions.partiql.lexer import KEYWORD
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.tree import Constant
from hashrange.expressions.tree import (
    And,
    Comparison,
    ConditionNode,
    DocumentPath,
    FunctionCall,
    Node,
    Not,
    Or,
    ValueToken,
)
from hashrange.items.types import SET_TYPES
from hashrange.messages.partiql import EXPECTED_TYPE_NAME, UNSUPPORTED_OPERATION

_TESTED_TYPES = {
    "NULL": ("NULL",), "BOOL": ("BOOL",), "BOOLEAN": ("BOOL",), "STRING": ("S",), "NUMBER": ("N",), "NUMERIC": ("N",),
    "DECIMAL": ("N",), "BINARY": ("B",), "BLOB": ("B",), "LIST": ("L",), "MAP": ("M",), "STRUCT": ("M",), "TUPLE": ("M",),
    "SET": SET_TYPES, "BAG": SET_TYPES,
}  # fmt: skip
"""Type name after IS (the service's or PartiQL's) → the service's types."""
_UNTESTED_TYPES = frozenset(
    """
    BIGINT CHAR CHARACTER CLOB DATE DEC FLOAT INT INT2 INT4 INT8 INTEGER INTEGER2 INTEGER4 INTEGER8 REAL SEXP SMALLINT SYMBOL
    TIME TIMESTAMP VARCHAR
    """.split()  # noqa: SIM905 - a list literal would be as many lines
)
"""Types of PartiQL that no value of the service has; a test for them is refused."""
_TRUTH_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains")
_TRUE, _FALSE = Constant({"BOOL": True}), Constant({"BOOL": False})


def read_type_test(reader: StatementReader, left: Node) -> ConditionNode:
    """Read `[NOT] type` after `left IS`; refuses a `left` that is no path, and types that the service lacks."""
    is_negated = reader.skip_word("NOT")
    word = _read_type_name(reader)
    if not isinstance(left, DocumentPath) or (word != "MISSING" and word not in _TESTED_TYPES):
        raise reader.refuse(UNSUPPORTED_OPERATION.format(operation="IsType"))
    if word == "MISSING":
        return FunctionCall("attribute_exists" if is_negated else "attribute_not_exists", (left,))
    tests = [
        FunctionCall("attribute_type", (left, reader.add_value(Constant({"S": name})))) for name in _TESTED_TYPES[word]
    ]
    if len(tests) == 1 and not is_negated:
        return tests[0]
    for test in tests:
        reader.note(test)
    condition: ConditionNode = tests[0] if len(tests) == 1 else reader.note(Or(tuple(tests)))
    return reader.note(Not(condition)) if is_negated else condition


def refuse_type_test(reader: StatementReader) -> NoReturn:
    """Refuse `IS [NOT] type` outside conditions, after reading the type; raises syntax errors in it first."""
    reader.skip_word("NOT")
    _read_type_name(reader)
    raise reader.refuse(UNSUPPORTED_OPERATION.format(operation="IsType"))


def _read_type_name(reader: StatementReader) -> str:
    kind, text, _, _ = reader.token
    word = text.upper()
    if kind not in (KEYWORD, NAME):
        reader.fail(EXPECTED_TYPE_NAME)
    if word == "DOUBLE" and reader.following.text.upper() == "PRECISION":
        reader.position += 2
        return "DOUBLE PRECISION"
    if word != "MISSING" and word not in _TESTED_TYPES and word not in _UNTESTED_TYPES:
        reader.fail(EXPECTED_TYPE_NAME)
    reader.position += 1
    return word


def read_boolean_comparison(reader: StatementReader, operator: str, left: Node, right: Node) -> ConditionNode | None:
    """The condition equivalent to a comparison such as `function(…) = true`; None for comparisons of other kinds.

    The operands may be swapped, the operator `<>` or `!=`, and the value `false` or a parameter of type BOOL.
    """
    if operator not in ("=", "<>", "!="):
        return None
    call, value = (left, right) if isinstance(left, FunctionCall) else (right, left)
    if not isinstance(call, FunctionCall) or call.function not in _TRUTH_FUNCTIONS:
        return None
    if not isinstance(value, ValueToken) or value.type_name != "BOOL":
        return None
    if reader.data[value.token] in (_TRUE, _FALSE):
        if (reader.data[value.token] == _TRUE) == (operator == "="):
            return call
        return reader.note(Not(reader.note(call)))
    wanted, unwanted = (_TRUE, _FALSE) if operator == "=" else (_FALSE, _TRUE)
    reader.note(call)
    if_true = reader.note(Comparison("=", value, reader.add_value(wanted)))
    if_false = reader.note(Comparison("=", value, reader.add_value(unwanted)))
    fits = reader.note(And((if_true, call)))
    fits_not = reader.note(And((if_false, reader.note(Not(call)))))
    return reader.note(Or((fits, fits_not)))
