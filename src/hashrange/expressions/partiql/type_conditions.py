"""How is `x IS type` read? It becomes nodes of expressions: `a IS STRING` is attribute_type,
`a IS MISSING` attribute_not_exists.

The types are those of PartiQL; only a few of them can be tested. Source: service behaviour, captures to 23 October
2026; the language's reference grammar (names of types).
"""

from typing import NoReturn

from hashrange.expressions.lexer import NAME
from hashrange.expressions.partiql.lexer import KEYWORD, NUMBER
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.tree import Constant
from hashrange.expressions.tree import Comparison, ConditionNode, DocumentPath, FunctionCall, Node, Not, ValueToken
from hashrange.messages.partiql import EXPECTED_TYPE_NAME, IS_LEFT, IS_TYPE, UNSUPPORTED_OPERATION

MISSING = DocumentPath(("",))
"""The operand MISSING: the path of an attribute that no item has."""
_TESTED_TYPES = {
    "NullType": "NULL",
    "BooleanType": "BOOL",
    "StringType": "S",
    "NumericType": "N",
    "BlobType": "B",
    "ListType": "L",
    "StructType": "M",
    "TupleType": "M",
}
"""Type of PartiQL → the service's type. Beside these, IS tests only for MISSING."""
_MISSING_TYPE = "MissingType"
_NAMED_ALIKE = """
    ANY BAG BLOB BOOLEAN CHARACTER CLOB DATE DECIMAL FLOAT INTEGER LIST MISSING NULL NUMERIC REAL SEXP SMALLINT STRING
    STRUCT SYMBOL TIME TIMESTAMP TUPLE
    """.split()  # noqa: SIM905 - a list literal would be twenty lines
_TYPES = {word: f"{word.title()}Type" for word in _NAMED_ALIKE} | {
    "BIGINT": "Integer8Type",
    "BOOL": "BooleanType",
    "CHAR": "CharacterType",
    "DEC": "DecimalType",
    "INT": "IntegerType",
    "INT2": "SmallintType",
    "INT4": "Integer4Type",
    "INT8": "Integer8Type",
    "INTEGER2": "SmallintType",
    "INTEGER4": "Integer4Type",
    "INTEGER8": "Integer8Type",
    "VARCHAR": "CharacterVaryingType",
}
"""Word after IS → type of PartiQL."""
_TWO_WORDS = {
    ("CHARACTER", "VARYING"): "CharacterVaryingType",
    ("DOUBLE", "PRECISION"): "DoublePrecisionType",
}
_ARGUMENTS = {
    "CharacterType": 1,
    "CharacterVaryingType": 1,
    "FloatType": 1,
    "TimeType": 1,
    "DecimalType": 2,
    "NumericType": 2,
}
"""Type of PartiQL → numbers that it may have in parentheses, at most."""


def read_type_test(reader: StatementReader, left: Node, first: int) -> ConditionNode:
    """Read `[NOT] type` after `left IS`; `first` is the position of the first token of `left`.

    Refuses, later, a `left` that is computed, and types that no value of the service has.
    """
    is_negated = reader.skip_word("NOT")
    reader.operator_count += is_negated
    type_name = read_type(reader)
    if not isinstance(left, DocumentPath | ValueToken):
        reader.refuse_later(reader.refuse(IS_LEFT))
    elif type_name in _TESTED_TYPES:
        test = FunctionCall("attribute_type", (left, reader.add_value(Constant({"S": _TESTED_TYPES[type_name]}))))
        return reader.note(Not(reader.note(test))) if is_negated else test
    elif type_name != _MISSING_TYPE:
        while reader.tokens[first].text == "(":
            first += 1
        reader.refuse_later(reader.refuse(IS_TYPE.format(type_name=type_name, place=reader.place(first))))
    elif isinstance(left, DocumentPath):
        return FunctionCall("attribute_exists" if is_negated else "attribute_not_exists", (left,))
    else:  # a literal is never missing
        return reader.note(Comparison("<>" if is_negated else "=", left, MISSING))
    return Comparison("=", MISSING, MISSING)  # in place of what is refused


def refuse_type_test(reader: StatementReader) -> NoReturn:
    """Refuse `IS [NOT] type` outside conditions, after reading the type; raises syntax errors in it first."""
    reader.skip_word("NOT")
    read_type(reader)
    raise reader.refuse(UNSUPPORTED_OPERATION.format(operation="IsType"))


def read_type(reader: StatementReader) -> str:
    """Read the name of a type, with its numbers in parentheses; returns the type of PartiQL."""
    kind, text, _, _ = reader.token
    word = text.upper()
    type_name = _TWO_WORDS.get((word, reader.following.text.upper()))
    words = 1 if type_name is None else 2
    type_name = type_name or _TYPES.get(word)
    if kind not in (KEYWORD, NAME) or type_name is None:
        reader.fail(EXPECTED_TYPE_NAME)
    reader.position += words
    if type_name in _ARGUMENTS and reader.skip_symbol("("):
        _read_number(reader)
        if _ARGUMENTS[type_name] == 2 and reader.skip_symbol(","):
            _read_number(reader)
        reader.take_symbol(")")
    return type_name


def _read_number(reader: StatementReader) -> None:
    if reader.token.kind != NUMBER:
        reader.fail()
    reader.position += 1
