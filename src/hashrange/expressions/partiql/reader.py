"""How are a statement's tokens read? By one reader, which records facts for the later static checks.

The reader raises only faults of the text, its literals included. Nesting is bounded, so no statement exhausts
the stack.
"""

from typing import NamedTuple, NoReturn, TypeVar

from hashrange.errors import RequestFault
from hashrange.expressions import tree
from hashrange.expressions.checks import PARTIQL
from hashrange.expressions.lexer import END, NAME, SYMBOL, Token, fault
from hashrange.expressions.partiql.keywords import CALLABLE_KEYWORDS, OPERATOR_WORDS, PREPOSITIONS
from hashrange.expressions.partiql.lexer import (
    KEYWORD,
    NUMBER,
    QUOTED,
    not_well_formed,
    place_of,
    read_statement_tokens,
)
from hashrange.expressions.partiql.tree import Constant, Data, ListData, MapData, Parameter
from hashrange.items.steps import spend
from hashrange.items.values import check_value, type_of
from hashrange.limits import EXPRESSION_OPERATORS_MAX, STATEMENT_NESTING_MAX
from hashrange.messages import partiql as say
from hashrange.messages.expressions import TOO_MANY_OPERATORS

_OPERATORS = frozenset(("=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "/", "%", "||"))
"""Symbols that are operators in every place, unlike `*`."""
_TOKEN_NAMES = {
    ")": "RIGHT_PAREN",
    "]": "RIGHT_BRACKET",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    ":": "COLON",
}
"""Expected symbol → its name in messages."""
_INDEX_DIGITS_MAX = 1_000
"""Digits of a list index that are read. A longer one is out of range whatever follows;
Python converts no more than 4,300."""
_PATH_STEPS = 4
Noted = TypeVar("Noted", bound=tree.ConditionNode)


class PlacedCall(NamedTuple):
    """A function call and the place of its name in the text, `line:column:length`."""

    call: tree.FunctionCall
    place: str


class StatementReader:
    """Reads one statement's tokens; its attributes keep facts for the static checks."""

    kind = PARTIQL

    def __init__(self, text: str, types: tuple[str, ...]) -> None:
        self.text = text
        self.types = types
        """Types of the request's parameters. A text with more `?` than parameters is refused only after parsing."""
        self.tokens = read_statement_tokens(text)
        self.position = 0
        self.depth = 0
        self.parameter_count = 0
        self.data: dict[str, Data] = {}
        """Value token (`?0`, `?1`, …) → the literal or parameter that it stands for."""
        self.paths: list[tree.DocumentPath] = []
        self.calls: list[PlacedCall] = []
        self.operand_calls: list[tree.FunctionCall] = []
        """Calls found as arguments of calls in SET values."""
        self.is_condition = False
        """True while a WHERE clause is read."""
        self.compares_missing = False
        """True if a condition has MISSING in another place than beside IS."""
        self.first_refusal: tuple[int, RequestFault] | None = None
        """The first of `refuse_later`, and the number of conditions recorded before it."""
        self.conditions: list[tree.ConditionNode] = []
        """Every condition in the text, each after the conditions that it consists of."""
        self.operator_count = 0

    # --- tokens -----------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """The current token."""
        return self.tokens[self.position]

    @property
    def following(self) -> Token:
        """The token after the current one; at the end, the END token."""
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def is_call(self) -> bool:
        """True if `(` follows the current token."""
        kind, text, _, _ = self.following
        return kind == SYMBOL and text == "("

    def is_function(self) -> bool:
        """True if the current token is the name of a function that is called."""
        kind, text, _, _ = self.token
        return self.is_call() and (kind == NAME or (kind == KEYWORD and text in CALLABLE_KEYWORDS))

    def fail(self, detail: str | None = None) -> NoReturn:
        """Raise a syntax error: `detail`, by default the message for the current token's kind."""
        if detail is None:
            token = self.token
            detail = say.UNEXPECTED_TERM
            if self.is_operator():
                detail = say.UNEXPECTED_OPERATOR
            elif token.kind == KEYWORD and token.text not in PREPOSITIONS:
                detail = say.UNEXPECTED_KEYWORD
        raise not_well_formed(detail)

    def is_operator(self) -> bool:
        """True if the current token is a keyword in OPERATOR_WORDS or a symbol in _OPERATORS."""
        kind, text, _, _ = self.token
        return text in (OPERATOR_WORDS if kind == KEYWORD else _OPERATORS if kind == SYMBOL else ())

    def is_word(self, word: str) -> bool:
        """True if the current token is `word` (upper case), keyword or not."""
        kind, text, _, _ = self.tokens[self.position]
        return text == word if kind == KEYWORD else kind == NAME and text.upper() == word

    def is_symbol(self, symbol: str) -> bool:
        """True if the current token is `symbol`."""
        kind, text, _, _ = self.tokens[self.position]
        return kind == SYMBOL and text == symbol

    def skip_word(self, word: str) -> bool:
        """Step over `word` and return True if it is the current token."""
        if self.is_word(word):
            self.position += 1
            return True
        return False

    def skip_symbol(self, symbol: str) -> bool:
        """Step over `symbol` and return True if it is the current token."""
        if self.is_symbol(symbol):
            self.position += 1
            return True
        return False

    def take_word(self, word: str, detail: str | None = None) -> None:
        """Step over `word`; if it is not the current token, `fail` with `detail`."""
        if not self.skip_word(word):
            self.fail(detail)

    def take_symbol(self, symbol: str, expected: str | None = None) -> None:
        """Step over `symbol`; otherwise raise a syntax error that may name `expected`, by default `symbol`."""
        if not self.skip_symbol(symbol):
            name = _TOKEN_NAMES.get(expected or symbol)
            self.fail(None if name is None or self.is_operator() else say.EXPECTED_MARK.format(mark=name))

    def expect_end(self) -> None:
        """Raise a syntax error unless the statement ends here, perhaps with one semicolon."""
        is_closed = self.skip_symbol(";")
        if self.token.kind != END:
            self.fail(say.SECOND_STATEMENT if is_closed else say.TRAILING_TEXT)

    def place(self, first: int, last: int | None = None) -> str:
        """`line:column:length` of the tokens from position `first` to `last`."""
        return place_of(self.text, self.tokens[first].start, self.tokens[first if last is None else last].end)

    def refuse(self, message: str) -> RequestFault:
        """Return the RequestFault with this message, which the caller raises; `fail` is for syntax errors."""
        return fault(self.kind, message)

    def refuse_later(self, refusal: RequestFault) -> None:
        """Record a fault of a condition, which the static checks raise, in the order of the text."""
        if self.first_refusal is None:
            self.first_refusal = len(self.conditions), refusal

    def enter(self) -> None:
        """Enter one more level of brackets or NOT; refuses too many levels."""
        self.depth += 1
        if self.depth > STATEMENT_NESTING_MAX:
            raise self.refuse(TOO_MANY_OPERATORS.format(count=EXPRESSION_OPERATORS_MAX + 1))

    def note(self, condition: Noted) -> Noted:
        """Record and return a condition; the conditions that it consists of must be recorded already."""
        self.conditions.append(condition)
        return condition

    # --- values and paths -------------------------------------------------------------------------

    def add_value(self, data: Data) -> tree.ValueToken:
        """Return a new value token for a literal or parameter; raises the faults of a constant list or map."""
        type_name = type_of_data(data)
        if type_name in ("L", "M") and isinstance(data, Constant):
            check_value(data.value)
        token = f"?{len(self.data)}"
        self.data[token] = data
        return tree.ValueToken(token, type_name)

    def take_parameter(self) -> Parameter:
        """Read a `?` as the next parameter."""
        position = self.parameter_count
        self.parameter_count += 1
        self.position += 1
        return Parameter(position, self.types[position] if position < len(self.types) else "S")

    def read_path(self, detail: str | None = None) -> tree.DocumentPath:
        """Read a document path; `detail` is the message if the current token begins no path."""
        spend(_PATH_STEPS)
        kind = self.token.kind
        if kind not in (NAME, QUOTED):
            self.fail(detail)
        elements: list[str | int] = []
        self._add_name(elements)
        while True:
            if self.skip_symbol("."):
                kind = self.token.kind
                if self.is_symbol("*"):
                    raise self.refuse(say.UNEXPECTED_PATH_COMPONENT.format(place=self.place(self.position)))
                if kind not in (NAME, QUOTED):
                    self.fail(say.INVALID_DOT_COMPONENT)
                self._add_name(elements)
            elif self.skip_symbol("["):
                kind, digits, _, _ = self.token
                if kind != NUMBER or not digits.isdigit():
                    raise self.refuse(say.UNEXPECTED_PATH_COMPONENT.format(place=self.place(self.position)))
                elements.append(int(digits.lstrip("0")[:_INDEX_DIGITS_MAX] or "0"))
                self.position += 1
                self.take_symbol("]")
            else:
                break
        path = tree.DocumentPath(tuple(elements))
        self.paths.append(path)
        return path

    def _add_name(self, elements: list[str | int]) -> None:
        """Read a name and append it to the elements of a path."""
        name = self.token.text
        if not name:
            raise self.refuse(say.PATH_COMPONENT_EMPTY)
        elements.append(name)
        self.position += 1


def type_of_data(data: Data) -> str:
    """The type (`S`, `L`, …) of the value that a literal or parameter stands for."""
    if isinstance(data, Constant):
        return type_of(data.value)
    if isinstance(data, ListData):
        return "L"
    return "M" if isinstance(data, MapData) else data.type_name
