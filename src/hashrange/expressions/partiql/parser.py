"""How is a statement parsed? SELECT, INSERT, UPDATE (also as FROM … SET), DELETE and EXISTS.

    select = SELECT * | path, … FROM source [WHERE condition] [ORDER BY key [ASC | DESC], …]
    insert = INSERT INTO table VALUE {…}
    update = UPDATE source action … [WHERE condition] [RETURNING (ALL | MODIFIED) (OLD | NEW) *]
    action = SET path = value, … | REMOVE path
    delete = DELETE FROM source [WHERE condition] [RETURNING ALL OLD *]
    exists = EXISTS(select)
    source = table | table.index

A text that begins with no verb is read as an expression and refused; its outermost part decides the message. Source:
service behaviour, captures to 23 October 2026; for expected tokens and their messages PartiQL's reference grammar,
which agrees with the captures.
"""

from typing import NoReturn

from hashrange.errors import RequestFault
from hashrange.expressions.lexer import END, NAME, SYMBOL
from hashrange.expressions.partiql.conditions import SYMBOL_PRECEDENCES, WORD_PRECEDENCES, read_condition
from hashrange.expressions.partiql.lexer import KEYWORD, NUMBER, PARAMETER, QUOTED, TEXT
from hashrange.expressions.partiql.literals import read_item
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.setters import read_set_action
from hashrange.expressions.partiql.tree import (
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    OrderAttribute,
    Returning,
    SelectStatement,
    TableOrIndex,
    Tree,
    UpdateStatement,
)
from hashrange.expressions.partiql.type_conditions import read_type, refuse_type_test
from hashrange.expressions.tree import Clauses, ConditionNode, DocumentPath
from hashrange.items.steps import spend
from hashrange.messages import partiql as say

