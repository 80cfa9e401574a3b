"""How is the JSON of an item kept short where it is far longer than the item's size? Texts that repeat in it stand as single bytes.

An item of 400 KB may be 4 MB of JSON, when it is all nulls, empty values, control characters or numbers of many zeros; ten such in one commit hold the engine
for 0.1 s and more.
Bytes that canonical JSON never has stand for these texts, so equal JSON has equal packed bytes, and taking them back needs no
reading. Must not know rows. The table is fixed in docs/formats/rows.md.
"""

from collections.abc import Iterator

from hashrange.items.steps import spend

PACKED_AT_ONCE_BYTES = 32 * 1024
"""Each piece of JSON of this length is packed by itself: a text that reaches over its end stays as it is."""

_SHORT_ESCAPES = {0x08: rb"\b", 0x09: rb"\t", 0x0A: rb"\n", 0x0C: rb"\f", 0x0D: rb"\r"}
_ESCAPES = {bytes((code,)): _SHORT_ESCAPES.get(code, rb"\u%04x" % code) for code in range(0x20)}
"""A control character stands for its own escape."""
_NEVER_IN_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))
_WORDS_OF_FORMAT_7 = (
    b'{"NULL":true},', b'{"BOOL":true},', b'{"BOOL":false},', b'{"S":""},', b'{"L":[]},', b'{"M":{}},',
    b'{"N":"', b'{"S":"', b'{"B":"', b'{"L":[', b'{"M":{', b'"},', b'","',
)  # fmt: skip
_WORDS = (
    b"0" * 32, b"0" * 8, b"0" * 4, b"0" * 2, b'{"S":""},', b'{"B":""},', b'{"NULL":true}', b'{"BOOL":true}', b'{"BOOL":false}',
    b'{"N":"', b'{"S":"', b'{"B":"', b'{"L":[', b'{"M":{', b'"}', b'","', b"]}", b"}}",
)  # fmt: skip
"""What makes the text shortest comes first: a number like 1E-130 counts 3 bytes, and is written with 129 zeros."""

SubstitutionTable = dict[bytes, bytes]
"""Byte → the text that it stands for, in the order in which texts are replaced."""
SUBSTITUTIONS_OF_FORMAT_7: SubstitutionTable = _ESCAPES | {
    bytes((code,)): word for code, word in zip(_NEVER_IN_UTF8, _WORDS_OF_FORMAT_7, strict=True)
}
"""Rows that were packed by it are read as they are."""
SUBSTITUTIONS: SubstitutionTable = {byte: text for byte, text in _ESCAPES.items() if byte[0] not in _SHORT_ESCAPES} | {
    bytes((code,)): word for code, word in zip((*_SHORT_ESCAPES, *_NEVER_IN_UTF8), _WORDS, strict=True)
}
"""Escapes of two characters stay as they are."""
_WITHOUT_ESCAPES = {byte: text for byte, text in SUBSTITUTIONS.items() if not text.startswith(b"\\")}


def pack(text: bytes) -> bytes:
    """Canonical JSON, packed. 5 to 50 ns a byte; gives way."""
    return b"".join([_packed(piece) for piece in _pieces(text)])


def unpack(packed: bytes, table: SubstitutionTable = SUBSTITUTIONS) -> bytes:
    """The JSON that was packed. 2 to 10 ns for each of its bytes; gives way."""
    return b"".join([_unpacked(piece, table) for piece in _pieces(packed)])


def unpacked_bytes(packed: bytes, table: SubstitutionTable = SUBSTITUTIONS) -> int:
    """The length of the JSON that was packed, without making it. 1 to 4 ns for each packed byte; gives way."""
    size_bytes = len(packed)
    added = _ADDED if table is SUBSTITUTIONS else _added(table)
    for piece in _pieces(packed):
        for added_bytes, these in added.items():
            others = piece.translate(None, these)
            size_bytes += (len(piece) - len(others)) * added_bytes
            piece = others
    return size_bytes


def _added(table: SubstitutionTable) -> dict[int, bytes]:
    """How much longer a text is than the byte that stands for it → all such bytes."""
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
