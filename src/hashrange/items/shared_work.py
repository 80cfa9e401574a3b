"""How is long work done that several may need at the same time? In pieces, by whoever needs it:
while one gives way, others go on with the next piece.
"""

from collections.abc import Callable, Iterator

from hashrange.items.steps import look

MakePieces = Callable[[], Iterator[None]]
"""Begins the work; each step of the iterator does a piece of it, in at most a millisecond,
and must not give way itself."""


class SharedWork:
    """One piece of work at a time, which has been begun and not ended."""

    __slots__ = ("_make", "_pieces")

    def __init__(self) -> None:
        self._make: MakePieces | None = None
        self._pieces: Iterator[None] | None = None

    @property
    def is_left(self) -> bool:
        """True if work has been begun and has not ended."""
        return self._pieces is not None

    def begin(self, make: MakePieces) -> None:
        """Begin work; work that has not ended is given up."""
        self._make, self._pieces = make, make()

    def give_up(self) -> None:
        """Do no more of the work."""
        self._make = self._pieces = None

    def do_some(self) -> bool:
        """Do the next piece; returns True if there are more. Raises the errors of the work,
        which is then begun again by the next call.
        """
        pieces = self._pieces
        if pieces is None:
            return False
        try:
            next(pieces)
        except StopIteration:
            if self._pieces is pieces:
                self.give_up()
        except BaseException:
            if self._pieces is pieces and self._make is not None:
                self._pieces = self._make()
            raise
        return self._pieces is not None

    def finish(self) -> None:
        """Do all that is left; may give way between two pieces."""
        while self.do_some():
            look()
