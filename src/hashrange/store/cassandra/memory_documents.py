"""Where are the documents of a server of a cluster? In its memory: only metrics, which each server counts for itself,
have any; all else that has documents is refused by name.
"""

from collections.abc import Mapping, Sequence

from hashrange.store.documents import NOTHING_READ


class MemoryDocuments:
    """Documents of one server, as long as it runs."""

    generation = 0

    def __init__(self) -> None:
        self._documents: dict[str, bytes] = {}

    def get(self, name: str) -> bytes | None:
        """See `Documents.get`."""
        return self._documents.get(name)

    async def read(self, name: str) -> bytes | None:
        """See `Documents.read`."""
        return self._documents.get(name)

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        """See `Documents.below`."""
        return sorted([(name, one) for name, one in self._documents.items() if name.startswith(prefix)])

    def some_below(self, prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        """See `Documents.some_below`."""
        return [one for one in self.below(prefix) if after is None or one[0] > after][:count]

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        """See `Documents.write`."""
        if any(self._documents.get(name) != document for name, document in read.items()):
            return False
        for name, document in changes.items():
            if document is None:
                self._documents.pop(name, None)
            else:
                self._documents[name] = document
        return True
