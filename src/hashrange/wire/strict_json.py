"""What does the strict decoder of the service's search endpoint say of a body? It quotes serde, with the place where
the parser stands.

The body is well-formed JSON. Members are read in the order of the text, and the first that does not fit ends the
reading; members that are missing are told afterwards, the first of them in the struct's order. Unknown members are
passed over. A fault of types is a SerializationException, one of values a ValidationException.

The parser stands behind the last byte that it has read: behind a scalar or a name, but before the bracket of a list or
map that is not expected, and behind the closing bracket of a body that lacks members. Columns count bytes, from 1.
Sources: vectors.md 8; the parser's own rules: the source of serde_json 1.0 (de.rs).
"""

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import NoReturn

import msgspec

from hashrange.errors import Malformed, SerializationException, StrictTypeFault, ValidationException
from hashrange.items.binary import decode_base64
from hashrange.items.numbers import float_text
from hashrange.items.steps import PIECE_BYTES, spend, spend_decoding
from hashrange.items.types import TYPE_NAMES
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.messages import vectors as say
from hashrange.wire.shape import Shape

INTERNAL_TYPE_NAMES = frozenset(("DECIMAL", "DECIMALSET", "DOUBLE", "DOUBLESET", "INT", "INTSET"))
"""Types that the endpoint's attribute values have beside those of the API."""
_VARIANTS = ", ".join([f"`{name}`" for name in sorted({*TYPE_NAMES, *INTERNAL_TYPE_NAMES})])
_BRACKETS_MAX = 127
"""Most brackets of the values that are read around each other; the parser gives up on more."""

_match_blanks = re.compile(rb"[ \t\n\r]*+").match
_match_number = re.compile(rb"[-+.0-9eE]*+").match
_decode_text = msgspec.json.Decoder(str).decode
_next_mark = re.compile(rb'["\[\]{}]').search
_FIRST_PIECE_BYTES = 64
"""Bytes in which the end of a text is sought first; each further piece is twice as long, up to PIECE_BYTES."""
_WORDS = {ord("n"): b"null", ord("t"): b"true", ord("f"): b"false"}
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1
_INTEGER_BYTES_MAX = len(str(2**64))
_PLAIN = range(-5, 16)
"""Exponents of floats that are quoted without one."""


def require_strictly(body: bytes, shape: Shape) -> None:
    """Raise the first fault of a body's members: SerializationException or ValidationException. `body`: a JSON object.

    `shape`: that of the request's struct. Takes 4 µs for each element of a list of numbers; gives way.
    """
    _StrictReader(body).read_request(shape)


class _UnplacedFault(Exception):
    """A fault that gets its place only when the parser has left the list or map around the value."""