_CLAUSES = frozenset(("GROUP", "HAVING", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT"))
"""Keywords that begin clauses of PartiQL that the service lacks."""
_OTHER_STATEMENTS = frozenset(("CASE", "CAST", "CREATE", "DROP", "EXEC", "PIVOT", "VALUES"))
"""Keywords that begin statements or expressions of PartiQL that the service lacks."""
_JOINS = frozenset(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "OUTER"))


def read_statement(reader: StatementReader) -> Tree:
    """Parse a whole statement; raises the first fault of its text."""
    tree = _read_verb(reader)
    if tree is None:
        if reader.is_word("EXISTS"):
            tree = _read_exists(reader)
            if reader.is_operator() or reader.is_symbol("*"):  # EXISTS(…) is only the beginning of an expression
                reader.position = 0
                _refuse_expression(reader)
        elif reader.token.kind == KEYWORD and reader.token.text in _OTHER_STATEMENTS:
            reader.fail(say.EXPECTED_STATEMENT)
        else:
            _refuse_expression(reader)
    reader.expect_end()
    return tree


def _read_verb(reader: StatementReader) -> Tree | None:
    """Read a statement that begins with a verb or FROM; None if the current token is neither."""
    if reader.skip_word("SELECT"):
        return _read_select(reader)
    if reader.skip_word("INSERT"):
        return _read_insert(reader)
    if reader.skip_word("UPDATE"):
        return _read_update(reader)
    if reader.skip_word("DELETE"):
        return _read_delete(reader)
    return _read_update_from_first(reader) if reader.skip_word("FROM") else None


# --- SELECT -------------------------------------------------------------------------------------


def _read_select(reader: StatementReader) -> SelectStatement:
    paths, fault = _read_projection(reader)
    reader.take_word("FROM", say.EXPECTED_FROM.format(clause="SELECT list"))
    target = _read_target(reader)
    _refuse_join(reader)
    _refuse_operator(reader)
    where = _read_where(reader)
    order = _read_order(reader)
    token = reader.token
    if token.kind == KEYWORD and token.text in _CLAUSES:
        clause = "GROUP BY" if token.text == "GROUP" else token.text
        raise reader.refuse(say.UNSUPPORTED_CLAUSE.format(clause=clause, place=reader.place(reader.position)))
    return SelectStatement(target, paths, where, order, fault)


def _read_projection(reader: StatementReader) -> tuple[tuple[DocumentPath, ...], RequestFault | None]:
    """Read the SELECT list; returns its paths (none for `*`), and the fault of its first computed element or None."""
    if reader.skip_symbol("*"):
        return (), None
    projected = [_read_projected(reader)]
    while reader.skip_symbol(","):
        projected.append(_read_projected(reader))
    faults = [one for one in projected if isinstance(one, RequestFault)]
    return tuple([one for one in projected if isinstance(one, DocumentPath)]), faults[0] if faults else None


def _read_projected(reader: StatementReader) -> DocumentPath | RequestFault:
    """Read one path of a SELECT list; refuses computed or renamed elements.

    If another element or FROM follows, the fault is returned: it is reported only once the table is found.
    """
    kind, text, _, _ = reader.token
    is_call = reader.is_call()
    if kind not in (NAME, QUOTED) or is_call:
        if kind == END or (kind == KEYWORD and not is_call) or (kind == SYMBOL and text in (",", ")")):
            reader.fail()
        fault = reader.refuse(say.UNEXPECTED_PATH_COMPONENT.format(place=reader.place(reader.position)))
        _skip_computed(reader)
        if not (reader.is_symbol(",") or reader.is_word("FROM")):
            raise fault
        return fault
    path = reader.read_path()
    if reader.is_word("AS") or reader.token.kind in (NAME, QUOTED):
        raise _alias_fault(reader)
    if reader.skip_word("IS"):
        refuse_type_test(reader)
    token = reader.token
    if token.kind == SYMBOL and token.text in ("+", "-", "*", "/", "%", "||", "="):
        raise reader.refuse(say.UNEXPECTED_PATH_COMPONENT.format(place=reader.place(reader.position)))
    return path


def _skip_computed(reader: StatementReader) -> None:
    """Step over a literal of one token, a `?`, a call or text in parentheses; to the end if these do not close."""
    depth = 0
    while reader.token.kind != END:
        spend(1)
        if reader.token.kind == PARAMETER:
            reader.take_parameter()
        else:
            depth += reader.is_symbol("(") - reader.is_symbol(")")
            reader.position += 1
        if depth == 0 and not reader.is_symbol("("):
            return


def _read_order(reader: StatementReader) -> tuple[OrderAttribute, ...]:
    if not reader.skip_word("ORDER"):
        return ()
    reader.take_word("BY", say.EXPECTED_MARK.format(mark="BY"))
    keys = [_read_order_key(reader)]
    while reader.skip_symbol(","):
        keys.append(_read_order_key(reader))
    return tuple(keys)


def _read_order_key(reader: StatementReader) -> OrderAttribute:
    first = reader.position
    path = reader.read_path()
    if len(path.elements) > 1:
        raise reader.refuse(say.UNEXPECTED_PATH_COMPONENT.format(place=reader.place(first, reader.position - 1)))
    is_descending = reader.skip_word("DESC")
    if not is_descending:
        reader.skip_word("ASC")
    return OrderAttribute(str(path.elements[0]), is_descending)


# --- parts of several statements ------------------------------------------------------------------


def _read_target(reader: StatementReader, detail: str | None = None) -> TableOrIndex:
    """Read `table` or `table.index`, bare or quoted; refuses an alias. `detail` is the message if there is no name."""
    components = _read_source_components(reader, detail)
    if len(components) > 2:
        raise reader.refuse(say.SOURCE_TOO_LONG)
    if _is_alias(reader):
        raise _alias_fault(reader)
    return TableOrIndex(components[0], components[1] if len(components) == 2 else None)


def _is_alias(reader: StatementReader) -> bool:
    kind, text, _, _ = reader.token
    return kind in (NAME, QUOTED) or (kind == KEYWORD and text in ("AS", "AT", "BY"))


def _alias_fault(reader: StatementReader) -> RequestFault:
    """Return the fault of an alias; raises a syntax error if AS, AT or BY has no name after it."""
    word = reader.token.text
    if reader.token.kind == KEYWORD and reader.following.kind not in (NAME, QUOTED):
        reader.fail(say.EXPECTED_ALIAS.format(word=word))
    return reader.refuse(say.ALIAS)


def _refuse_operator(reader: StatementReader) -> None:
    """Refuse an operator after the table, as in `FROM my-table`; the token after it determines the message."""
    if reader.token.kind == SYMBOL and reader.is_operator():
        reader.position += 1
        if reader.token.kind == END:
            reader.fail(say.MISSING_RIGHT_SIDE)
        reader.fail(None if reader.token.kind == KEYWORD else say.TRAILING_TEXT)


def _refuse_join(reader: StatementReader) -> None:
    """Refuse a join with a second table."""
    token = reader.token
    if reader.is_symbol(",") or (token.kind == KEYWORD and token.text in _JOINS):
        raise reader.refuse(say.UNSUPPORTED_OPERATION.format(operation="Join"))


def _read_source_components(reader: StatementReader, detail: str | None) -> list[str]:
    components = [_read_source_component(reader, detail)]
    while reader.skip_symbol("."):
        components.append(_read_source_component(reader, say.INVALID_DOT_COMPONENT))
    return components


def _read_source_component(reader: StatementReader, detail: str | None) -> str:
    kind, name, _, _ = reader.token
    if kind not in (NAME, QUOTED):
        reader.fail(detail)
    if not name:
        raise reader.refuse(say.PATH_COMPONENT_EMPTY)
    reader.position += 1
    return name


def _read_where(reader: StatementReader) -> ConditionNode | None:
    return read_condition(reader) if reader.skip_word("WHERE") else None


def _read_returning(reader: StatementReader) -> Returning | None:
    if not reader.skip_word("RETURNING"):
        return None
    is_all = reader.skip_word("ALL")
    if not is_all:
        reader.take_word("MODIFIED", say.EXPECTED_RETURNING)
    is_old = reader.skip_word("OLD")
    if not is_old:
        reader.take_word("NEW", say.EXPECTED_RETURNING)
    reader.take_symbol("*")
    return Returning("ALL" if is_all else "MODIFIED", "OLD" if is_old else "NEW")


# --- writes -------------------------------------------------------------------------------------


def _read_insert(reader: StatementReader) -> InsertStatement:
    """Read `INTO table VALUE {…}`; an alias is reported as trailing text, as if the statement ended before it."""
    reader.take_word("INTO", say.UNEXPECTED_KEYWORD)
    components = _read_source_components(reader, say.EXPECTED_IDENTIFIER)
    while reader.skip_symbol("-") or reader.skip_symbol("+"):  # in INSERT INTO my-table, "table" is reported
        pass
    if _is_alias(reader):
        reader.fail(say.TRAILING_TEXT)
    if reader.skip_word("VALUES"):
        reader.fail(None if reader.is_symbol("(") else say.EXPECTED_ROW)
    reader.take_word("VALUE")
    if not reader.is_symbol("{"):
        reader.fail()
    item = read_item(reader)
    if len(components) > 1:
        raise reader.refuse(say.INSERT_INTO_INDEX)
    return InsertStatement(TableOrIndex(components[0], None), item)


def _read_update(reader: StatementReader) -> UpdateStatement:
    target = _read_target(reader, say.EXPECTED_IDENTIFIER)
    clauses = _read_clauses(reader)
    where = _read_where(reader)
    return UpdateStatement(target, clauses, where, _read_returning(reader))


def _read_update_from_first(reader: StatementReader) -> UpdateStatement:
    """Read `source WHERE … SET …` after FROM."""
    target = _read_target(reader)
    _refuse_join(reader)
    where = _read_where(reader)
    clauses = _read_clauses(reader)
    return UpdateStatement(target, clauses, where, _read_returning(reader))


def _read_clauses(reader: StatementReader) -> Clauses:
    """Read one or more SET and REMOVE clauses, in any order."""
    clauses = Clauses([], [], [], [], [])
    while True:
        if reader.skip_word("SET"):
            read_set_action(reader, clauses)
            while reader.skip_symbol(","):
                read_set_action(reader, clauses)
        elif reader.skip_word("REMOVE"):
            path = reader.read_path(say.EXPECTED_IDENTIFIER)
            clauses.removals.append(path)
            clauses.targets.append(path)
        elif clauses.targets:
            return clauses
        else:
            reader.fail(say.EXPECTED_STATEMENT)


def _read_delete(reader: StatementReader) -> DeleteStatement:
    reader.take_word("FROM", say.EXPECTED_FROM.format(clause="DELETE"))
    target = _read_target(reader, say.EXPECTED_IDENTIFIER)
    where = _read_where(reader)
    returning = _read_returning(reader)
    if returning is not None and returning != Returning("ALL", "OLD"):
        raise reader.refuse(say.DELETE_RETURNING.format(returning=f"{returning.which} {returning.image} *"))
    return DeleteStatement(target, where, returning)


def _read_exists(reader: StatementReader) -> ExistsStatement:
    reader.position += 1
    reader.take_symbol("(")
    reader.take_word("SELECT")
    select = _read_select(reader)
    reader.take_symbol(")")
    return ExistsStatement(select)


# --- expressions that are no statement ----------------------------------------------------------
#
# An expression may have more than a condition has: arithmetic, paths of any value, statements as operands. Source:
# service behaviour, captures to 23 October 2026 (FOO, FOO.BAR, 1, MISSING, [1], {'a': 1}, <<1>>, ?, IS, operators,
# calls); for the rest the language's reference grammar. Each function returns the outermost part of what it has read.

_OPERATOR = ""
"""The part that is an operator, a call or NOT; other parts are called by their names in the message."""
_SET = 1
_WORDS = WORD_PRECEDENCES | {"LIKE": WORD_PRECEDENCES["IN"], "UNION": _SET, "INTERSECT": _SET, "EXCEPT": _SET}
_NOT = WORD_PRECEDENCES["AND"] + 1
_CONSTANTS = {"TRUE": "Lit", "FALSE": "Lit", "NULL": "Lit", "MISSING": "Missing"}
_BRACKETS = {"[": ("]", "List"), "<<": (">>", "Bag"), "{": ("}", "Struct")}
_PART_STEPS = 5


def _refuse_expression(reader: StatementReader) -> NoReturn:
    """Read the whole text as an expression, and refuse it; raises the first syntax error in it."""
    part = _read_expression(reader, _SET)
    reader.expect_end()
    raise reader.refuse(say.EXISTS_ALONE if part == _OPERATOR else say.UNSUPPORTED_OPERATION.format(operation=part))


def _read_expression(reader: StatementReader, floor: int, *, is_right_side: bool = False) -> str:
    """Read an expression whose operators bind at least as tightly as `floor`.

    `is_right_side`: an operator precedes the expression; if the text ends there,
    the missing right side is reported.
    """
    spend(_PART_STEPS)
    part = _read_operand(reader, is_right_side=is_right_side)
    while True:
        kind, text, _, _ = reader.token
        precedence = (SYMBOL_PRECEDENCES if kind == SYMBOL else _WORDS if kind == KEYWORD else {}).get(text, 0)
        if not precedence or precedence < floor:
            return part
        reader.position += 1
        if text == "IS":
            is_negated = reader.skip_word("NOT")
            read_type(reader)
            part = _OPERATOR if is_negated else "IsType"
            continue
        if text == "NOT":
            text = reader.token.text
            if reader.token.kind != KEYWORD or text not in ("BETWEEN", "IN", "LIKE"):
                reader.fail()
            reader.position += 1
        _read_expression(reader, precedence + 1, is_right_side=True)
        if text == "BETWEEN":
            reader.take_word("AND", say.EXPECTED_KEYWORD.format(word="AND"))
            if reader.token.kind == END:
                reader.fail(say.EXPECTED_AFTER_AND)
            _read_expression(reader, precedence + 1, is_right_side=True)
        part = _OPERATOR


def _read_operand(reader: StatementReader, *, is_right_side: bool) -> str:
    """Read signs, NOTs and one operand, with the path after it."""
    if reader.is_word("NOT"):
        while reader.skip_word("NOT"):
            pass
        reader.enter()
        _read_expression(reader, _NOT)
        reader.depth -= 1
        return _OPERATOR
    has_sign = False
    while reader.is_symbol("+") or reader.is_symbol("-"):
        has_sign = True
        reader.position += 1
    is_number = reader.token.kind == NUMBER
    part = _read_part(reader, is_right_side=is_right_side)
    while reader.is_symbol(".") or reader.is_symbol("["):
        _read_step(reader)
        part = "Path"
    return _OPERATOR if has_sign and not (is_number and part == "Lit") else part


def _read_part(reader: StatementReader, *, is_right_side: bool) -> str:
    kind, text, _, _ = reader.token
    if kind == PARAMETER:
        reader.take_parameter()
        return "Parameter"
    if kind == SYMBOL and text in ("(", "[", "<<", "{"):
        return _read_brackets(reader, text)
    if kind == END:
        reader.fail(say.MISSING_RIGHT_SIDE if is_right_side else None)
    if kind in (NUMBER, TEXT):
        reader.position += 1
        return "Lit"
    if kind == KEYWORD and text in _CONSTANTS:
        reader.position += 1
        return _CONSTANTS[text]
    if _read_verb(reader) is not None:
        return "Select"
    if reader.is_function():
        reader.position += 1
        _read_brackets(reader, "(")
        return _OPERATOR
    if kind not in (NAME, QUOTED):
        reader.fail()
    reader.position += 1
    return "Id"


def _read_step(reader: StatementReader) -> None:
    """Read `.name`, `.*`, `[expression]` or `[*]`."""
    is_name = reader.skip_symbol(".")
    if is_name and not reader.skip_symbol("*"):
        if reader.token.kind not in (NAME, QUOTED):
            reader.fail(say.INVALID_DOT_COMPONENT)
        reader.position += 1
    elif not is_name:
        reader.position += 1
        reader.enter()
        if not reader.skip_symbol("*"):
            _read_expression(reader, _SET)
        reader.depth -= 1
        reader.take_symbol("]")


def _read_brackets(reader: StatementReader, opener: str) -> str:
    """Read a list, bag or struct, the arguments of a call, or an expression in parentheses."""
    reader.enter()
    reader.position += 1
    closer, part = _BRACKETS.get(opener, (")", "List"))
    count = 0
    while not reader.is_symbol(closer):
        if count:
            reader.take_symbol(",", closer)
        count += 1
        if opener == "(" and reader.skip_symbol("*"):
            continue
        inner = _read_expression(reader, _SET)
        if opener == "{":
            reader.take_symbol(":")
            _read_expression(reader, _SET)
        if opener == "(" and count == 1 and reader.is_symbol(")"):
            part = inner
    reader.position += 1
    reader.depth -= 1
    return part
