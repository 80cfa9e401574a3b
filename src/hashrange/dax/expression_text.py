"""What does a binary expression of DAX's clients say? It is written as the text of the same expression, with tokens for
all names and values, so that there is one parser and one evaluator.

A client has parsed the expression, and sends its tree: operators by number, names instead of tokens,
values by their place. Source: dax.md 1.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hashrange.items.paths import Path
from hashrange.items.steps import spend, walk
from hashrange.items.types import Value
from hashrange.wire.dax.attribute_values import attribute_value_of
from hashrange.wire.dax.reading import TAG_LIST_INDEX, VALUES_MAX, BadBytes, CborReader, Tagged

_COMPARISONS = {0: "=", 1: "<>", 2: "<", 3: ">=", 4: ">", 5: "<="}
_AND, _OR, _NOT, _BETWEEN, _IN = 6, 7, 8, 9, 10
_FUNCTIONS = {
    11: "attribute_exists",
    12: "attribute_not_exists",
    13: "attribute_type",
    14: "begins_with",
    15: "contains",
    16: "size",
    23: "if_not_exists",
    24: "list_append",
}
_VARIABLE, _PATH = 17, 18
_CLAUSES = {19: "SET", 20: "ADD", 21: "DELETE", 22: "REMOVE"}
_ARITHMETIC = {25: "+", 26: "-"}
_FORMAT = 1
_NODE_STEPS = 2
"""Steps that writing an operator, path or place counts as."""
REMEMBERED_MAX, REMEMBERED_BYTES_MAX = 1_000, 4_096
"""Expressions that are remembered, and the length of the longest of them."""
TREE_VALUES_MAX = 16_384
"""Operators, names and places of an expression. Its text may have 4 KB, and each of them is a letter at least."""
ENDS_MAX = 64
"""Different lengths that are looked for."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ExpressionText(NamedTuple):
    """An expression as text, with its own names and values."""

    text: str
    names: dict[str, str]
    values: dict[str, Value]


_known: dict[tuple[str, bytes], tuple[str, dict[str, str]]] = {}
"""Letter, and an expression up to its values → text and names."""
_ends: dict[str, list[int]] = {}
"""By letter, the lengths of the bytes in `_known`."""


def condition_text(raw: bytes, letter: str) -> ExpressionText:
    """A condition, filter or key condition. `letter` begins its tokens, so that expressions of one request
    do not share any. Raises BadBytes.

    Expressions are remembered up to their values, as programs repeat them with others: 4 µs.
    """
    return _remembered(raw, letter, _Writer.condition)


def update_text(raw: bytes, letter: str) -> ExpressionText:
    """An update. Raises BadBytes. Remembered, as conditions are."""
    return _remembered(raw, letter, _Writer.update)


def _remembered(raw: bytes, letter: str, write: "Callable[[_Writer, Any], str]") -> ExpressionText:
    for end in _ends.get(letter, ()):
        found = _known.get((letter, raw[:end]))
        if found is not None:
            text, names = found
            reader = CborReader(raw, end, "an expression")
            return ExpressionText(text, names, _tokens(letter, _values(reader)))
    tree, end, values = _read(raw)
    writer = _Writer(letter)
    try:
        text = write(writer, tree)
    except RecursionError:
        raise BadBytes("an expression that is nested too deep") from None
    tokens = _tokens(letter, values)
    _remember(letter, raw[:end], text, writer.names)
    return ExpressionText(text, writer.names, tokens)


def _remember(letter: str, tree: bytes, text: str, names: dict[str, str]) -> None:
    if len(tree) > REMEMBERED_BYTES_MAX:
        return
    ends = _ends.setdefault(letter, [])
    if len(_known) >= REMEMBERED_MAX or (len(ends) >= ENDS_MAX and len(tree) not in ends):
        _known.clear()
        _ends.clear()
        ends = _ends.setdefault(letter, [])
    if len(tree) not in ends:
        ends.append(len(tree))
    _known[letter, tree] = (text, names)


def projected_paths(raw: bytes) -> list[Path]:
    """The paths of a projection, in their order. Raises BadBytes."""
    tree, _, _ = _read(raw)
    if tree.__class__ is not list:
        raise BadBytes("a projection that is no list of paths")
    return [_path(_arguments(node, _PATH)) for node in walk(tree)]


def projection_text(paths: Sequence[Path], letter: str) -> ExpressionText:
    """A projection of these paths."""
    writer = _Writer(letter)
    return ExpressionText(",".join([writer.path(path) for path in walk(paths)]), writer.names, {})


def _read(raw: bytes) -> tuple[Any, int, list[Any]]:
    """Tree of an expression, where it ends, and the values that follow."""
    reader = CborReader(raw, whole="an expression")
    try:
        if not 2 <= reader.head(4) <= 3 or reader.value() != _FORMAT:
            raise BadBytes("an expression of an unknown format")
        reader.values_left = TREE_VALUES_MAX
        tree = reader.value()
        reader.values_left = VALUES_MAX
    except RecursionError:
        raise BadBytes("an expression that is nested too deep") from None
    return tree, reader.at, _values(reader)


def _values(reader: CborReader) -> list[Any]:
    """The values that follow a tree, if there are any."""
    if reader.is_at_end:
        return []
    values = reader.value()
    if values is None:
        values = []
    if values.__class__ is not list or not reader.is_at_end:
        raise BadBytes("values of an expression that are no list")
    return values


