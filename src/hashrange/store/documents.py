"""Where does a feature keep what is no item, such as functions and checkpoints? In documents:
named values, written several at a time.

Documents are part of the store's content: restarts, checkpoints of the whole content, forks and resets include them.
A name is text with `/` between its parts, such as `function/000000000000/us-east-1/resize`.

Several servers may write the documents of one store. So a write whose new values follow from what was read (alarms and
their histories, scaling, DAX's clusters, functions, mappings, watches and what they count) names the documents as they
were read, and is refused if another writer came between. Written blindly is what only one server writes
(checkpoints, queued invocations, metrics), or under a name that is new, or as whoever else writes it would.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

NOTHING_READ: Mapping[str, bytes | None] = MappingProxyType({})
"""What a write names that does not depend on what was read."""


class Documents(Protocol):
    """The documents of one store."""

    @property
    def generation(self) -> int:
        """Grows when the store's whole content is replaced, as by a restore:
        whatever was read before is out of date.
        """

    def get(self, name: str) -> bytes | None:
        """The document of this name as of the last commit, durable or not; None if there is none. Raises StorageError.

        While a long document is read, work gives way (`items/steps.py`).
        """

    async def read(self, name: str) -> bytes | None:
        """As `get`, but a task that reads a long document gives way, too."""

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        """Name and value of every document whose name begins with `prefix`, in the order of their UTF-8 bytes.

        Raises StorageError.
        """

    def some_below(self, prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        """As `below`, but at most `count` of them, fewer if they are long: those that follow the name `after`;
        None: the first ones. Raises StorageError.
        """

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        """Put documents, or delete those whose value is None, all in one commit, which has taken place on return.

        Returns False (nothing done) if `generation` is given and out of date, or if a document of `read` is no longer
        as it is there; None: there was none. Gives way while long documents are compared, and while they are written,
        which is not begun for a write that is to be refused, and which nobody sees before the commit. The commit is
        durable once `Durability.durable_position()` has reached the `position()` read after that. Raises StorageError.
        """
