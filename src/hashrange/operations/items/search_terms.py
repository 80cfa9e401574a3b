"""Does a SearchConditionExpression fit the search schema of its index?

Order of checks: attributes that are not in the search schema → an index with a HASH attribute and no condition on it →
what else than one equality, which all results meet, is said of the HASH attribute → types of values → an empty value of
the HASH attribute. Source: vectors.md 9, steps 17 to 20; the third is our choice (docs/compatibility.md).
"""

from collections.abc import Iterable

from hashrange.errors import ValidationException
from hashrange.expressions.search_condition import (
    CompiledSearch,
    SearchTerm,
    comparator_fault,
    operator_fault,
    repeated_fault,
)
from hashrange.expressions.tree import MIRRORED
from hashrange.items.sizes import value_size_bytes
from hashrange.items.steps import walk
from hashrange.items.types import Value
from hashrange.items.values import type_of
from hashrange.limits import PARTITION_KEY_MAX_BYTES
from hashrange.messages import vectors as say
from hashrange.tables.open_table import IndexedVectors

_EMPTY_KINDS = {"S": "string", "B": "binary"}


def check_terms_of(search: CompiledSearch | None, values: dict[str, Value], vectors: IndexedVectors) -> None:
    """Raise the first fault of a condition for this index, or of its absence (None)."""
    types = dict(vectors.filter_types)
    if vectors.hash_name is not None and vectors.hash_type is not None:
        types[vectors.hash_name] = vectors.hash_type
    terms = () if search is None else search.terms
    for term in walk(terms):
        if term.attribute not in types:
            raise ValidationException(say.NOT_IN_SCHEMA.format(name=term.attribute))
    if vectors.hash_name is not None:
        _check_hash_terms([term for term in terms if term.attribute == vectors.hash_name])
    for term in walk(terms):
        for token in term.tokens:
            given, declared = type_of(values[token]), types[term.attribute]
            if given != declared:
                message = say.VALUE_TYPE.format(name=term.attribute, given=given, declared=declared)
                raise ValidationException(message)
            if term.attribute == vectors.hash_name and not values[token][given]:
                message = say.HASH_EMPTY.format(kind=_EMPTY_KINDS[given], name=term.attribute)
                raise ValidationException(message)


def _check_hash_terms(terms: Iterable[SearchTerm]) -> None:
    """Raise the fault of all that is said of the HASH attribute, unless it is one equality that all results meet."""
    terms = list(terms)
    if not terms:
        raise ValidationException(say.HASH_REQUIRED)
    for term in terms:
        if term.operator != "=":
            raise comparator_fault() if term.operator in MIRRORED else operator_fault()
    if len(terms) > 1:
        raise repeated_fault()
    if not terms[0].is_joined:
        raise operator_fault()


def hash_value(search: CompiledSearch | None, values: dict[str, Value], vectors: IndexedVectors) -> str | None:
    """The wanted value of the HASH attribute, after all checks; None if it is too long for any entry."""
    assert search is not None, "an index with a HASH attribute is searched with a condition"
    (token,) = next(term.tokens for term in search.terms if term.attribute == vectors.hash_name)
    value = values[token]
    return None if value_size_bytes(value) > PARTITION_KEY_MAX_BYTES else value[type_of(value)]
