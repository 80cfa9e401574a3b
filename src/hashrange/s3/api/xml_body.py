"""What does the XML of a request say? Blocks for long ones: 10,000 parts take some 20 ms."""

from collections.abc import Sequence
from xml.parsers import expat

from hashrange.messages import s3 as say
from hashrange.s3.objects import S3Failure

LEVELS_MAX = 8


def read_elements(body: bytes, root: str, name: str) -> Sequence[dict[str, str]]:
    """The members of each element `name` in the root element: text by name. Other elements are passed over; namespaces
    do not matter. Raises MalformedXML, also for a document type, which may hold entities.
    """
    reader = _Reader(root, name)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.StartElementHandler = reader.begin
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.add
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, UnicodeError, ValueError, LookupError) as error:
        raise S3Failure("MalformedXML", say.MALFORMED_XML) from error
    return reader.found


class _Reader:
    """Collects elements."""

    def __init__(self, root: str, name: str) -> None:
        self.found: list[dict[str, str]] = []
        self._root, self._name = root, name
        self._path: list[str] = []
        self._texts: list[str] = []

    def refuse(self, *_: object) -> None:
        """A document type begins."""
        raise ValueError("a document type")

    def begin(self, name: str, _attributes: object) -> None:
        """An element begins."""
        local = name.rpartition(" ")[2]
        if len(self._path) >= LEVELS_MAX or (not self._path and local != self._root):
            raise ValueError(local)
        self._path.append(local)
        self._texts = []
        if self._path == [self._root, self._name]:
            self.found.append({})

    def end(self, _name: str) -> None:
        """An element ends."""
        if len(self._path) == 3 and self._path[1] == self._name:
            self.found[-1][self._path[2]] = "".join(self._texts).strip()
        self._path.pop()
        self._texts = []

    def add(self, text: str) -> None:
        """Text of the element comes, perhaps in pieces."""
        self._texts.append(text)
