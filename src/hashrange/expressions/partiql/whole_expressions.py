"""How is a text refused that begins with no verb? It is read as an expression; its outermost part decides the message.

An expression may have more than a condition has: arithmetic, paths of any value, statements as operands. Source:
service behaviour, captures to 23 October 2026 (FOO, FOO.BAR, 1, MISSING, [1], {'a': 1}, <<1>>, ?, IS, operators,
calls); for the rest the language's reference grammar.
"""

from collections.abc import Callable
from typing import NoReturn

from hashrange.expressions.lexer import END, NAME, SYMBOL
from hashrange.expressions.partiql.conditions import SYMBOL_PRECEDENCES, WORD_PRECEDENCES
from hashrange.expressions.partiql.lexer import KEYWORD, NUMBER, PARAMETER, QUOTED, TEXT
from hashrange.expressions.partiql.reader import StatementReader
from hashrange.expressions.partiql.type_conditions import read_type
from hashrange.items.steps import spend
from hashrange.messages import partiql as say

OPERATOR = ""
"""The part that is an operator, a call or NOT; other parts are called by their names in the message."""
ReadVerb = Callable[[StatementReader], bool]
"""Reads a statement at the current token and returns True; returns False if none begins there."""

_SET = 1
_WORDS = WORD_PRECEDENCES | {"LIKE": WORD_PRECEDENCES["IN"], "UNION": _SET, "INTERSECT": _SET, "EXCEPT": _SET}
_NOT = WORD_PRECEDENCES["AND"] + 1
_CONSTANTS = {"TRUE": "Lit", "FALSE": "Lit", "NULL": "Lit", "MISSING": "Missing"}
_BRACKETS = {"[": ("]", "List"), "<<": (">>", "Bag"), "{": ("}", "Struct")}
_PART_STEPS = 5


def refuse_expression(reader: StatementReader, read_verb: ReadVerb) -> NoReturn:
    """Read the whole text as an expression, and refuse it; raises the first syntax error in it."""
    part = _ExpressionReader(reader, read_verb).read(_SET)
    reader.expect_end()
    raise reader.refuse(say.EXISTS_ALONE if part == OPERATOR else say.UNSUPPORTED_OPERATION.format(operation=part))


class _ExpressionReader:
    """Reads expressions by operator precedence; each method returns the outermost part of what it has read."""

    def __init__(self, reader: StatementReader, read_verb: ReadVerb) -> None:
        self._reader = reader
        self._read_verb = read_verb

    def read(self, floor: int, *, is_right_side: bool = False) -> str:
        """Read an expression whose operators bind at least as tightly as `floor`.

        `is_right_side`: an operator precedes the expression; if the text ends there,
        the missing right side is reported.
        """
        spend(_PART_STEPS)
        reader = self._reader
        part = self._read_operand(is_right_side=is_right_side)
        while True:
            kind, text, _, _ = reader.token
            precedence = (SYMBOL_PRECEDENCES if kind == SYMBOL else _WORDS if kind == KEYWORD else {}).get(text, 0)
            if not precedence or precedence < floor:
                return part
            reader.position += 1
            if text == "IS":
                is_negated = reader.skip_word("NOT")
                read_type(reader)
                part = OPERATOR if is_negated else "IsType"
                continue
            if text == "NOT":
                text = reader.token.text
                if reader.token.kind != KEYWORD or text not in ("BETWEEN", "IN", "LIKE"):
                    reader.fail()
                reader.position += 1
            self.read(precedence + 1, is_right_side=True)
            if text == "BETWEEN":
                reader.take_word("AND", say.EXPECTED_KEYWORD.format(word="AND"))
                if reader.token.kind == END:
                    reader.fail(say.EXPECTED_AFTER_AND)
                self.read(precedence + 1, is_right_side=True)
            part = OPERATOR

    def _read_operand(self, *, is_right_side: bool) -> str:
        """Read signs, NOTs and one operand, with the path after it."""
        reader = self._reader
        if reader.is_word("NOT"):
            while reader.skip_word("NOT"):
                pass
            reader.enter()
            self.read(_NOT)
            reader.depth -= 1
            return OPERATOR
        has_sign = False
        while reader.is_symbol("+") or reader.is_symbol("-"):
            has_sign = True
            reader.position += 1
        is_number = reader.token.kind == NUMBER
        part = self._read_part(is_right_side=is_right_side)
        while reader.is_symbol(".") or reader.is_symbol("["):
            self._read_step()
            part = "Path"
        return OPERATOR if has_sign and not (is_number and part == "Lit") else part

    def _read_part(self, *, is_right_side: bool) -> str:
        reader = self._reader
        kind, text, _, _ = reader.token
        if kind == PARAMETER:
            reader.take_parameter()
            return "Parameter"
        if kind == SYMBOL and text in ("(", "[", "<<", "{"):
            return self._read_brackets(text)
        if kind == END:
            reader.fail(say.MISSING_RIGHT_SIDE if is_right_side else None)
        if kind in (NUMBER, TEXT):
            reader.position += 1
            return "Lit"
        if kind == KEYWORD and text in _CONSTANTS:
            reader.position += 1
            return _CONSTANTS[text]
        if self._read_verb(reader):
            return "Select"
        if reader.is_function():
            reader.position += 1
            self._read_brackets("(")
            return OPERATOR
        if kind not in (NAME, QUOTED):
            reader.fail()
        reader.position += 1
        return "Id"

    def _read_step(self) -> None:
        """Read `.name`, `.*`, `[expression]` or `[*]`."""
        reader = self._reader
        is_name = reader.skip_symbol(".")
        if is_name and not reader.skip_symbol("*"):
            if reader.token.kind not in (NAME, QUOTED):
                reader.fail(say.INVALID_DOT_COMPONENT)
            reader.position += 1
        elif not is_name:
            reader.position += 1
            reader.enter()
            if not reader.skip_symbol("*"):
                self.read(_SET)
            reader.depth -= 1
            reader.take_symbol("]")

    def _read_brackets(self, opener: str) -> str:
        """Read a list, bag or struct, the arguments of a call, or an expression in parentheses."""
        reader = self._reader
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
            inner = self.read(_SET)
            if opener == "{":
                reader.take_symbol(":")
                self.read(_SET)
            if opener == "(" and count == 1 and reader.is_symbol(")"):
                part = inner
        reader.position += 1
        reader.depth -= 1
        return part
