"""Static faults of expressions: the wording of each, and which of two faults is reported."""

import pytest

from hashrange.errors import RequestFault
from hashrange.expressions.condition import compile_condition
from hashrange.expressions.projection import compile_projection
from hashrange.expressions.update import compile_update
from hashrange.items.types import Value
from tests.support.compiling import read_and_compile_key_condition

VALUES: dict[str, Value] = {
    ":s": {"S": "x"},
    ":t": {"S": "a"},
    ":n": {"N": "5"},
    ":m": {"N": "4"},
    ":b": {"B": "AQ=="},
    ":bool": {"BOOL": True},
    ":null": {"NULL": True},
    ":l": {"L": []},
    ":map": {"M": {}},
    ":ss": {"SS": ["a"]},
    ":type": {"S": "SS"},
}
NAMES = {"#a": "a", "#pk": "pk", "#dot": "a.b"}

KIND_OF = {"condition": "ConditionExpression", "update": "UpdateExpression", "projection": "ProjectionExpression"}


def refusal(room: str, text: str) -> str:
    with pytest.raises(RequestFault) as caught:
        if room == "condition":
            compile_condition("ConditionExpression", text, NAMES, VALUES)
        elif room == "update":
            compile_update(text, NAMES, VALUES)
        elif room == "projection":
            compile_projection(text, NAMES)
        else:
            read_and_compile_key_condition(text, NAMES, VALUES)
    return str(caught.value.message)


SYNTAX = 'Syntax error; token: "{}", near: "{}"'.format
COUNT = "Incorrect number of operands for operator or function; operator or function: {}, number of operands: {}".format
TYPE = "Incorrect operand type for operator or function; operator or function: {}, operand type: {}".format
UPDATE_TYPE = (
    "Incorrect operand type for operator or function; operator: {}, operand type: {}, typeSet: ALLOWED_FOR_ADD_OPERAND"
).format
MISUSED = "The function is not allowed to be used this way in an expression; function: {}".format
UNKNOWN = "Invalid function name; function: {}".format
RESERVED = "Attribute name is a reserved keyword; reserved keyword: {}".format
NO_NAME = "An expression attribute name used in the document path is not defined; attribute name: {}".format
NO_VALUE = "An expression attribute value used in expression is not defined; attribute value: {}".format
PATH = "Operator or function requires a document path; operator or function: {}".format
SAME = (
    "The first operand must be distinct from the remaining operands for this operator or function;"
    " operator: {}, first operand: {}"
).format
OVERLAP = (
    "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: {}, path two: {}"
).format
CONFLICT = (
    "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: {}, path two: {}"
).format
REDUNDANT = "The expression has redundant parentheses;"
TOO_MANY = "The expression contains too many operators; operator count: {}".format
TOO_DEEP = "The document path has too many nesting levels; nesting levels: {}".format
INDEX = "List index is not within the allowable range; index: [{}]".format

