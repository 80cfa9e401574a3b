"""The grammar by cases: each condition as the tree that it is read as."""

from hashrange.expressions.condition import read_checked_condition
from hashrange.expressions.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Membership,
    Node,
    Not,
    Or,
    Path,
    ValueToken,
)
from tests.scripts.cases import case_test
from tests.scripts.expression_cases import Setting, lines_of


def show(node: Node) -> str:
    match node:
        case Path():
            return "".join([f"[{e}]" if isinstance(e, int) else f".{e}" for e in node.elements]).removeprefix(".")
        case ValueToken():
            return node.token
        case Call():
            return f"{node.function}({', '.join(map(show, node.operands))})"
        case Comparison() | Arithmetic():
            return f"({show(node.left)} {node.operator} {show(node.right)})"
        case Between():
            return f"({show(node.operand)} between {show(node.lower)} {show(node.upper)})"
        case Membership():
            return f"({show(node.operand)} in {', '.join(map(show, node.options))})"
        case Not():
            return f"(not {show(node.condition)})"
        case And():
            return f"({' and '.join(map(show, node.conditions))})"
        case Or():
            return f"({' or '.join(map(show, node.conditions))})"


def evaluate(text: str, setting: Setting) -> str:
    _, root, _ = read_checked_condition("ConditionExpression", text, setting.names, setting.values)
    return show(root)


test_grammar = case_test("expressions_grammar.case", lines_of(evaluate))
