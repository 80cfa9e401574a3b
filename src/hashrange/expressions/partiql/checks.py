"""Is a parsed statement valid? Static checks of functions, paths, operands and actions, without the table.

Checks and order are those of conditions, then those of updates, but reserved words and redundant parentheses are
allowed; some messages are PartiQL's own. Source: service behaviour, captures to Oct 2026; the order among several
faults is unconfirmed.
"""

from hashrange.errors import RequestFault
from hashrange.expressions.checks import check_disjoint, check_operator_count, check_paths, misuse_fault
from hashrange.expressions.partiql.reader import PlacedCall, StatementReader
from hashrange.expressions.partiql.tree import Tree, UpdateStatement
from hashrange.expressions.terms import CONDITION_FUNCTIONS, ValueCheck, check_terms
from hashrange.expressions.tree import FunctionCall
from hashrange.expressions.update_terms import check_actions
from hashrange.items.types import Value
from hashrange.messages.partiql import UNRECOGNIZED_FUNCTION

_UPDATE_FUNCTIONS = ("list_append",)


def check_statement(reader: StatementReader, tree: Tree, constants: dict[str, Value]) -> tuple[ValueCheck, ...]:
    """Raise the first static fault; `constants`: value token → its value in the request that compiles the statement.

    Returns the checks to repeat on the values of each later request.
    """
    check_operator_count(reader)
    for placed in reader.calls:
        _check_known(placed)
    _check_placement(reader)
    check_paths(reader)
    checks = check_terms(reader, constants)
    if isinstance(tree, UpdateStatement):
        check_disjoint(reader.kind, tree.targets)
        check_actions(reader.kind, tree.sets, tree.additions, tree.deletions)
    return checks


def _check_known(placed: PlacedCall) -> None:
    function = placed.call.function
    if function not in CONDITION_FUNCTIONS and function not in _UPDATE_FUNCTIONS:
        raise RequestFault(UNRECOGNIZED_FUNCTION.format(function=function, place=placed.place))


def _check_placement(reader: StatementReader) -> None:
    """Refuse size() and list_append as conditions, and calls except size() as operands of conditions or calls.

    If several calls are misplaced, the one whose `)` comes first is reported.
    """
    wrong = {id(call) for call in reader.operand_calls if call.function != "size"}
    wrong |= {
        id(node)
        for node in reader.conditions
        if isinstance(node, FunctionCall) and node.function in ("size", "list_append")
    }
    for call, _ in reader.calls:
        if id(call) in wrong:
            raise misuse_fault(reader.kind, call.function)
