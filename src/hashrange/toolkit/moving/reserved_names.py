"""Which names of an expression does DynamoDB refuse because they are reserved words? They get placeholders, so that
`status = :s` can be written as people write it.

Words that are the grammar's own (AND, OR, NOT, BETWEEN, IN) and names of functions stay. An attribute that is called
like one of them needs a placeholder of the user's.
"""

import re
from typing import NamedTuple

from hashrange.aws_services.reserved_words import RESERVED_WORDS

GRAMMAR_WORDS = {"AND", "OR", "NOT", "BETWEEN", "IN"}
_replace_names = re.compile(r"(?<![A-Za-z0-9_#:])([A-Za-z][A-Za-z0-9_]*)(?![A-Za-z0-9_])(?!\s*\()").sub


class Aliased(NamedTuple):
    """Expressions whose reserved words are placeholders."""

    expressions: list[str]
    names: dict[str, str]
    """Placeholder → name; those that were given, and new ones."""
    replaced: dict[str, str]
    """Reserved word → its placeholder."""


def alias_reserved(expressions: list[str], names: dict[str, str]) -> Aliased:
    """Replace the bare reserved words in expressions. `names`: placeholders that are given."""
    known, replaced = dict(names), dict[str, str]()

    def alias(found: re.Match[str]) -> str:
        word = found[1]
        if word.upper() not in RESERVED_WORDS or word.upper() in GRAMMAR_WORDS:
            return word
        if word not in replaced:
            replaced[word] = _placeholder(word, known)
            known[replaced[word]] = word
        return replaced[word]

    return Aliased([_replace_names(alias, text) for text in expressions], known, replaced)


def _placeholder(word: str, names: dict[str, str]) -> str:
    """A placeholder for a word that stands for nothing else."""
    placeholder, number = f"#{word}", 1
    while names.get(placeholder, word) != word:
        number += 1
        placeholder = f"#{word}_{number}"
    return placeholder
