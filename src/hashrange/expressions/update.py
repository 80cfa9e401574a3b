"""How does an UpdateExpression change an item, and which attributes are UPDATED_OLD and UPDATED_NEW?
Functions of the items, compiled once.

Static checks, in order: number of operators, reserved words, paths, unknown functions, repeated clauses, undefined
names, undefined values, overlapping paths, conflicting paths, operand types of ADD and DELETE, functions and
arithmetic. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable

from hashrange.errors import ValidationException
from hashrange.expressions import tree
from hashrange.expressions.checks import (
    check_disjoint,
    check_functions_known,
    check_name_defined,
    check_operator_count,
    check_paths,
    check_reserved,
    check_value_defined,
)
from hashrange.expressions.lexer import fault
from hashrange.expressions.parser import UPDATE_KEYWORDS, ExpressionParser
from hashrange.expressions.projection import compile_project
from hashrange.expressions.statement_size import StatementSize, measure_statement
from hashrange.expressions.tree import Values
from hashrange.expressions.update_apply import Apply, compile_apply
from hashrange.expressions.update_terms import CONDITION_ONLY_FUNCTIONS, UPDATE_FUNCTIONS, check_actions
from hashrange.expressions.update_values import (
    Assignment,
    compile_add,
    compile_delete,
    compile_set,
    compile_value,
    remove,
)
from hashrange.items.paths import Path
from hashrange.items.sizes import value_size_bytes
from hashrange.items.steps import walk
from hashrange.items.types import Item, Value
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.expressions import REPEATED_CLAUSE
from hashrange.messages.reads import UPDATED_ITEM_TOO_LARGE

UNMEASURED_COPIES_MAX = 4
"""An update that copies at most this many values of an item is not measured first: the item grows at most fivefold."""


class CompiledUpdate:
    """A compiled update: `apply(item, values)`, the attributes that it concerns, and the tokens that it uses.

    `apply` returns a new item, which shares unchanged parts with the old one. If there is no item, `apply` is called
    with an empty one, and the new item lacks its key. `apply` raises ValidationException if the item lacks a value that
    the update needs, or has one of a wrong type, or if a computed number or the copied values exceed a limit.
    """

    def __init__(
        self,
        apply: Apply,
        *,
        written: list[Path],
        removed: list[Path],
        read: list[Path],
        can_create: bool,
        statement_size_bytes: StatementSize,
        assigned_types: dict[str, str],
        may_nest_container: bool = False,
        used_names: frozenset[str] = frozenset(),
        used_values: frozenset[str] = frozenset(),
    ) -> None:
        self.apply = apply
        targets = written + removed
        self.attributes = frozenset([str(path[0]) for path in walk(targets)])
        """Top-level attributes that the update changes, in whole or in part."""
        self.nested_attributes = frozenset([str(path[0]) for path in walk(targets + read) if len(path) > 1])
        """Top-level attributes of which the update changes or reads a nested part."""
        self.assigned_types = assigned_types
        """Top-level attribute → type of the request's value that SET or ADD gives it."""
        self.may_nest_container = may_nest_container
        """True if SET may write a list or map at a nested path, so that the item may become nested too deep."""
        self.can_create = can_create
        """False if the update only removes attributes or set members: a missing item then stays missing."""
        self.updated_old: Callable[[Item], Item] = compile_project(targets)
        """Function from the old item to the parts of it that UPDATED_OLD returns."""
        self.updated_new: Callable[[Item], Item] = compile_project(written)
        """Function from the new item to the parts of it that UPDATED_NEW returns."""
        self.statement_size_bytes = statement_size_bytes
        """Function `(values, item=None)` → size in bytes of update and values, compared with the item
        size limit; 0 for AttributeUpdates."""
        self.used_names = used_names
        self.used_values = used_values


def compile_update(text: str, names: dict[str, str] | None, values: dict[str, Value] | None) -> CompiledUpdate:
    """Compile an UpdateExpression; `values` are canonical. Raises RequestFault for the first static fault."""
    kind = "UpdateExpression"
    parser = ExpressionParser(kind, text, names, values, UPDATE_KEYWORDS)
    clauses, repeated = read_clauses(parser)
    check_operator_count(parser)
    check_reserved(parser)
    check_paths(parser)
    check_functions_known(parser, UPDATE_FUNCTIONS | CONDITION_ONLY_FUNCTIONS)
    if repeated is not None:
        raise fault(kind, REPEATED_CLAUSE.format(clause=repeated))
    for path in parser.paths:
        check_name_defined(kind, path)
    for value in parser.value_tokens:
        check_value_defined(kind, value)
    check_disjoint(kind, clauses.targets)
    check_actions(kind, clauses)

    return compile_clauses(clauses, parser.paths, frozenset(parser.used_names), frozenset(parser.used_values))


