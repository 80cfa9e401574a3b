"""How is JSON packed and unpacked? Single bytes replace frequent texts; `rows.py` decides which items are packed.

An item of 400 KB may have 4 MB of JSON if it consists of nulls, empty values, control characters or numbers with many
zeros; ten such items in one commit occupy the engine for 0.1 s and more. The replacing bytes never occur in canonical
JSON, so equal JSON has equal packed bytes, and unpacking needs no parser. Must not know rows. The substitution table is
fixed in docs/formats/rows.md.
"""

from collections.abc import Iterator

from hashrange.items.steps import spend

PACKED_AT_ONCE_BYTES = 32 * 1024
"""JSON is packed in pieces of this many bytes; a text of the substitution table that crosses the end of a piece is not
replaced.
"""

_SHORT_ESCAPES = {0x08: rb"\b", 0x09: rb"\t", 0x0A: rb"\n", 0x0C: rb"\f", 0x0D: rb"\r"}
_ESCAPES = {bytes((code,)): _SHORT_ESCAPES.get(code, rb"\u%04x" % code) for code in range(0x20)}
"""Control character → its escape in JSON. In packed bytes, the character replaces its escape if that is six characters
long; in rows packed by the older store format 7, it replaces escapes of two characters too.
"""
_NEVER_IN_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))
_WORDS_OF_FORMAT_7 = (
    b'{"NULL":true},',
    b'{"BOOL":true},',
    b'{"BOOL":false},',
    b'{"S":""},',
    b'{"L":[]},',
    b'{"M":{}},',
    b'{"N":"',
    b'{"S":"',
    b'{"B":"',
    b'{"L":[',
    b'{"M":{',
    b'"},',
    b'","',
)
_WORDS = (
    b"0" * 32,
    b"0" * 8,
    b"0" * 4,
    b"0" * 2,
    b'{"S":""},',
    b'{"B":""},',
    b'{"NULL":true}',
    b'{"BOOL":true}',
    b'{"BOOL":false}',
    b'{"N":"',
    b'{"S":"',
    b'{"B":"',
    b'{"L":[',
    b'{"M":{',
    b'"}',
    b'","',
    b"]}",
    b"}}",
)
"""Texts that single bytes replace, in the order of replacement: a text comes before the texts that it contains.

The runs of zeros are for numbers like 1E-130: in a list, each counts 3 bytes of an item's size, but has 130 zeros in
its JSON.
"""

SubstitutionTable = dict[bytes, bytes]
"""Byte → the text that it replaces, in the order of replacement."""
SUBSTITUTIONS_OF_FORMAT_7: SubstitutionTable = _ESCAPES | {
    bytes((code,)): word for code, word in zip(_NEVER_IN_UTF8, _WORDS_OF_FORMAT_7, strict=True)
}
"""Substitution table of the older store format 7, for reading rows that were packed with it."""
SUBSTITUTIONS: SubstitutionTable = {byte: text for byte, text in _ESCAPES.items() if byte[0] not in _SHORT_ESCAPES} | {
    bytes((code,)): word for code, word in zip((*_SHORT_ESCAPES, *_NEVER_IN_UTF8), _WORDS, strict=True)
}
"""The current substitution table. Escapes of two characters are not replaced: their control characters
replace texts of `_WORDS`.
"""
_WITHOUT_ESCAPES = {byte: text for byte, text in SUBSTITUTIONS.items() if not text.startswith(b"\\")}


def pack(text: bytes) -> bytes:
    """Pack canonical JSON. 5 to 50 ns a byte; gives way."""
    return b"".join([_packed(piece) for piece in _pieces(text)])


def unpack(packed: bytes, table: SubstitutionTable = SUBSTITUTIONS) -> bytes:
    """Unpack packed JSON. 2 to 10 ns a byte of unpacked JSON; gives way."""
    return b"".join([_unpacked(piece, table) for piece in _pieces(packed)])


def unpacked_bytes(packed: bytes, table: SubstitutionTable = SUBSTITUTIONS) -> int:
    """The length of packed JSON once unpacked, without unpacking it. 1 to 7 ns a packed byte; gives way."""
    size_bytes = len(packed)
    added = _ADDED if table is SUBSTITUTIONS else _added(table)
    for piece in _pieces(packed):
        for added_bytes, these in added.items():
            others = piece.translate(None, these)
            size_bytes += (len(piece) - len(others)) * added_bytes
            piece = others
    return size_bytes


def _added(table: SubstitutionTable) -> dict[int, bytes]:
    """Number of bytes → all substitution bytes that become longer by this number when they are unpacked."""
    added: dict[int, bytes] = {}
    for byte, text in table.items():
        added[len(text) - 1] = added.get(len(text) - 1, b"") + byte
    return added


_ADDED = _added(SUBSTITUTIONS)


def _pieces(whole: bytes) -> Iterator[bytes]:
    for start in range(0, len(whole), PACKED_AT_ONCE_BYTES):
        piece = whole[start : start + PACKED_AT_ONCE_BYTES]
        spend(len(piece) >> 5)
        yield piece


def _packed(piece: bytes) -> bytes:
    for byte, text in (SUBSTITUTIONS if b"\\" in piece else _WITHOUT_ESCAPES).items():
        piece = piece.replace(text, byte)
    return piece


def _unpacked(piece: bytes, table: SubstitutionTable) -> bytes:
    for byte, text in reversed(table.items()):
        piece = piece.replace(byte, text)
    return piece
