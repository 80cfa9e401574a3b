"""Is a parsed statement valid? Static checks of functions, paths, operands and actions, without the table.

Order: MISSING that is compared → number of operators → unknown functions → misplaced functions of SET values → paths →
conditions, in the order of the text → updates. Source: service behaviour, captures to 23 October 2026; the order is
certain for MISSING and among conditions.
"""

from hashrange.errors import RequestFault
from hashrange.expressions.checks import check_disjoint, check_operator_count, check_paths, misuse_fault
from hashrange.expressions.partiql.reader import PlacedCall, StatementReader
from hashrange.expressions.partiql.tree import Tree, UpdateStatement
from hashrange.expressions.terms import CONDITION_FUNCTIONS, ValueCheck, check_terms
from hashrange.expressions.update_terms import check_actions
from hashrange.items.types import Value
from hashrange.messages.partiql import MISSING_COMPARED, UNRECOGNIZED_FUNCTION

_UPDATE_FUNCTIONS = ("list_append",)


def check_statement(reader: StatementReader, tree: Tree, constants: dict[str, Value]) -> tuple[ValueCheck, ...]:
    """Raise the first static fault; `constants`: value token → its value in the request that compiles the statement.

    Returns the checks to repeat on the values of each later request.
    """
    if reader.compares_missing:
        raise RequestFault(MISSING_COMPARED)
    check_operator_count(reader)
    for placed in reader.calls:
        _check_known(placed)
    _check_placement(reader)
    check_paths(reader)
    first_refusal = reader.first_refusal
    if first_refusal is not None:
        check_terms(reader.kind, reader.conditions[: first_refusal[0]], constants)
        raise first_refusal[1]
    checks = check_terms(reader.kind, reader.conditions, constants)
    if isinstance(tree, UpdateStatement):
        check_disjoint(reader.kind, tree.targets)
        check_actions(reader.kind, tree.sets, tree.additions, tree.deletions)
    return checks


def _check_known(placed: PlacedCall) -> None:
    function = placed.call.function
    if function not in CONDITION_FUNCTIONS and function not in _UPDATE_FUNCTIONS:
        raise RequestFault(UNRECOGNIZED_FUNCTION.format(function=function, place=placed.place))


def _check_placement(reader: StatementReader) -> None:
    """Refuse calls except size() as arguments in a SET value; reports the call whose `)` comes first."""
    wrong = {id(call) for call in reader.operand_calls if call.function != "size"}
    for call, _ in reader.calls:
        if id(call) in wrong:
            raise misuse_fault(reader.kind, call.function)