CASES = [
    # faults of the text as a whole
    ("condition", "", "The expression can not be empty;"),
    ("update", "", "The expression can not be empty;"),
    # white space alone is no empty text
    ("update", " \t\r\n ", SYNTAX("<EOF>", " \t\r\n ")),
    ("condition", "   ", SYNTAX("<EOF>", "   ")),
    ("condition", "a" * 4097, "Expression size has exceeded the maximum allowed size; expression size: 4097"),
    ("condition", "é" * 2049, "Expression size has exceeded the maximum allowed size; expression size: 4098"),
    # syntax errors: the message has the token and its neighbours as written
    ("condition", "a", SYNTAX("<EOF>", "a")),
    ("condition", "a = ", SYNTAX("<EOF>", "=")),
    ("condition", "a = :s b", SYNTAX("b", ":s b")),
    ("condition", "a  =\t= :s", SYNTAX("=", "=\t= :s")),
    ("condition", "a = :s)", SYNTAX(")", ":s)")),
    ("condition", "(a = :s", SYNTAX("<EOF>", ":s")),
    ("condition", "SET _123", SYNTAX("_", "SET _123")),
    ("condition", "a = 5", SYNTAX("5", "= 5")),
    ("condition", "a = :s AND", SYNTAX("<EOF>", "AND")),
    ("condition", "AND a = :s", SYNTAX("AND", "AND a")),
    ("condition", "a AND b = :s", SYNTAX("AND", "a AND b")),
    ("condition", "a = b = c", SYNTAX("=", "b = c")),
    ("condition", "(a = :s) = :n", SYNTAX("=", ") = :n")),
    ("condition", "a = NOT b", SYNTAX("NOT", "= NOT b")),
    ("condition", "a BETWEEN :m", SYNTAX("<EOF>", ":m")),
    ("condition", "a BETWEEN :m OR :n", SYNTAX("OR", ":m OR :n")),
    ("condition", "a IN :s", SYNTAX(":s", "IN :s")),
    ("condition", "a IN ()", SYNTAX(")", "()")),
    ("condition", "a IN (:s, )", SYNTAX(")", ", )")),
    ("condition", "attribute_exists()", SYNTAX(")", "()")),
    ("condition", "contains(a, b = :s)", SYNTAX("=", "b = :s")),
    ("condition", "contains(NOT a, b)", SYNTAX("NOT", "(NOT a")),
    ("condition", "contains((a = :s), b)", SYNTAX(",", "), b")),
    ("condition", "a. = :s", SYNTAX("=", ". = :s")),
    ("condition", "a.1 = :s", SYNTAX("1", ".1 =")),
    ("condition", "a[-1] = :s", SYNTAX("-", "[-1")),
    ("condition", "a[b] = :s", SYNTAX("b", "[b]")),
    ("condition", "a[1 = :s", SYNTAX("=", "1 = :s")),
    ("condition", "a[:n] = :s", SYNTAX(":n", "[:n]")),
    ("condition", "# = :s", SYNTAX("#", "# =")),
    ("condition", "a = : s", SYNTAX(":", "= : s")),
    ("condition", "a == :s", SYNTAX("=", "== :s")),
    ("condition", "a != :s", SYNTAX("!", "a !=")),
    ("condition", "a = 'x'", SYNTAX("'", "= 'x")),
    ("condition", "a + b = :n", SYNTAX("+", "a + b")),
    ("condition", "é = :s", SYNTAX("é", "é =")),
    ("update", "INVALID SYNTAX HERE", SYNTAX("INVALID", "INVALID SYNTAX")),
    ("update", "ADD hits : incr", SYNTAX(":", "hits : incr")),
    ("update", "SET", SYNTAX("<EOF>", "SET")),
    ("update", "SET a", SYNTAX("<EOF>", "a")),
    ("update", "SET a = :s,", SYNTAX("<EOF>", ",")),
    ("update", "SET a = :s, SET b = :s", SYNTAX("SET", ", SET b")),
    ("update", "SET a = :s b = :s", SYNTAX("b", ":s b =")),
    ("update", "SET a = :s)", SYNTAX(")", ":s)")),
    ("update", "SET a + :n", SYNTAX("+", "a + :n")),
    ("update", "SET a = b + c + :n", SYNTAX("+", "c + :n")),
    ("update", "SET a = b * :n", SYNTAX("*", "b * :n")),
    ("update", "SET a = list_append(b + c, :l)", SYNTAX("+", "b + c")),
    ("update", "SET a = b = c", SYNTAX("=", "b = c")),
    ("update", "SET a = b AND c", SYNTAX("AND", "b AND c")),
    ("update", "SET :s = a", SYNTAX(":s", "SET :s =")),
    ("update", "ADD a b", SYNTAX("b", "a b")),
    ("update", "ADD a = :n", SYNTAX("=", "a = :n")),
    ("update", "REMOVE a = :n", SYNTAX("=", "a = :n")),
    ("update", "DELETE a", SYNTAX("<EOF>", "a")),
    ("projection", "a b", SYNTAX("b", "a b")),
    ("projection", "a,", SYNTAX("<EOF>", ",")),
    ("projection", ",a", SYNTAX(",", ",a")),
    ("projection", "a, , b", SYNTAX(",", ", , b")),
    ("projection", ":s", SYNTAX(":s", ":s")),
    ("projection", "size(a)", SYNTAX("(", "size(a")),
    # parentheses, functions, reserved words
    ("condition", "((a = :s))", REDUNDANT),
    ("condition", "a = ((b))", REDUNDANT),
    ("condition", "(a = :s) AND ((b = :s) OR ((c = :s)))", REDUNDANT),
    ("condition", "NOT ((foo(a)))", REDUNDANT),
    ("condition", "foo(a)", UNKNOWN("foo")),
    ("condition", "Size(a) = :n", UNKNOWN("Size")),
    ("condition", "foo(name)", UNKNOWN("foo")),
    ("condition", "size(a)", MISUSED("size")),
    ("condition", "NOT size(a)", MISUSED("size")),
    ("condition", "size(a) AND a = :s", MISUSED("size")),
    ("condition", "attribute_exists(a) = :s", MISUSED("attribute_exists")),
    ("condition", "begins_with(contains(a, :s), :s)", MISUSED("contains")),
    ("condition", "size(contains(name, :s)) = :n", MISUSED("contains")),
    ("condition", "name = :s", RESERVED("name")),
    ("condition", "a.Status = :s", RESERVED("Status")),
    ("condition", "a.And = :s", RESERVED("And")),
    ("update", "SET a = :s REMOVE b.name", RESERVED("name")),
    ("update", "SET a = foo(name)", RESERVED("name")),
    ("projection", "a, zone", RESERVED("zone")),
    # limits of paths and operators
    ("condition", "a" + ".b" * 33 + " = :s", TOO_DEEP(33)),
    ("projection", "a" + "[0]" * 33, TOO_DEEP(33)),
    ("update", "REMOVE a[2147483648]", INDEX(2147483648)),
    ("condition", "NOT " * 300 + "a = :s", TOO_MANY(301)),
    ("update", "SET a = " + "if_not_exists(b," * 150 + "(a + (a + " * 76 + ":n" + "))" * 76 + ")" * 150, TOO_MANY(302)),
    ("condition", "a IN (" + ":s," * 100 + ":s)", COUNT("IN", 101)),
    # faults of names and values
    ("condition", "#zz = :zz", NO_NAME("#zz")),
    ("condition", ":zz = #zz", NO_VALUE(":zz")),
    ("condition", "a = a AND #zz = :s", SAME("=", "[a]")),
    ("condition", "contains(a) OR #zz = :s", COUNT("contains", 1)),
    ("update", "SET a = :zz, #zz = :s", NO_NAME("#zz")),
    ("update", "SET a = :zz, a = :s", NO_VALUE(":zz")),
    ("projection", "a, a, #zz", NO_NAME("#zz")),
    # operands of conditions
    ("condition", "size(a, b) = :n", COUNT("size", 2)),
    ("condition", "attribute_exists(a, b)", COUNT("attribute_exists", 2)),
    ("condition", "begins_with(a)", COUNT("begins_with", 1)),
    ("condition", "attribute_exists(:s)", PATH("attribute_exists")),
    ("condition", "attribute_not_exists(size(a))", PATH("attribute_not_exists")),
    ("condition", "attribute_type(:s, :type)", PATH("attribute_type")),
    ("condition", "size(size(a)) = :n", PATH("size")),
    ("condition", "a = #a", SAME("=", "[a]")),
    ("condition", "a.b[1] < a.b[1]", SAME("<", "[a, b, [1]]")),
    ("condition", "a BETWEEN a AND :s", SAME("BETWEEN", "[a]")),
    ("condition", "a IN (:s, a)", SAME("IN", "[a]")),
    ("condition", "contains(a, a)", SAME("contains", "[a]")),
    ("condition", "begins_with(a, a)", SAME("begins_with", "[a]")),
    ("condition", "a < :bool", TYPE("<", "BOOL")),
    ("condition", ":null >= a", TYPE(">=", "NULL")),
    ("condition", "a BETWEEN :ss AND :n", TYPE("BETWEEN", "SS")),
    ("condition", "size(:n) = :n", TYPE("size", "N")),
    ("condition", "begins_with(a, :n)", TYPE("begins_with", "N")),
    ("condition", "begins_with(:l, a)", TYPE("begins_with", "L")),
    ("condition", "attribute_type(a, :n)", TYPE("attribute_type", "N")),
    ("condition", "attribute_type(a, b)", TYPE("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")),
    (
        "condition",
        "attribute_type(a, :s)",
        "Invalid attribute type name found; type: x, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}",
    ),
    (
        "condition",
        "a BETWEEN :n AND :s",
        (
            "The BETWEEN operator requires same data type for lower and upper bounds;"
            " lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {S:x}"
        ),
    ),
    (
        "condition",
        "a BETWEEN :n AND :m",
        (
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound;"
            " lower bound operand: AttributeValue: {N:5}, upper bound operand: AttributeValue: {N:4}"
        ),
    ),
    # actions of updates
    ("update", "SET a = :s SET b = :s", 'The "SET" section can only be used once in an update expression;'),
    ("update", "set a = foo(b) SET b = :s", UNKNOWN("foo")),
    ("update", "REMOVE a ADD b :n REMOVE #zz", 'The "REMOVE" section can only be used once in an update expression;'),
    ("update", "SET a = :s, a = :s", OVERLAP("[a]", "[a]")),
    ("update", "SET a.b = :s REMOVE #a", OVERLAP("[a, b]", "[a]")),
    ("update", "SET a = :s, a[1].b = :s", OVERLAP("[a]", "[a, [1], b]")),
    ("update", "SET a.b = :s, a[1] = :s", CONFLICT("[a, b]", "[a, [1]]")),
    ("update", "SET a.b = :s, a[1] = :s, c = :s, c = :s", OVERLAP("[c]", "[c]")),
    ("update", "SET a = :s, a = :s ADD b :s", OVERLAP("[a]", "[a]")),
    ("update", "ADD a :s", UPDATE_TYPE("ADD", "STRING")),
    ("update", "ADD a :b", UPDATE_TYPE("ADD", "Binary")),
    ("update", "ADD a :bool", UPDATE_TYPE("ADD", "BOOL")),
    ("update", "ADD a :null", UPDATE_TYPE("ADD", "NULL")),
    ("update", "ADD a :l", UPDATE_TYPE("ADD", "LIST")),
    ("update", "ADD a :map", UPDATE_TYPE("ADD", "MAP")),
    ("update", "DELETE a :n", UPDATE_TYPE("DELETE", "NUMBER")),
    ("update", "SET a = if_not_exists(b)", COUNT("if_not_exists", 1)),
    ("update", "SET a = if_not_exists(:s, b)", PATH("if_not_exists")),
    ("update", "SET a = list_append(:l)", COUNT("list_append", 1)),
    ("update", "SET a = list_append(:s, :l)", TYPE("list_append", "S")),
    ("update", "SET a = list_append(b, list_append(c, :l))", MISUSED("list_append")),
    ("update", "SET a = b + :s", TYPE("+", "S")),
    ("update", "SET a = :l - b", TYPE("-", "L")),
    ("update", "SET a = size(b)", MISUSED("size")),
    # faults of projections
    ("projection", "a, b, a", OVERLAP("[a]", "[a]")),
    ("projection", "a.b, a", OVERLAP("[a, b]", "[a]")),
    ("projection", "a[0], a[0].b", OVERLAP("[a, [0]]", "[a, [0], b]")),
    ("projection", "a[0], a.b", CONFLICT("[a, [0]]", "[a, b]")),
]


