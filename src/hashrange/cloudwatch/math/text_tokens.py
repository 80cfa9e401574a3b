"""Which tokens does a text have that searches look at? Words, also those that only a capital begins, and numbers.

Source: CloudWatch user guide, *CloudWatch search expression syntax*.
"""

import re
from functools import lru_cache
from typing import NamedTuple

_pieces = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+").findall
"""Pieces of a text: words, also those that only a capital begins, and digits."""
_divided = re.compile(r"[^\W_]+").fullmatch


class TextTokens(NamedTuple):
    """What a term may be compared with, of one text."""

    text: str
    pieces: tuple[str, ...]
    """In their order, as they are written: `Custom`, `Count`, `1`."""
    lower: tuple[str, ...]
    """The same in lower case."""
    whole: str
    """All pieces together, in lower case."""
    has_signs: bool
    """True if something but letters and digits divides the text."""


@lru_cache(4_096)
def tokens_of(text: str) -> TextTokens:
    """The tokens of a name, a value or a term."""
    pieces = tuple(_pieces(text))
    lower = tuple(piece.lower() for piece in pieces)
    return TextTokens(text, pieces, lower, "".join(lower), _divided(text) is None)


def fits(given: TextTokens, wanted: TextTokens) -> bool:
    """True if the term is a token of the text, or tokens that follow one another.

    Then they have to be written alike, unless signs divide them in the term: `Count1` and `count-1` are in `CustomCount1`, but not `count1`.
    """
    if wanted.whole == given.whole or not wanted.pieces:
        return True
    if len(wanted.pieces) == 1:
        return wanted.whole in given.lower
    pieces, sought = (given.lower, wanted.lower) if wanted.has_signs else (given.pieces, wanted.pieces)
    count = len(sought)
    return any(pieces[place : place + count] == sought for place in range(len(pieces) - count + 1))