def _tokens(letter: str, values: list[Any]) -> dict[str, Value]:
    return {_token(":", letter, place): attribute_value_of(value) for place, value in enumerate(walk(values))}


def _token(sign: str, letter: str, place: int) -> str:
    """The token of a place: `#` or `:`, the expression's letter, and the place in base 36;
    the first place has no digits.
    """
    digits = ""
    while place:
        place, digit = divmod(place, 36)
        digits = _DIGITS[digit] + digits
    return f"{sign}{letter}{digits}"


def _arguments(node: Any, opcode: int) -> list[Any]:
    if node.__class__ is not list or not node or node[0] != opcode:
        raise BadBytes("a node of an expression that is none")
    arguments: list[Any] = node[1:]
    return arguments


def _opcode(node: Any) -> int:
    if node.__class__ is not list or not node or node[0].__class__ is not int:
        raise BadBytes("a node of an expression that is none")
    opcode: int = node[0]
    return opcode


def _path(elements: list[Any]) -> Path:
    """The names and list indices of a path."""
    found: list[str | int] = []
    for element in walk(elements):
        if element.__class__ is str:
            found.append(element)
        elif element.__class__ is Tagged and element.tag == TAG_LIST_INDEX and element.value >= 0:
            found.append(element.value)
        else:
            raise BadBytes("an element of a path that is neither a name nor an index")
    if not found or found[0].__class__ is not str:
        raise BadBytes("a path without a name")
    return tuple(found)


class _Writer:
    """Writes one expression."""

    def __init__(self, letter: str) -> None:
        self._letter = letter
        self.names: dict[str, str] = {}
        """Token → name."""
        self._tokens: dict[str, str] = {}
        """Name → token."""

    def path(self, path: Path) -> str:
        """A path, with tokens for its names."""
        text = ""
        for element in walk(path):
            if isinstance(element, int):
                text += f"[{element}]"
            else:
                text += f".{self._name(element)}" if text else self._name(element)
        return text

    def _name(self, name: str) -> str:
        token = self._tokens.get(name)
        if token is None:
            token = self._tokens[name] = _token("#", self._letter, len(self._tokens))
            self.names[token] = name
        return token

    def condition(self, node: Any, above: int = _OR) -> str:
        """A condition. `above`: the operator above it, which decides whether parentheses are needed."""
        spend(_NODE_STEPS)
        opcode = _opcode(node)
        arguments = node[1:]
        if opcode in _COMPARISONS:
            left, right = self._operands(arguments, 2)
            return f"{left}{_COMPARISONS[opcode]}{right}"
        if opcode in (_AND, _OR):
            if len(arguments) < 2:
                raise BadBytes("an operator that lacks conditions")
            word = " AND " if opcode == _AND else " OR "
            text = word.join([self.condition(one, opcode) for one in arguments])
            return f"({text})" if above == _NOT or (above == _AND and opcode == _OR) else text
        if opcode == _NOT:
            if len(arguments) != 1:
                raise BadBytes("NOT of several conditions")
            return f"NOT {self.condition(arguments[0], _NOT)}"
        if opcode == _BETWEEN:
            operand, lower, upper = self._operands(arguments, 3)
            return f"{operand} BETWEEN {lower} AND {upper}"
        if opcode == _IN:
            if len(arguments) != 2 or arguments[1].__class__ is not list:
                raise BadBytes("IN without a list")
            operands = ",".join([self._operand(one) for one in arguments[1]])
            return f"{self._operand(arguments[0])} IN ({operands})"
        return self._operand(node)

    def update(self, node: Any) -> str:
        """An update: its clauses, each once."""
        if node.__class__ is not list:
            raise BadBytes("an update that is no list of actions")
        clauses: dict[str, list[str]] = {}
        for action in walk(node):
            word = _CLAUSES.get(_opcode(action))
            if word is None or len(action) != (2 if word == "REMOVE" else 3):
                raise BadBytes("an action of an update that is none")
            text = self._operand(action[1])
            if word == "SET":
                text += f"={self._operand(action[2])}"
            elif word != "REMOVE":
                text += f" {self._operand(action[2])}"
            clauses.setdefault(word, []).append(text)
        return " ".join([f"{word} {','.join(actions)}" for word, actions in clauses.items()])

    def _operands(self, nodes: list[Any], count: int) -> list[str]:
        if len(nodes) != count:
            raise BadBytes("an operator with another number of operands")
        return [self._operand(node) for node in nodes]

    def _operand(self, node: Any) -> str:
        spend(_NODE_STEPS)
        opcode = _opcode(node)
        arguments = node[1:]
        if opcode == _PATH:
            return self.path(_path(arguments))
        if opcode == _VARIABLE:
            if len(arguments) != 1 or arguments[0].__class__ is not int or arguments[0] < 0:
                raise BadBytes("a value without a place")
            return _token(":", self._letter, arguments[0])
        if opcode in _FUNCTIONS:
            return f"{_FUNCTIONS[opcode]}({','.join([self._operand(one) for one in arguments])})"
        if opcode in _ARITHMETIC:
            left, right = self._operands(arguments, 2)
            return f"{left}{_ARITHMETIC[opcode]}{right}"
        raise BadBytes(f"an unknown operator, {opcode}")
