"""Which of many texts does a term fit? The tokens of the first texts are kept;
the other texts are read again for each term.

So memory does not grow with the texts: tokens take several times as much as their text.
"""

from collections.abc import Callable, Iterator

from hashrange.cloudwatch.math.text_tokens import TextTokens, fits, may_fit, tokens_of
from hashrange.items.steps import spend

INDEXED_CHARACTERS_MAX = 1_000_000
"""Characters of the texts whose tokens are kept: 50 of each of 20,000 metrics. Their tokens take up to 65 MB."""
CHARACTERS_PER_STEP = 4
"""Characters of a text whose tokens are found in one step."""
COMPARED_PER_STEP = 256
"""Characters of a text with which a term is compared in one step."""
POINTS_PER_STEP = 4
"""A step over texts whose tokens are not kept costs a request as much as this many datapoints."""


class SearchedTexts:
    """The texts of the metrics that one request searches. All methods may give way."""

    def __init__(self, count: Callable[[int], None]) -> None:
        """`count` is called with the cost of each comparison in datapoints; it may raise."""
        self._count = count
        self._by_token: dict[str, list[TextTokens]] = {}
        """Token in lower case, or all tokens of a text together → texts."""
        self._others: list[str] = []
        """Texts whose tokens are not kept."""
        self._left = INDEXED_CHARACTERS_MAX

    def add(self, text: str) -> None:
        """Add a text, which must be new."""
        if len(text) > self._left:
            spend(1)
            self._others.append(text)
            return
        self._left -= len(text)
        spend(len(text) // CHARACTERS_PER_STEP + 1)
        tokens = tokens_of(text)
        for token in {*tokens.lower.split(), tokens.whole}:
            self._by_token.setdefault(token, []).append(tokens)

    def fitting(self, text: str) -> Iterator[str]:
        """The texts that a term with tokens fits, some of them twice.
        Each is compared in time that grows with its length.
        """
        spend(len(text) // CHARACTERS_PER_STEP + 1)
        wanted = tokens_of(text)
        for token in {wanted.first, wanted.whole}:
            for given in self._by_token.get(token, ()):
                steps = len(given.lower) // COMPARED_PER_STEP + 1
                spend(steps)
                self._count(steps)
                if fits(given, wanted):
                    yield given.text
        for other in self._others:
            self._spend(len(other) // COMPARED_PER_STEP + 1)
            if may_fit(other, wanted):
                self._spend(len(other) // CHARACTERS_PER_STEP)
                if fits(tokens_of(other), wanted):
                    yield other

    def _spend(self, steps: int) -> None:
        spend(steps)
        self._count(steps * POINTS_PER_STEP)
