"""When does long work give way to other requests? It counts its steps, and looks at the clock every 100 steps.

Every walk that may be long, over values, conditions, rows and results, calls a function of this file, mostly `spend` or
`walk`; one step is about a microsecond of work. A look calls the function that `install` has set: a worker of the
server (`service/workers.py`) gives way once its slice of time is over, and continues in a later turn of the event loop.
Without `install`, or outside workers (the command line, most tests), a look does nothing. Before one call that reads or
writes 32 KB of JSON or more, work gives way without a look. Must not know an event loop.

While code gives way, other requests may change the data. On the embedded store this matters between reading a row and
committing a change planned from it: `gave_way` detects giving way, `undisturbed` prevents it.
Measurements: docs/adr/0023-giving-way.md.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from threading import get_ident
from typing import Any, TypeVar

T = TypeVar("T")

LOOK_STEPS = 100
"""Steps between two looks at the clock."""
FEW_MEMBERS = 32
"""A walk over a request's item, values or update counts no steps up to this many members: counting takes 0.1 µs."""
PIECE_MEMBERS = 64
"""A walk over more members than this counts the steps of this many members together, before it passes over them."""
SORTED_MEMBERS = 2_048
"""Members that are sorted in one call; longer collections are sorted in runs and merged."""
PIECE_BYTES = 32 * 1024
"""Bytes of JSON that one call reads or writes in up to a millisecond; before a call for at least this many, work gives
way.
"""
TOGETHER_MEMBERS = 2_048
"""Members that are passed to one call of a built-in function, which takes 0.05 to 0.2 µs for each member."""
READ_BYTES_PER_STEP = 1024
"""Bytes of a row, or of other bytes that are only copied, that count as one step."""
LARGE_PIECE_BYTES = 256 * 1024
"""JSON of this size or more takes so much time and memory in one call that few workers read or write it at a time."""

REPLY_BYTES = 1024 * 1024
"""Size of the largest reply that many workers may build at the same time."""
REPLY_ALONE_BYTES = 32 * 1024 * 1024
"""Size that `queue_large_reply` passes to `queue` for a reply above REPLY_BYTES, so that the reply is built alone."""

_left = LOOK_STEPS
_ways_given = 0
_look: Callable[[], None] | None = None
_queue: Callable[[int], None] | None = None


class _Undisturbed(set[int]):
    """The threads whose work does not give way."""

    def __enter__(self) -> None:
        self.add(get_ident())

    def __exit__(self, *_failure: object) -> None:
        self.discard(get_ident())


undisturbed = _Undisturbed()
"""`with undisturbed:` prevents giving way while a commit is put together and written. Not nested. 0.8 µs; to add the
thread and to discard it takes 0.2 µs.
"""


def install(look: Callable[[], None], queue: Callable[[int], None]) -> None:
    """Set two functions, both of which may let other requests run.

    `look` is called every LOOK_STEPS steps, and by `steps.look`; `queue`, with a size in bytes, before one call reads
    or writes JSON of at least PIECE_BYTES, and when a reply grows above REPLY_BYTES.
    """
    global _look, _queue
    _look, _queue = look, queue


def spend(steps: int) -> None:
    """Count steps of work that is about to be done; calls `look` every LOOK_STEPS steps. 0.05 µs."""
    global _left
    _left -= steps
    if _left < 0:
        look()


def look() -> None:
    """Give way now if the slice of time is over; for work whose steps are not known in advance. 0.15 µs."""
    global _left
    _left = LOOK_STEPS
    if _look is not None and get_ident() not in undisturbed:
        _look()


def spend_decoding(size_bytes: int) -> None:
    """Count the steps of reading or writing JSON of this size in one call; from PIECE_BYTES, gives way first."""
    if size_bytes >= PIECE_BYTES and _queue is not None and get_ident() not in undisturbed:
        _queue(size_bytes)
    spend(size_bytes >> 6)


def queue_large_reply(before_bytes: int, after_bytes: int) -> None:
    """Note that the rows or records in a reply grow from `before_bytes` to `after_bytes`.

    When they first exceed 1 MB, a worker waits here until no other worker builds such a reply, or reads or writes large
    JSON, because building one takes twice its memory.
    """
    if before_bytes <= REPLY_BYTES < after_bytes and _queue is not None and get_ident() not in undisturbed:
        _queue(REPLY_ALONE_BYTES)


def walk(members: Collection[T]) -> Iterable[T]:
    """Iterate over the members, and count one step for each. 0.1 µs, plus 0.03 µs a member if above PIECE_MEMBERS."""
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


def batches(members: Collection[T], at_once: int = TOGETHER_MEMBERS) -> Iterable[Collection[T]]:
    """Split the members into batches of at most `at_once`, and count a step per eight members. 0.2 µs for one batch."""
    if len(members) > at_once:
        return _collections(members, at_once)
    spend((len(members) >> 3) + 1)
    return (members,)


def _collections(members: Iterable[T], at_once: int) -> Iterator[list[T]]:
    remaining = iter(members)
    while some := list(islice(remaining, at_once)):
        spend((len(some) >> 3) + 1)
        yield some


def gave_way() -> int:
    """How many times work has given way so far; if two calls return the same number, no other work ran in between."""
    return _ways_given


def note_way_given() -> None:
    """Count that work gives way, for `gave_way`; called by the functions given to `install`
    before other requests run.
    """
    global _ways_given
    _ways_given += 1


def sort(members: Collection[T], key: Callable[[T], Any] | None = None) -> list[T]:
    """Like `sorted`, but gives way. Members with equal keys must be equal. Fast if keys are bytes or strings."""
    if key is None or len(members) <= SORTED_MEMBERS:
        return _sorted_runs(members, key)
    by_key = {key(member): member for member in walk(members)}
    if len(by_key) < len(members):  # some members repeat
        ordered = _sorted_runs([key(member) for member in walk(members)], None)
    else:
        ordered = _sorted_runs(by_key, None)
    return [by_key[one] for one in walk(ordered)]


def _sorted_runs(members: Collection[Any], key: Callable[[Any], Any] | None) -> list[Any]:
    """Sort runs of at most SORTED_MEMBERS with one call each, then merge them in pairs; a merge takes linear time."""
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
