"""How is an expression parsed? By one parser for conditions, key conditions, updates and projections.

The parser builds the tree and records facts for the later checks: names, paths and values in text order, calls and
conditions as they end. It raises only syntax errors and faults of texts that are too long or empty. Nesting uses a list
of frames, not Python's stack, so no text exhausts the stack; each token is read once.

    condition  = comparison | between | in | function | NOT condition | condition AND/OR condition | "(" condition ")"
    operand    = path | :value | function "(" operand, … ")" | "(" operand ")"
    set value  = operand [ "+"/"-" operand ], where an operand may also be "(" set value ")"
"""

from typing import Any, NoReturn

from hashrange.expressions import tree
from hashrange.expressions.lexer import DIGITS, END, NAME, PLACEHOLDER, SYMBOL, VALUE, read_tokens, syntax_fault
from hashrange.items.steps import spend
from hashrange.items.types import Value

CONDITION_KEYWORDS = frozenset(("AND", "OR", "NOT", "BETWEEN", "IN"))
UPDATE_KEYWORDS = frozenset(("SET", "REMOVE", "ADD", "DELETE"))
NO_KEYWORDS: frozenset[str] = frozenset()
_OPERAND_STEPS = 4
COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">="))
_BOUND = "BETWEEN … AND"
"""Pending operator: a BETWEEN whose AND has been read, so that only its upper bound is missing."""
_PRECEDENCE = {"OR": 1, "AND": 2, "NOT": 3, "BETWEEN": 4, _BOUND: 4, "+": 4, "-": 4} | dict.fromkeys(COMPARISONS, 4)

_CONDITIONS = (tree.Comparison, tree.Between, tree.Membership, tree.Not, tree.And, tree.Or)


class _Frame:
    """The content read so far of one open bracket, or outside all brackets.

    `opener`: "call" (arguments of a function), "in" (options of IN), "group" (other parentheses), "top" (no bracket).
    """

    __slots__ = ("arguments", "grouped", "opener", "operators", "subject", "values")

    def __init__(self, opener: str, subject: Any = None) -> None:
        self.opener = opener
        self.subject = subject
        """The function's name of a call, or the operand before IN; otherwise None."""
        self.values: list[tree.Node] = []
        self.operators: list[str] = []
        self.arguments: list[tree.Operand] = []
        self.grouped: tree.Node | None = None
        """The last operand or condition in its own parentheses in this bracket; a "group" of it alone is redundant."""