@pytest.mark.parametrize(("room", "text", "fault"), CASES, ids=[f"{room}: {text[:60]}" for room, text, _ in CASES])
def test_a_static_fault_is_worded_behind_its_parameter(room: str, text: str, fault: str) -> None:
    assert refusal(room, text) == f"Invalid {KIND_OF[room]}: {fault}"


KEY_CASES = [
    ("pk = :s OR sk = :s", "Invalid operator used in KeyConditionExpression: OR"),
    ("NOT pk = :s", "Invalid operator used in KeyConditionExpression: NOT"),
    ("pk IN (:s)", "Invalid operator used in KeyConditionExpression: IN"),
    ("pk <> :s", "Invalid operator used in KeyConditionExpression: <>"),
    ("pk = :s AND attribute_exists(sk)", "Invalid operator used in KeyConditionExpression: attribute_exists"),
    (
        "pk = :s AND begins_with(:s, sk)",
        (
            "Invalid condition in KeyConditionExpression:"
            " begins_with operator must have the key attribute as its first operand"
        ),
    ),
    (
        ":n BETWEEN sk AND :s",
        (
            "Invalid condition in KeyConditionExpression: BETWEEN operator must have the key"
            " attribute as its first operand"
        ),
    ),
    ("size(pk) = :n", "KeyConditionExpressions cannot contain nested operations"),
    ("pk = sk", "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition"),
    (":s = :t", "Invalid condition in KeyConditionExpression: No key attribute specified"),
    ("pk.a = :s", "KeyConditionExpressions cannot have conditions on nested attributes"),
    (
        "pk = :s AND #pk > :t",
        "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
    ),
    ("((pk = :s))", "Invalid KeyConditionExpression: The expression has redundant parentheses;"),
    (
        "begins_with(pk, :n)",
        (
            "Invalid KeyConditionExpression: Incorrect operand type for operator or function;"
            " operator or function: begins_with, operand type: N"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), KEY_CASES, ids=[text for text, _ in KEY_CASES])
def test_a_key_condition_of_another_shape_is_refused(text: str, message: str) -> None:
    assert refusal("key condition", text) == message


def test_the_largest_sizes_are_accepted() -> None:
    compile_condition("ConditionExpression", "NOT " * 299 + "a = :s", None, VALUES)
    compile_condition("ConditionExpression", "a IN (" + ":s," * 99 + ":s)", None, VALUES)
    compile_projection("a" + ".b" * 32, None)
    compile_projection("a[2147483647]", None)
    compile_condition("ConditionExpression", "a" * 4091 + " = :s", None, VALUES)


def test_a_refusal_is_not_forgotten_nor_its_cause_cached() -> None:
    for _ in range(2):
        assert refusal("condition", "a BETWEEN :n AND :m").endswith("{N:4}")
    condition = compile_condition(
        "ConditionExpression", "a BETWEEN :n AND :m", None, {":n": {"N": "1"}, ":m": {"N": "2"}}
    )
    assert condition.value_checks
    with pytest.raises(RequestFault):  # same text and types, other values: values are checked on a cache hit too
        compile_condition("ConditionExpression", "a BETWEEN :n AND :m", None, {":n": {"N": "3"}, ":m": {"N": "2"}})


def test_a_type_that_differs_is_checked_anew() -> None:
    compile_condition("ConditionExpression", "a < :v", None, {":v": {"S": "x"}})
    with pytest.raises(RequestFault):
        compile_condition("ConditionExpression", "a < :v", None, {":v": {"BOOL": True}})


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4096,
        "(" * 2000 + "a = :s" + ")" * 2000,
        "NOT(" * 1000 + "a=:s",
        "NOT(" * 800 + "a=:s" + ")" * 800,
        "size(" * 680 + "a" + ")" * 680,
        "a=:s AND (" * 270 + "a=:s" + ")" * 270,
        "a IN (" * 600,
        "a[" * 1300,
    ],
)
def test_no_nesting_exhausts_the_stack(text: str) -> None:
    with pytest.raises(RequestFault):
        compile_condition("ConditionExpression", text, None, VALUES)


def test_the_deepest_condition_can_be_decided() -> None:
    deep = compile_condition("ConditionExpression", "a=:s AND (" * 149 + "a=:s" + ")" * 149, None, VALUES)
    assert deep.test({"a": {"S": "x"}}, VALUES)
    negated = compile_condition("ConditionExpression", "NOT(" * 299 + "a=:s" + ")" * 299, None, VALUES)
    assert not negated.test({"a": {"S": "x"}}, VALUES)


def test_parentheses_in_updates_may_nest() -> None:
    update = compile_update("SET a=" + "(" * 2000 + ":s" + ")" * 2000, None, VALUES)
    assert update.apply({}, VALUES) == {"a": {"S": "x"}}
