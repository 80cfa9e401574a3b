"""How do the cases of both languages show a condition? As text with all parentheses."""

from collections.abc import Callable

from hashrange.expressions.tree import (
    And,
    Arithmetic,
    Between,
    Comparison,
    DocumentPath,
    FunctionCall,
    Membership,
    Node,
    Not,
    Or,
    ValueToken,
)


# C901: a branch for each kind of node
def show_tree(node: Node, show_value: Callable[[ValueToken], str]) -> str:  # noqa: C901
    """The text of a condition or operand; `show_value` makes the text of a value."""

    def shown(*nodes: Node) -> list[str]:
        return [show_tree(one, show_value) for one in nodes]

    match node:
        case DocumentPath():
            return show_path(node)
        case ValueToken():
            return show_value(node)
        case FunctionCall():
            return f"{node.function}({', '.join(shown(*node.operands))})"
        case Comparison() | Arithmetic():
            left, right = shown(node.left, node.right)
            return f"({left} {node.operator} {right})"
        case Between():
            return "({} between {} {})".format(*shown(*node))
        case Membership():
            operand, *options = shown(node.operand, *node.options)
            return f"({operand} in {', '.join(options)})"
        case Not():
            return f"(not {shown(node.condition)[0]})"
        case And():
            return f"({' and '.join(shown(*node.conditions))})"
        case Or():
            return f"({' or '.join(shown(*node.conditions))})"


def show_path(path: DocumentPath) -> str:
    """The text of a path, such as `a.b[0]`."""
    return "".join([f"[{e}]" if isinstance(e, int) else f".{e}" for e in path.elements]).removeprefix(".")
