"""How are PartiQL literals read, including the item of an INSERT? A literal becomes a value; a literal that contains
parameters becomes a function that builds values.

Literals are checked and made canonical once, when the statement is compiled. Literals that contain parameters are built
and checked for each request; an INSERT's item is checked for each request, too. A number's fault reports the number's
path in the literal (`root[1]`). Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from hashrange.errors import NumberFault
from hashrange.expressions.lexer import NAME, SYMBOL
from hashrange.expressions.partiql.lexer import KEYWORD, NUMBER, PARAMETER, QUOTED, TEXT
from hashrange.expressions.partiql.reader import StatementReader, type_of_data
from hashrange.expressions.partiql.tree import Constant, Data, ListData, MapData, Parameter, SetData
from hashrange.items.numbers import normalize_number
from hashrange.items.steps import spend
from hashrange.items.types import Value
from hashrange.items.values import check_value
from hashrange.limits import NESTING_LEVELS_MAX, NUMBER_DIGITS_MAX
from hashrange.messages.partiql import BAG_MEMBER, EMPTY_BAG, MIXED_BAG, UNDER_KEY, UNSUPPORTED_DATA
from hashrange.messages.values import NESTING_TOO_DEEP

Build = Callable[[Sequence[Value]], Value]
"""A request's parameters → a value, on which `check_value` must still be called."""

ROOT = "root"
_WORDS = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
_OPENERS = ("[", "{", "<<")
_LITERAL_STEPS = 3


def begins_data(reader: StatementReader) -> bool:
    """True if a literal or parameter begins at the current token."""
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == SYMBOL:
        return text in _OPENERS or (text in ("+", "-") and reader.following.kind == NUMBER)
    return kind in (TEXT, NUMBER, PARAMETER) or (kind == KEYWORD and text in _WORDS)


def read_data(reader: StatementReader, key: str = ROOT, level: int = 0) -> Data:
    """Read a literal or parameter; `key` is its path in messages (`root[1]`), `level` counts brackets around it."""
    spend(_LITERAL_STEPS)
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == TEXT:
        reader.position += 1
        return Constant({"S": text})
    if kind == PARAMETER:
        return reader.take_parameter()
    if kind == NUMBER or (kind == SYMBOL and text in ("+", "-")):
        return _read_number(reader, key)
    if kind == KEYWORD and text in _WORDS:
        reader.position += 1
        return Constant(_WORDS[text])
    if kind != SYMBOL or text not in _OPENERS:
        _refuse(reader, key)
    if level >= NESTING_LEVELS_MAX:
        raise reader.refuse(UNDER_KEY.format(message=NESTING_TOO_DEEP, key=ROOT))
    reader.position += 1
    if text == "[":
        return _read_list(reader, key, level)
    return _read_tuple(reader, key, level) if text == "{" else _read_bag(reader, key, level)


def read_item(reader: StatementReader) -> Data:
    """Read an INSERT's tuple; messages call each attribute's value `root`."""
    reader.position += 1
    return _read_tuple(reader, None, 0)


def _refuse(reader: StatementReader, key: str) -> NoReturn:
    """Raise the fault of a token that begins no data: unsupported name, function or MISSING, else a syntax error."""
    kind, text, _, _ = reader.token
    is_call = kind in (NAME, KEYWORD) and reader.is_call()
    if kind in (NAME, QUOTED) or is_call or (kind == KEYWORD and text == "MISSING"):
        name = text.lower() if is_call else text
        raise reader.refuse(UNSUPPORTED_DATA.format(data=name, key=key, place=reader.place(reader.position)))
    reader.fail()


def _read_number(reader: StatementReader, key: str) -> Constant:
    kind, text, _, _ = reader.tokens[reader.position]
    if kind == NUMBER and text.isdigit() and text[0] != "0" and len(text) <= NUMBER_DIGITS_MAX:  # already canonical
        reader.position += 1
        return Constant({"N": text})
    sign = ""
    while reader.token.kind == SYMBOL and reader.token.text in ("+", "-"):
        if reader.token.text == "-":
            sign = "" if sign else "-"
        reader.position += 1
    kind, text, _, _ = reader.token
    if kind != NUMBER:
        reader.fail()
    reader.position += 1
    try:
        return Constant({"N": normalize_number(sign + text)})
    except NumberFault as refusal:
        raise reader.refuse(UNDER_KEY.format(message=refusal.message, key=key)) from None


