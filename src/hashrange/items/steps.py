"""When does long work let others have their turn? It counts its steps, and looks at the clock now and then.

Every walk over values, conditions, rows and results calls `spend` or goes over `walk(members)`; one step is about a microsecond
of work. Who runs the walk decides what a look does: the server's workers (`service/workers.py`) give way once their slice of time
is over, and go on in a later turn of the event loop. Where nobody has said anything (jobs, the command line, most tests), a
look does nothing. Must not know an event loop.

Code that gives way may find the world changed behind a walk. On the embedded store that matters between reading a row and
committing what was planned from it: `gave_way` tells, and `Undisturbed` prevents it. Figures: docs/adr/0023-giving-way.md.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

T = TypeVar("T")

LOOK_STEPS = 100
"""Steps between two looks at the clock."""
FEW_MEMBERS = 32
"""Of something that there is one of in a request, such as its item: so many are not worth counting, which takes 0.1 µs."""
PIECE_MEMBERS = 64
"""Members of a long walk between two counts."""
SORTED_MEMBERS = 2_048
"""Members that are sorted at once."""
PIECE_BYTES = 32 * 1024
"""Reading or writing this much JSON at once takes up to a millisecond, and cannot be left: others have their turn before."""
TOGETHER_MEMBERS = 2_048
"""Members of many that are handed to one call of the interpreter's own functions, which take 0.05 to 0.2 µs for each."""
LARGE_BYTES = 256 * 1024
"""This much takes so much time and memory that few may do it at a time."""

REPLY_BYTES = 1024 * 1024
"""Of a reply that many may make at a time."""
REPLY_ALONE_BYTES = 32 * 1024 * 1024
"""What a larger one is taken for."""

_left = LOOK_STEPS
_ways_given = 0
_look: Callable[[], None] | None = None
_queue: Callable[[int], None] | None = None
_is_undisturbed = False


def install(look: Callable[[], None], queue: Callable[[int], None]) -> None:
    """From now on, `look` is called every LOOK_STEPS steps, and `queue` with the size of each large piece; both may let others run."""
    global _look, _queue
    _look, _queue = look, queue


def spend(steps: int) -> None:
    """Count work that is about to be done. 0.05 µs."""
    global _left
    _left -= steps
    if _left < 0:
        look()


def look() -> None:
    """Give way now, if the slice of time is over: for work whose steps cannot be told before. 0.15 µs."""
    global _left
    _left = LOOK_STEPS
    if _look is not None and not _is_undisturbed:
        _look()


def spend_decoding(size_bytes: int) -> None:
    """Count the reading or writing of so much JSON, before it is done at once; before a large piece others have their turn."""
    if size_bytes >= PIECE_BYTES and _queue is not None and not _is_undisturbed:
        _queue(size_bytes)
    spend(size_bytes >> 6)


def grow_reply(before_bytes: int, after_bytes: int) -> None:
    """A reply that is being made has grown: beyond 1 MB such replies are made one after the other, for each takes as much memory again."""
    if before_bytes <= REPLY_BYTES < after_bytes and _queue is not None and not _is_undisturbed:
        _queue(REPLY_ALONE_BYTES)


def walk(members: Collection[T]) -> Iterable[T]:
    """The members, counted; many of them piece by piece. 0.1 µs, and 0.03 µs for each of many."""
    global _left
    if len(members) > PIECE_MEMBERS:
        return _pieces(members)
    _left -= len(members) + 1
    if _left < 0:
        look()
    return members


def _pieces(members: Iterable[T]) -> Iterator[T]:
    remaining = iter(members)
    while piece := list(islice(remaining, PIECE_MEMBERS)):
        spend(PIECE_MEMBERS)
        yield from piece


def together(members: Collection[T], at_once: int = TOGETHER_MEMBERS) -> Iterable[Collection[T]]:
    """The members in as many collections as one call at a time may work on, each counted. 0.2 µs for few."""
    if len(members) > at_once:
        return _collections(members, at_once)
    spend((len(members) >> 3) + 1)
    return (members,)


def _collections(members: Iterable[T], at_once: int) -> Iterator[list[T]]:
    remaining = iter(members)
    while some := list(islice(remaining, at_once)):
        spend((len(some) >> 3) + 1)
        yield some


class Undisturbed:
    """`with Undisturbed():` nothing gives way meanwhile: for short work that reads, and then commits what rests on it. 0.3 µs."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        """From now on."""
        global _is_undisturbed
        self._before, _is_undisturbed = _is_undisturbed, True

    def __exit__(self, *_failure: object) -> None:
        """As it was before."""
        global _is_undisturbed
        _is_undisturbed = self._before


def gave_way() -> int:
    """How often any work has given way; the same number twice means that nobody else has run in between."""
    return _ways_given


def note_way_given() -> None:
    """To be called by whoever lets others run in the middle of a look."""
    global _ways_given
    _ways_given += 1


def sort(members: Collection[T], key: Callable[[T], Any] | None = None) -> list[T]:
    """As `sorted`, in pieces. Members with equal keys must be equal; many are sorted quickly when keys are bytes or strings."""
    if key is None or len(members) <= SORTED_MEMBERS:
        return _sorted_runs(members, key)
    by_key = {key(member): member for member in walk(members)}
    if len(by_key) < len(members):  # some repeat
        ordered = _sorted_runs([key(member) for member in walk(members)], None)
    else:
        ordered = _sorted_runs(by_key, None)
    return [by_key[one] for one in walk(ordered)]


def _sorted_runs(members: Collection[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    """Short runs are sorted at once, and merged in linear time, two and two."""
    if len(members) <= SORTED_MEMBERS:
        spend(len(members) >> 1)
        return sorted(members, key=key)
    spend(len(members) >> 4)
    ordered = list(members)
    half = len(ordered) >> 1
    merged = _sorted_runs(ordered[:half], key) + _sorted_runs(ordered[half:], key)
    spend(len(merged) >> 4)
    merged.sort(key=key)
    return merged