class _StrictReader:
    """A place in a body, which moves on as the parser's does."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.place = 0
        """How many bytes have been read."""
        self.brackets = 0

    # --- faults ---------------------------------------------------------------------------------

    def words(self, fault: str) -> str:
        """The fault with the place where the parser stands."""
        line = 1
        for start in range(0, self.place, PIECE_BYTES):
            spend(_steps_of(PIECE_BYTES))
            line += self.body.count(b"\n", start, min(start + PIECE_BYTES, self.place))
        column = self.place - 1 - self.body.rfind(b"\n", 0, self.place)
        return say.AT.format(fault=fault, line=line, column=column)

    def type_fault(self, found: str, expected: str) -> StrictTypeFault:
        """The fault of a value of another type, which has been read."""
        return StrictTypeFault(self.words(say.INVALID_TYPE.format(found=found, expected=expected)))

    def value_fault(self, found: str, expected: str) -> ValidationException:
        """The fault of a value of the right type that is not valid, which has been read."""
        return ValidationException(self.words(say.INVALID_VALUE.format(found=found, expected=expected)))

    def refuse_type(self, expected: str) -> NoReturn:
        """Raise the fault of a value of another type, which begins here."""
        found = self._read_found()
        raise self.type_fault(found, expected)

    def _read_found(self) -> str:
        """How the value that begins here is quoted; moves behind a scalar."""
        first = self.body[self.place]
        if first == ord("["):
            return say.FOUND_LIST
        if first == ord("{"):
            return say.FOUND_MAP
        if first == ord('"'):
            return say.FOUND_TEXT.format(value=_escaped(self.take_text()))
        if first in _WORDS:
            self.place += len(_WORDS[first])
            return say.FOUND_NULL if first == ord("n") else say.FOUND_BOOLEAN.format(value=_WORDS[first].decode())
        number = self.take_number()
        if isinstance(number, float):
            return say.FOUND_FLOAT.format(value=_float_text(number))
        return say.FOUND_INTEGER.format(value=number)

    # --- tokens ---------------------------------------------------------------------------------

    def peek(self) -> int:
        """Move to the next byte that is no blank, and return it."""
        byte = self.body[self.place]
        if byte not in b" \t\n\r":
            return byte
        self._pass_run(_match_blanks)
        return self.body[self.place]

    def _pass_run(self, match: Callable[[bytes, int, int], re.Match[bytes] | None]) -> None:
        """Move behind all bytes that follow and are of the class that `match` repeats; gives way."""
        end = self.place
        while self.place == end:
            end += PIECE_BYTES
            found = match(self.body, self.place, end)
            assert found is not None, "any number of bytes matches"
            spend(_steps_of(found.end() - self.place))
            self.place = found.end()

    def take_text(self) -> str:
        """Read the text that begins here."""
        start = self.place
        self.pass_text()
        text = self.body[start : self.place]
        if len(text) >= PIECE_BYTES:
            spend_decoding(len(text))
        return _decode_text(text)

    def pass_text(self) -> None:
        """Move behind the text that begins here; gives way."""
        place, size_bytes = self.place + 1, _FIRST_PIECE_BYTES
        while True:
            spend(1 + (size_bytes >> 7))
            piece = self.body[place : place + size_bytes]
            assert piece, "the body is JSON"
            if b"\\" in piece:
                piece = _without_escapes(piece)
            if (end := piece.find(b'"')) >= 0:
                self.place = place + end + 1
                return
            place += len(piece)
            size_bytes = min(2 * size_bytes, PIECE_BYTES)

    def take_number(self) -> int | float:
        """Read the number that begins here: an int if it is whole and has 64 bits at most, as serde does."""
        start = self.place
        self._pass_run(_match_number)
        text = self.body[start : self.place]
        if len(text) <= _INTEGER_BYTES_MAX and text != b"-0" and text.removeprefix(b"-").isdigit():
            number = int(text)
            if -_INT64_MAX - 1 <= number < 2**64:
                return number
        read = float(text)
        if read in (float("inf"), float("-inf")):
            raise SerializationException
        return read

    def pass_over(self) -> None:
        """Read any value; gives way."""
        first = self.peek()
        if first in b"[{":
            self._pass_brackets()
        elif first == ord('"'):
            self.pass_text()
        elif first in _WORDS:
            self.place += len(_WORDS[first])
        else:
            self.take_number()

    def _pass_brackets(self) -> None:
        """Move behind the list or map that begins here; gives way."""
        depth = 0
        while True:
            end = self.place + PIECE_BYTES
            found = _next_mark(self.body, self.place, end)
            spend(_steps_of((end if found is None else found.start()) - self.place))
            if found is None:
                self.place = end
            elif found[0] == b'"':
                self.place = found.start()
                self.pass_text()
            else:
                self.place = found.end()
                depth += 1 if found[0] in b"[{" else -1
                if not depth:
                    return

    def _open(self) -> None:
        """Read a bracket. Raises SerializationException if it is inside of too many others."""
        self.place += 1
        self.brackets += 1
        if self.brackets > _BRACKETS_MAX:
            raise SerializationException

    def _is_closed(self, bracket: int) -> bool:
        """True at the closing bracket, which is read; otherwise reads the comma before the next member, if any."""
        following = self.peek()
        if following == bracket:
            self.place += 1
            self.brackets -= 1
            return True
        if following == ord(","):
            self.place += 1
            self.peek()
        return False

    def take_name(self) -> str:
        """Read a member's name, and the colon behind it."""
        name = self.take_text()
        self.peek()
        self.place += 1
        self.peek()
        return name

    # --- values ---------------------------------------------------------------------------------

    def read_request(self, shape: Shape) -> None:
        """Read the body."""
        declared = {one.name: one for one in shape.members}
        given: set[str] = set()
        self.peek()
        self._open()
        while not self._is_closed(ord("}")):
            name = self.take_name()
            member = declared.get(name)
            if member is None or (not member.is_required and self.body[self.place] == ord("n")):
                self.pass_over()
            else:
                given.add(name)
                self.read(member.shape)
        for name, member in declared.items():
            if member.is_required and name not in given:
                raise ValidationException(self.words(say.MISSING_MEMBER.format(name=name)))

    def read(self, shape: Shape) -> None:
        """Read a value that is declared as `shape`."""
        match shape.kind:
            case "String":
                self.read_text()
            case "Integer":
                self._read_integer()
            case "List":
                assert shape.member is not None
                self._read_list(partial(self.read, shape.member))
            case "Map":
                assert shape.member is not None
                self._read_map(partial(self.read, shape.member))
            case _:
                assert shape.kind == "AttributeValue", f"no request that is read strictly has a {shape.kind}"
                self._read_attribute_value()

    def read_text(self, expected: str = say.EXPECTED_TEXT) -> str:
        """Read a text."""
        if self.peek() != ord('"'):
            self.refuse_type(expected)
        return self.take_text()

    def _read_integer(self) -> None:
        """Read a whole number of 32 bits."""
        first = self.peek()
        if first in b'[{"' or first in _WORDS:
            self.refuse_type(say.EXPECTED_INTEGER)
        number = self.take_number()
        if isinstance(number, float):
            raise self.type_fault(say.FOUND_FLOAT.format(value=_float_text(number)), say.EXPECTED_INTEGER)
        if not -_INT32_MAX - 1 <= number <= _INT32_MAX:
            raise self.value_fault(say.FOUND_INTEGER.format(value=number), say.EXPECTED_INTEGER)

    def _read_list(self, read_element: Callable[[], object]) -> None:
        if self.peek() != ord("["):
            self.refuse_type(say.EXPECTED_LIST)
        self._open()
        try:
            while not self._is_closed(ord("]")):
                spend(1)
                read_element()
        except _UnplacedFault as fault:
            if self.peek() == ord("]"):
                self.place += 1
            else:  # a comma
                self.place += 1
                self.peek()
            raise StrictTypeFault(self.words(str(fault))) from None

    def _read_map(self, read_value: Callable[[], object]) -> None:
        if self.peek() != ord("{"):
            self.refuse_type(say.EXPECTED_MAP)
        self._open()
        try:
            while not self._is_closed(ord("}")):
                spend(1)
                self.take_name()
                read_value()
        except _UnplacedFault as fault:
            if self.peek() == ord("}"):
                self.place += 1
            raise StrictTypeFault(self.words(str(fault))) from None

    # --- attribute values -------------------------------------------------------------------------

    def _read_attribute_value(self) -> None:
        """Read an attribute value: a map of one type's name and its content."""
        first = self.peek()
        if first == ord('"'):
            self._require_type(self.take_text())
            raise _UnplacedFault(say.INVALID_TYPE.format(found=say.FOUND_NAME, expected=say.EXPECTED_VARIANT))
        if first != ord("{"):
            raise SerializationException
        self._open()
        if self.peek() != ord('"'):
            raise SerializationException  # there is no type
        name = self.take_text()
        self._require_type(name)
        self.peek()
        self.place += 1
        self.peek()
        self._read_content(name)
        if not self._is_closed(ord("}")):
            raise SerializationException  # there are several types

    def _require_type(self, name: str) -> None:
        if name not in TYPE_NAMES and name not in INTERNAL_TYPE_NAMES:
            raise ValidationException(self.words(say.UNKNOWN_TYPE.format(name=_shown(name), names=_VARIANTS)))

    def _read_content(self, type_name: str) -> None:
        """Read the content of a value of this type."""
        match type_name:
            case "S" | "N":
                self.read_text()
            case "B":
                self._read_base64()
            case "BOOL" | "NULL":
                if self.peek() not in b"tf":
                    self.refuse_type(say.EXPECTED_BOOLEAN)
                self.pass_over()
            case "SS" | "NS":
                self._read_list(self.read_text)
            case "BS":
                self._read_list(self._read_base64)
            case "L":
                self._read_list(self._read_attribute_value)
            case "M":
                self._read_map(self._read_attribute_value)
            case _:
                self.pass_over()

    def _read_base64(self) -> None:
        text = self.read_text(say.EXPECTED_BASE64)
        spend(len(text) >> 8)
        try:
            decode_base64(text)
        except Malformed:
            raise self.value_fault(say.FOUND_TEXT.format(value=_escaped(text)), say.EXPECTED_BASE64) from None


