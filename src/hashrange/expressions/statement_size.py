"""How large is an UpdateExpression? It and its values have a size in bytes, which the service compares with the item
size limit. AttributeUpdates has none.

Size: 3, plus per action — SET: 19 + target + operands; ADD: 19 + target + value, for a set only its new members;
REMOVE and DELETE: 1 + target. A target: length of its first name, plus 4 + length of each later element. A
path as operand: 1, plus 14 + length of each element. A value: its size, at each use. + is 34, - 37, if_not_exists 39,
list_append 37, each plus its operands. Lengths are UTF-8 bytes. Source: service behaviour, captures to Oct 2026.
"""

from collections import Counter
from collections.abc import Callable

from hashrange.expressions.predicates import compile_path
from hashrange.expressions.sets import added_members
from hashrange.expressions.tree import Arithmetic, Clauses, DocumentPath, Operand, ValueToken
from hashrange.items.sizes import value_size_bytes
from hashrange.items.steps import FEW_MEMBERS, walk
from hashrange.items.types import SET_TYPES, Item, Value

_STATEMENT_BYTES = 3
_WRITE_BYTES = 19
_REMOVE_BYTES = 1
_OPERATOR_BYTES = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}


StatementSize = Callable[[dict[str, Value], Item | None], int]
"""Returns the size in bytes of an UpdateExpression with these values. Of a set in ADD, only members that the old item
lacks count; without an item (None), all.
"""


def measure_statement(clauses: Clauses) -> StatementSize:
    """Return the function that measures a statement: it adds the sizes of values to the sum of all other sizes."""
    tokens: list[str] = []
    fixed_bytes = _STATEMENT_BYTES
    for action in walk(clauses.sets):
        fixed_bytes += _WRITE_BYTES + _target_bytes(action.path) + _operand_bytes(action.value, tokens)
    for path in walk(clauses.removals):
        fixed_bytes += _REMOVE_BYTES + _target_bytes(path)
    for deletion in walk(clauses.deletions):
        fixed_bytes += _REMOVE_BYTES + _target_bytes(deletion.path)
    for addition in walk(clauses.additions):
        fixed_bytes += _WRITE_BYTES + _target_bytes(addition.path)
    uses = Counter(tokens).items()
    added = [(compile_path(path.elements), value.token) for path, value in walk(clauses.additions)]

    are_few = len(uses) + len(added) <= FEW_MEMBERS

    def statement_size_bytes(values: dict[str, Value], item: Item | None) -> int:
        size_bytes = fixed_bytes
        for token, count in uses if are_few else walk(uses):
            size_bytes += value_size_bytes(values[token]) * count
        for get, token in added if are_few else walk(added):
            size_bytes += _added_bytes(values[token], None if item is None else get(item))
        return size_bytes

    return statement_size_bytes


def _added_bytes(value: Value, old: Value | None) -> int:
    """Size in bytes of an ADD action's value; of a set, only of the members that the old value lacks."""
    ((type_name, content),) = value.items()
    if old is not None and type_name in SET_TYPES:
        members = old.get(type_name)
        if members is not None:
            value = {type_name: added_members(members, content)}
    return value_size_bytes(value)


def _element_bytes(element: str | int) -> int:
    return len(str(element).encode("utf-8", "surrogatepass"))


def _target_bytes(path: DocumentPath) -> int:
    first, *later = path.elements
    return _element_bytes(first) + sum([4 + _element_bytes(element) for element in later])


def _operand_bytes(value: Operand, tokens: list[str]) -> int:
    """Size in bytes of a SET value without its `:tokens`, which are appended to `tokens`, once per use."""
    size_bytes = 0
    pending = [value]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ValueToken):
            tokens.append(operand.token)
        elif isinstance(operand, DocumentPath):
            size_bytes += 1 + sum([14 + _element_bytes(element) for element in operand.elements])
        elif isinstance(operand, Arithmetic):
            size_bytes += _OPERATOR_BYTES[operand.operator]
            pending += [operand.left, operand.right]
        else:
            size_bytes += _OPERATOR_BYTES[operand.function]
            pending += operand.operands
    return size_bytes