def _read_list(reader: StatementReader, key: str, level: int) -> Data:
    elements: list[Data] = []
    while not reader.skip_symbol("]"):
        if elements:
            reader.take_symbol(",", "]")
        elements.append(read_data(reader, f"{key}[{len(elements)}]", level + 1))
    if all(isinstance(element, Constant) for element in elements):
        return Constant({"L": [element.value for element in elements if isinstance(element, Constant)]})
    return ListData(tuple(elements))


def _read_tuple(reader: StatementReader, key: str | None, level: int) -> Data:
    """Read `{'k': v}` after `{`; `key` is the tuple's path in messages, or None for an INSERT's item."""
    members: dict[str, Data] = {}
    is_first = True
    while not reader.skip_symbol("}"):
        if not is_first:
            reader.take_symbol(",", "}")
        is_first = False
        kind, name, _, _ = reader.token
        if kind not in (TEXT, QUOTED):
            reader.fail()
        reader.position += 1
        reader.take_symbol(":")
        members[name] = read_data(reader, ROOT if key is None else f"{key}.{name}", level + 1)
    if all(isinstance(member, Constant) for member in members.values()):
        return Constant({"M": {name: member.value for name, member in members.items() if isinstance(member, Constant)}})
    return MapData(tuple(members.items()))


def _read_bag(reader: StatementReader, key: str, level: int) -> Data:
    """Read `<<a, b>>` after `<<`; the members' type determines the set's type."""
    members: list[Data] = []
    while not reader.skip_symbol(">>"):
        if members:
            reader.take_symbol(",", ">>")
        members.append(read_data(reader, f"{key}[{len(members)}]", level + 1))
    if not members:
        raise reader.refuse(EMPTY_BAG)
    types = {type_of_data(member) for member in members}
    if len(types) > 1:
        raise reader.refuse(MIXED_BAG)
    (type_name,) = types
    if type_name not in ("S", "N", "B"):
        raise reader.refuse(BAG_MEMBER.format(data=type_name))
    data = SetData(type_name + "S", tuple(members))
    if any(isinstance(member, Parameter) for member in members):
        return data
    return Constant(check_value(compile_build(data)(()))[0])


# --- values of one request ------------------------------------------------------------------------


def compile_build(data: Data) -> Build:
    """Return a function that builds the value of `data` from a request's parameters."""
    if isinstance(data, Constant):
        value = data.value
        return lambda _parameters: value
    if isinstance(data, Parameter):
        position = data.position
        return lambda parameters: parameters[position]
    if isinstance(data, MapData):
        build_map = compile_build_map(data)
        return lambda parameters: {"M": build_map(parameters)}
    if isinstance(data, ListData):
        builds = [compile_build(element) for element in data.elements]
        return lambda parameters: {"L": [build(parameters) for build in builds]}
    type_name = data.type_name
    member_type = type_name[0]
    builds = [compile_build(member) for member in data.members]
    return lambda parameters: {type_name: [build(parameters)[member_type] for build in builds]}


def compile_build_map(data: MapData) -> Callable[[Sequence[Value]], dict[str, Any]]:
    """Return a function that builds a tuple's members (name → value) from a request's parameters."""
    constants = {name: member.value for name, member in data.members if isinstance(member, Constant)}
    if not constants and all(isinstance(member, Parameter) for _, member in data.members):
        names = [name for name, _ in data.members]
        positions = [member.position for _, member in data.members if isinstance(member, Parameter)]
        if positions == list(range(positions[0], positions[0] + len(positions))):
            first, last = positions[0], positions[-1] + 1
            return lambda parameters: dict(zip(names, parameters[first:last], strict=True))
    builds = [(name, compile_build(member)) for name, member in data.members]
    return lambda parameters: {name: build(parameters) for name, build in builds}
