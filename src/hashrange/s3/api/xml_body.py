"""What does the XML of a request say? Blocks for long ones: 10,000 parts take some 50 ms, in pieces.

The parser is a library that keeps other threads out until it calls back. So it gets a little at a time, and what makes
it work long without a call, or remember much, is refused: a tag with very many attributes, very many names.
"""

from collections.abc import Sequence
from xml.parsers import expat

from hashrange.messages import s3 as say
from hashrange.s3.limits import XML_BYTES_MAX
from hashrange.s3.objects import S3Failure

LEVELS_MAX = 8
NAMES_MAX = 64
"""Most names of elements, attributes and namespaces in one body: those of S3's largest documents are some 20."""
PIECE_BYTES = 1024
"""Bytes that the parser gets at a time. A tag, comment or instruction that ends in none of two pieces is refused."""
TEXT_MAX = 1024
"""Most characters of a member."""


def read_elements(body: bytes, root: str, name: str, most: int) -> Sequence[dict[str, str]]:
    """The members of each element `name` in the root element, of which there may be `most`: text by name. Other
    elements are passed over; namespaces do not matter. Raises MaxMessageLengthExceeded, and MalformedXML also for a
    document type, which may hold entities.
    """
    if len(body) > XML_BYTES_MAX:
        raise S3Failure("MaxMessageLengthExceeded", say.MESSAGE_TOO_LONG, 400, MaxMessageLengthBytes=XML_BYTES_MAX)
    reader = _Reader(root, name, most)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.StartNamespaceDeclHandler = reader.declare
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.add
    parser.DefaultHandler = reader.pass_over
    try:
        for start in range(0, len(body), PIECE_BYTES):
            reader.has_moved = False
            parser.Parse(body[start : start + PIECE_BYTES], False)
            if not reader.has_moved:
                raise ValueError("a tag of more than a kilobyte")
        parser.Parse(b"", True)
    except (expat.ExpatError, UnicodeError, ValueError, LookupError) as error:
        raise S3Failure("MalformedXML", say.MALFORMED_XML) from error
    return reader.found


class _Reader:
    """Collects elements. Each call of the parser sets `has_moved`."""

    def __init__(self, root: str, name: str, most: int) -> None:
        self.found: list[dict[str, str]] = []
        self.has_moved = False
        self._root, self._name, self._most = root, name, most
        self._path: list[str] = []
        self._texts: list[str] = []
        self._length = 0
        self._names: set[str] = set()

    def refuse(self, *_: object) -> None:
        """A document type begins."""
        raise ValueError("a document type")

    def declare(self, prefix: str | None, _uri: str | None) -> None:
        """A namespace is named."""
        self._know(prefix or "")

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._know(name, *attributes)
        local = name.rpartition(" ")[2]
        if len(self._path) >= LEVELS_MAX or (not self._path and local != self._root):
            raise ValueError(local)
        self._path.append(local)
        self._forget()
        if self._path == [self._root, self._name]:
            if len(self.found) == self._most:
                raise ValueError(f"more than {self._most} elements")
            self.found.append({})

    def end(self, _name: str) -> None:
        """An element ends."""
        self.has_moved = True
        if self._is_member:
            self.found[-1][self._path[2]] = "".join(self._texts).strip()
        self._path.pop()
        self._forget()

    def add(self, text: str) -> None:
        """Text of the element comes, perhaps in pieces."""
        self.has_moved = True
        if self._is_member:
            self._length += len(text)
            if self._length > TEXT_MAX:
                raise ValueError("a member of more than a kilobyte")
            self._texts.append(text)

    def pass_over(self, _data: str) -> None:
        """Something else comes: a comment, an instruction, white space between."""
        self.has_moved = True

    @property
    def _is_member(self) -> bool:
        return len(self._path) == 3 and self._path[1] == self._name

    def _forget(self) -> None:
        self._texts = []
        self._length = 0

    def _know(self, *names: str) -> None:
        self.has_moved = True
        self._names.update(names)
        if len(self._names) > NAMES_MAX:
            raise ValueError(f"more than {NAMES_MAX} names")
