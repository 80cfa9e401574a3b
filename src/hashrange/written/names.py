"""Which known name did somebody mean who misspelt it? The one that is most like it, in capitals or not."""

from collections.abc import Iterable
from itertools import islice

NAME_LENGTH_MAX = 200
"""Longest name that is compared with others: one of a megabyte would take a tenth of a second."""
NAMES_TOLD_MAX = 20
KNOWN_NAMES_MAX = 1_000
"""Known names with which one is compared, some 10 ms of work."""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The name among `known` that is most like `name`; None if none is like it.
    Takes some 10 µs for each known name.
    """
    if len(name) > NAME_LENGTH_MAX:
        return None
    import difflib  # noqa: PLC0415 - most programs misspell nothing, and start time counts

    by_lowered = {one.lower(): one for one in islice(known, KNOWN_NAMES_MAX)}
    near = difflib.get_close_matches(name.lower(), by_lowered, n=1)
    return by_lowered[near[0]] if near else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name that is most like `name`, which begins with a blank; empty if none is like it."""
    near = nearest_name(name, known)
    return "" if near is None else f" Did you mean {near}?"


def told_names(names: Iterable[str]) -> str:
    """The first names of several, for a sentence."""
    first = list(islice(names, NAMES_TOLD_MAX + 1))
    return ", ".join(first[:NAMES_TOLD_MAX]) + (", …" if len(first) > NAMES_TOLD_MAX else "")