# --- pieces of a body ------------------------------------------------------------------------------


def _steps_of(size_bytes: int) -> int:
    """The steps of reading this many bytes: a piece of PIECE_BYTES takes at most 0.6 ms."""
    return 1 + (size_bytes >> 6)


def _without_escapes(piece: bytes) -> bytes:
    """Part of a text with blanks in place of escaped quotation marks and backslashes, so that the first quotation mark
    ends the text. A last backslash whose character is not in the piece is left out.
    """
    return piece.replace(b"\\\\", b"  ").replace(b'\\"', b"  ").removesuffix(b"\\")


# --- values as serde quotes them ------------------------------------------------------------------


def _shown(text: str) -> str:
    """As much of a text as a message can show; a reply cuts the message there."""
    return text[: MESSAGE_CHARACTERS_MAX + 1]


def _escaped(text: str) -> str:
    """A text as Rust shows it between quotes, except that marks without a letter of their own stay as they are."""
    text = _shown(text)
    for mark, name in _ESCAPES:
        spend(_steps_of(len(text)))
        text = text.replace(mark, f"\\{name}")
    return text


_ESCAPES = (("\\", "\\"), ('"', '"'), ("\n", "n"), ("\r", "r"), ("\t", "t"), ("\0", "0"))
"""Mark → its letter; the backslash, which precedes each letter, is first."""


def _float_text(number: float) -> str:
    """The shortest decimal of a float: `3.5`, `100.0`, `1e20`."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if not number:
        return "-0.0" if sign else "0.0"
    written = "".join(map(str, digits))
    exponent += len(written) - 1
    return float_text(is_negative=bool(sign), digits=written, first_exponent=exponent, plain=_PLAIN)