class ExpressionParser:
    """Parses one expression; its attributes keep facts for the static checks."""

    def __init__(
        self,
        kind: str,
        text: str,
        names: dict[str, str] | None,
        values: dict[str, Value] | None,
        keywords: frozenset[str],
    ) -> None:
        self.kind = kind
        self.text = text
        self.tokens = read_tokens(kind, text)
        self.position = 0
        self.names = names or {}
        self.values = values or {}
        self.keywords = keywords
        self.frames: list[_Frame] = []

        self.bare_names: list[str] = []
        self.paths: list[tree.DocumentPath] = []
        self.calls: list[tree.FunctionCall] = []
        self.value_tokens: list[tree.ValueToken] = []
        self.operand_calls: list[tree.FunctionCall] = []
        """Calls found where an operand is expected."""
        self.conditions: list[tree.ConditionNode] = []
        """Every condition in the text, each after the conditions that it consists of."""
        self.operator_count = 0
        self.has_redundant_parentheses = False
        self.used_names: set[str] = set()
        self.used_values: set[str] = set()

    # --- tokens and paths -----------------------------------------------------------------------

    def fail(self) -> NoReturn:
        """Raise the syntax error at the current token."""
        raise syntax_fault(self.kind, self.text, self.tokens, self.position)

    def keyword(self) -> str:
        """The current token in upper case if it is a keyword, else empty."""
        token = self.tokens[self.position]
        if token.kind == NAME:
            word = token.text.upper()
            if word in self.keywords:
                return word
        return ""

    def take_symbol(self, symbol: str) -> None:
        """Step over the current token; raises a syntax error unless it is `symbol`."""
        token = self.tokens[self.position]
        if token.text != symbol or token.kind != SYMBOL:
            self.fail()
        self.position += 1

    def is_symbol(self, symbol: str) -> bool:
        """True if the current token is `symbol`."""
        token = self.tokens[self.position]
        return token.text == symbol and token.kind == SYMBOL

    def expect_end(self) -> None:
        """Raise a syntax error unless the text ends here."""
        if self.tokens[self.position].kind != END:
            self.fail()

    def read_path(self) -> tree.DocumentPath:
        """Read a document path and resolve its names; refuses a keyword as its first element."""
        spend(_OPERAND_STEPS)
        if self.keyword():
            self.fail()
        undefined: list[str] = []
        elements: list[str | int] = [self._path_name(undefined)]
        while True:
            token = self.tokens[self.position]
            if token.kind != SYMBOL:
                break
            if token.text == ".":
                self.position += 1
                elements.append(self._path_name(undefined))
            elif token.text == "[":
                self.position += 1
                index = self.tokens[self.position]
                if index.kind != DIGITS:
                    self.fail()
                self.position += 1
                self.take_symbol("]")
                elements.append(int(index.text))
            else:
                break
        path = tree.DocumentPath(tuple(elements), undefined[0] if undefined else None)
        self.paths.append(path)
        return path

    def _path_name(self, undefined: list[str]) -> str:
        """Read one name of a path; a `#token` is resolved, or, if it is not defined, added to `undefined`."""
        kind, text, _, _ = self.tokens[self.position]
        if kind not in (NAME, PLACEHOLDER):
            self.fail()
        self.position += 1
        if kind == NAME:
            self.bare_names.append(text)
            return text
        self.used_names.add(text)
        name = self.names.get(text)
        if name is None:
            undefined.append(text)
            return text
        return name

    def read_value_token(self) -> tree.ValueToken:
        """Read a `:token`."""
        token = self.tokens[self.position]
        if token.kind != VALUE:
            self.fail()
        self.position += 1
        self.used_values.add(token.text)
        value = self.values.get(token.text)
        read = tree.ValueToken(token.text, None if value is None else next(iter(value)))
        self.value_tokens.append(read)
        return read

    # --- conditions and operands ----------------------------------------------------------------

    def read_condition(self) -> tree.ConditionNode:
        """Read a condition up to the end of the text."""
        node = self._read_expression()
        self.expect_end()
        return self._as_condition(node)

    def read_set_value(self) -> tree.Operand:
        """Read the right-hand side of a SET action."""
        return self._as_operand(self._read_expression())

    def _read_expression(self) -> tree.Node:
        self.frames = [_Frame("top")]
        while True:
            spend(_OPERAND_STEPS)
            self._read_prefix()
            if self._read_infix():
                return self.frames[0].values[0]

    def _read_prefix(self) -> None:
        """Read NOT and opening brackets, which open frames, then an operand."""
        while True:
            kind, text, _, _ = self.tokens[self.position]
            frame = self.frames[-1]
            if kind == NAME:
                if text.upper() in self.keywords:
                    if text.upper() != "NOT" or frame.opener in ("call", "in") or _awaits_operand(frame):
                        self.fail()
                    self._count_operator()
                    frame.operators.append("NOT")
                    self.position += 1
                    continue
                following = self.tokens[self.position + 1]
                if following.text == "(" and following.kind == SYMBOL:
                    self._count_operator()
                    self.frames.append(_Frame("call", text))
                    self.position += 2
                    continue
                frame.values.append(self.read_path())
            elif kind == PLACEHOLDER:
                frame.values.append(self.read_path())
            elif kind == VALUE:
                frame.values.append(self.read_value_token())
            elif text == "(":
                self.frames.append(_Frame("group"))
                self.position += 1
                continue
            else:
                self.fail()
            return

    def _read_infix(self) -> bool:
        """Read closing brackets, then an operator or comma. True if the expression ends before the current token."""
        while True:
            frame = self.frames[-1]
            _, text, _, _ = token = self.tokens[self.position]
            if token.kind == NAME and self.keyword() in CONDITION_KEYWORDS:
                return self._read_word_operator(frame, text.upper())
            if token.kind == SYMBOL:
                if text == ")" and frame.opener != "top":
                    self._close(frame)
                    continue
                if text == "," and frame.opener in ("call", "in"):
                    self._end_argument(frame)
                    self.position += 1
                    return False
                if self._is_operator(frame, text):
                    frame.operators.append(text)
                    self._count_operator()
                    self.position += 1
                    return False
            if frame.opener != "top":
                self.fail()
            self._reduce(frame, 0)
            return True

    def _is_operator(self, frame: _Frame, text: str) -> bool:
        """True if the symbol `text` is an operator of this kind of expression.

        Raises a syntax error for an operator where none may stand.
        """
        if self.keywords is UPDATE_KEYWORDS:
            if text not in "+-":
                return False
            if frame.operators or frame.opener == "call":
                self.fail()
            return True
        if text not in COMPARISONS:
            return False
        self._require_operand_before(frame)
        return True

    def _require_operand_before(self, frame: _Frame) -> None:
        """Refuse a comparison, BETWEEN or IN among arguments (of a call or IN), or after a condition: `a = b = c`."""
        if frame.opener in ("call", "in") or _awaits_operand(frame) or isinstance(frame.values[-1], _CONDITIONS):
            self.fail()

    def _read_word_operator(self, frame: _Frame, word: str) -> bool:
        """Read AND, OR, BETWEEN or IN; always returns False: the expression does not end here."""
        if word == "AND" and frame.operators and frame.operators[-1] == "BETWEEN":
            frame.operators[-1] = _BOUND
            self.position += 1
            return False
        if word in ("BETWEEN", "IN"):
            self._require_operand_before(frame)
            self._count_operator()
            self.position += 1
            if word == "IN":
                self.take_symbol("(")
                self.frames.append(_Frame("in", frame.values.pop()))
            else:
                frame.operators.append(word)
            return False
        if word == "NOT" or frame.opener in ("call", "in"):
            self.fail()
        self._reduce(frame, _PRECEDENCE[word] + 1)
        self._as_condition(frame.values[-1])
        frame.operators.append(word)
        self._count_operator()
        self.position += 1
        return False

    def _close(self, frame: _Frame) -> None:
        """Close the innermost bracket at its `)`."""
        if frame.opener == "group":
            self._reduce(frame, 0)
            result = frame.values[0]
            if frame.grouped is result:
                self.has_redundant_parentheses = True
        else:
            self._end_argument(frame)
            operands = tuple(frame.arguments)
            if frame.opener == "call":
                result = tree.FunctionCall(frame.subject, operands)
                self.calls.append(result)
            else:
                result = tree.Membership(self._as_operand(frame.subject), operands)
                self.conditions.append(result)
        self.frames.pop()
        outer = self.frames[-1]
        outer.values.append(result)
        if frame.opener == "group":
            outer.grouped = result
        self.position += 1

    def _end_argument(self, frame: _Frame) -> None:
        """Move the operand just read to the arguments of a call or of IN."""
        frame.arguments.append(self._as_operand(frame.values.pop()))

    def _reduce(self, frame: _Frame, precedence: int) -> None:
        """Apply the pending operators that bind at least as tightly as `precedence`."""
        operators, values = frame.operators, frame.values
        while operators and _PRECEDENCE[operators[-1]] >= precedence:
            operator = operators.pop()
            last = values.pop()
            condition: tree.ConditionNode
            if operator in COMPARISONS:
                condition = tree.Comparison(operator, self._as_operand(values.pop()), self._as_operand(last))
            elif operator == "NOT":
                condition = tree.Not(self._as_condition(last))
            elif operator == _BOUND:
                upper, lower = self._as_operand(last), self._as_operand(values.pop())
                condition = tree.Between(self._as_operand(values.pop()), lower, upper)
            elif operator in ("AND", "OR"):
                condition = self._join(frame, operator, self._as_condition(last))
            elif operator == "BETWEEN":
                self.fail()
            else:
                values.append(tree.Arithmetic(operator, self._as_operand(values.pop()), self._as_operand(last)))
                continue
            self.conditions.append(condition)
            values.append(condition)

    def _join(self, frame: _Frame, operator: str, last: tree.ConditionNode) -> tree.ConditionNode:
        """Join a chain of AND, or of OR, whose last condition is `last`, into one node."""
        parts: list[Any] = [last, frame.values.pop()]
        while frame.operators and frame.operators[-1] == operator:
            frame.operators.pop()
            parts.append(frame.values.pop())
        parts.reverse()
        return tree.And(tuple(parts)) if operator == "AND" else tree.Or(tuple(parts))

    def _as_operand(self, node: tree.Node) -> tree.Operand:
        """Return `node` as an operand, and record it if it is a call; refuses a condition."""
        if isinstance(node, _CONDITIONS):
            self.fail()
        if isinstance(node, tree.FunctionCall):
            self.operand_calls.append(node)
        return node

    def _as_condition(self, node: tree.Node) -> tree.ConditionNode:
        """Return `node` as a condition, and record it if it is a call; refuses an operand."""
        if isinstance(node, tree.FunctionCall):
            self.conditions.append(node)
            return node
        if not isinstance(node, _CONDITIONS):
            self.fail()
        return node

    def _count_operator(self) -> None:
        self.operator_count += 1


def _awaits_operand(frame: _Frame) -> bool:
    """True if the last pending operator is a comparison, BETWEEN, + or -: an operand must follow it, no condition."""
    return bool(frame.operators) and _PRECEDENCE[frame.operators[-1]] == 4