def compile_clauses(
    clauses: tree.Clauses,
    paths: list[tree.DocumentPath],
    used_names: frozenset[str] = frozenset(),
    used_values: frozenset[str] = frozenset(),
) -> CompiledUpdate:
    """Compile clauses that have passed all checks; `paths` are all document paths in them."""
    actions: list[tuple[Path, Assignment]] = []
    actions += [(path.elements, compile_set(value)) for path, value in clauses.sets]
    actions += [(path.elements, remove) for path in clauses.removals]
    actions += [(path.elements, compile_add(value.token)) for path, value in clauses.additions]
    actions += [(path.elements, compile_delete(value.token)) for path, value in clauses.deletions]
    removed = {path.elements for path in clauses.removals}
    return CompiledUpdate(
        _bounded(compile_apply(actions), clauses.sets),
        written=[path for path, _ in actions if path not in removed],
        removed=[path.elements for path in clauses.removals],
        read=[path.elements for path in paths],
        can_create=bool(clauses.sets or clauses.additions),
        statement_size_bytes=measure_statement(clauses),
        assigned_types=assigned_types(clauses.sets, clauses.additions),
        may_nest_container=any(len(path.elements) > 1 and _may_be_container(value) for path, value in clauses.sets),
        used_names=used_names,
        used_values=used_values,
    )


def _bounded(apply: Apply, sets: list[tree.SetAction]) -> Apply:
    """Return `apply`, preceded by a check of size if SET copies more than UNMEASURED_COPIES_MAX values of the item.

    3 KB of text can copy an item 140 times. The check raises ValidationException if the new values of the SET
    actions that copy exceed the item size limit together.
    """
    copying = [compile_value(value) for _, value in sets if _path_count(value)]
    if sum(map(_path_count, [value for _, value in sets])) <= UNMEASURED_COPIES_MAX:
        return apply

    def apply_bounded(item: Item, values: Values) -> Item:
        size_bytes = 0
        for compute in copying:
            size_bytes += value_size_bytes(compute(item, values))
            if size_bytes > ITEM_SIZE_MAX_BYTES:
                raise ValidationException(UPDATED_ITEM_TOO_LARGE)
        return apply(item, values)

    return apply_bounded


def _path_count(operand: tree.Operand) -> int:
    """Number of document paths whose values a SET operand may copy."""
    if isinstance(operand, tree.DocumentPath):
        return 1
    if isinstance(operand, tree.Arithmetic):
        return 0  # the result is a number, not a copy
    return sum(map(_path_count, operand.operands)) if isinstance(operand, tree.FunctionCall) else 0


def assigned_types(sets: list[tree.SetAction], additions: list[tree.ValueAction]) -> dict[str, str]:
    """Top-level attribute → type of the request's value that SET or ADD gives it."""
    return {
        str(path.elements[0]): value.type_name
        for path, value in walk((*sets, *additions))
        if len(path.elements) == 1 and isinstance(value, tree.ValueToken) and value.type_name is not None
    }


def _may_be_container(operand: tree.Operand) -> bool:
    """True if a SET operand may be a list or map."""
    if isinstance(operand, tree.ValueToken):
        return operand.type_name in ("L", "M", None)
    return not isinstance(operand, tree.Arithmetic)


def read_clauses(parser: ExpressionParser) -> tuple[tree.Clauses, str | None]:
    """Read all clauses; returns their actions, and the first repeated clause or None."""
    clauses = tree.Clauses([], [], [], [], [])
    seen: set[str] = set()
    repeated: str | None = None
    while True:
        clause = parser.keyword()
        if not clause:
            parser.fail()
        if clause in seen and repeated is None:
            repeated = clause
        seen.add(clause)
        parser.position += 1
        _read_action(parser, clause, clauses)
        while parser.is_symbol(","):
            parser.take_symbol(",")
            _read_action(parser, clause, clauses)
        if not parser.keyword():
            parser.expect_end()
            return clauses, repeated


def _read_action(parser: ExpressionParser, clause: str, clauses: tree.Clauses) -> None:
    """Read one action of `clause` into `clauses`."""
    path = parser.read_path()
    clauses.targets.append(path)
    if clause == "SET":
        parser.take_symbol("=")
        clauses.sets.append(tree.SetAction(path, parser.read_set_value()))
    elif clause == "REMOVE":
        clauses.removals.append(path)
    else:
        actions = clauses.additions if clause == "ADD" else clauses.deletions
        actions.append(tree.ValueAction(path, parser.read_value_token()))
