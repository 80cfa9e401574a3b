"""Where are the lines of a bulk put's reports until they fill an object? In memory, and once the place of their records
is kept, in documents too, in the same commit.

Documents: `bulk-report/ACCOUNT/REGION/ID/TYPE/NUMBER`, so that a commit writes new lines, and not all lines again.
"""

from collections.abc import Sequence

from hashrange.store.documents import Documents
from hashrange.store.records import RecordChange, below_in_pieces

REPORT_BYTES = 4 * 1024 * 1024
"""Lines of a report that fill an object."""
NEW_LINES_BYTES = 1024 * 1024
"""Lines of all reports that a bulk put has in memory alone: with more of them, it keeps its place."""
_DOCUMENT_BYTES = 64 * 1024
"""A document of this length or more gets no further lines."""


class ReportLines:
    """The lines of one report that are in no object yet."""

    def __init__(self, name: str) -> None:
        """`name`: what the names of its documents begin with."""
        self._prefix = f"{name}/"
        self._new: list[bytes] = []
        self.new_bytes = 0
        """Length of the lines that are in no document yet."""
        self.texts: list[bytes] = []
        """The lines that are in documents, one text for each."""

    def load(self, documents: Documents) -> None:
        """Read what was kept; gives way. Raises StorageError."""
        self.texts = [text for some in below_in_pieces(documents, self._prefix) for _, text in some]

    def add(self, line: bytes) -> None:
        """Add a line."""
        self._new.append(line)
        self.new_bytes += len(line)

    @property
    def is_full(self) -> bool:
        """True if the lines that were kept fill an object."""
        return sum(map(len, self.texts)) >= REPORT_BYTES

    def kept(self) -> Sequence[RecordChange]:
        """The changes that keep the new lines."""
        if not self._new:
            return ()
        text = b"".join(self._new)
        self._new, self.new_bytes = [], 0
        if self.texts and len(self.texts[-1]) < _DOCUMENT_BYTES:
            self.texts[-1] += text
        else:
            self.texts.append(text)
        return (RecordChange(self._document(len(self.texts) - 1), self.texts[-1]),)

    def removed(self) -> Sequence[RecordChange]:
        """The changes that remove all lines that were kept."""
        texts, self.texts = self.texts, []
        return [RecordChange(self._document(number), None) for number in range(len(texts))]

    def _document(self, number: int) -> str:
        return f"{self._prefix}{number:06d}"
