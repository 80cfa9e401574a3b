"""How does a person write keys, indexes, units and tags of a design in one word? The functions here read them.

| what | examples |
|---|---|
| a key with its type | `customer`, `created:N` |
| an index: partition keys / sort keys / projection | `by-status=status/created:N/keys-only` |
| an index whose partition key has several attributes | `by-place=country,city` |
| units: fixed, or the range of auto scaling and its target in percent | `5`, `5-100`, `5-100@60` |
"""

import re
from collections.abc import Iterable
from typing import get_args

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.table_design import (
    AWS_MANAGED,
    AWS_OWNED,
    LETTERS,
    TARGET_PERCENT_USUAL,
    AttributeLetter,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    ProjectionWord,
    StreamViewWord,
    TableClassWord,
)

INCLUDE = "include:"
STREAM_VIEWS = {word.lower().replace("_", "-"): word for word in get_args(StreamViewWord)}
TABLE_CLASSES: dict[str, TableClassWord] = {"standard": "STANDARD", "infrequent-access": "STANDARD_INFREQUENT_ACCESS"}
ENCRYPTIONS = {"aws-owned": AWS_OWNED, "aws-managed": AWS_MANAGED}
PROJECTIONS: dict[str, ProjectionWord] = {"all": "ALL", "keys-only": "KEYS_ONLY"}


Letters = dict[str, AttributeLetter]
"""Attribute → its type, of all keys that have been read. A key without a type has that of the same attribute before it,
or else is a string."""


def read_key_word(text: str, source: str, letters: Letters) -> DesignedKey:
    """`created:N`. `source`: the option or question. Raises UsageFault."""
    name, colon, letter = text.strip().rpartition(":")
    if not colon:
        return DesignedKey(letter, letters.setdefault(letter, "S"))
    if letter not in LETTERS:
        raise UsageFault(
            f'{source} is "{text}"; the type must be S (string), N (number) or B (binary), as in {name}:S.'
        )
    letters.setdefault(name, LETTERS[letter])
    return DesignedKey(name, LETTERS[letter])


def read_key_words(text: str, source: str, letters: Letters) -> tuple[DesignedKey, ...]:
    """`country,city:S`; empty for an empty text. Raises UsageFault."""
    return tuple(read_key_word(one, source, letters) for one in text.split(",")) if text.strip() else ()


def read_global_index(text: str, source: str, letters: Letters) -> DesignedIndex:
    """`by-status=status/created:N/keys-only`. Raises UsageFault."""
    name, keys = _name_and_parts(text, source, 3, "by-status=status/created:N/keys-only")
    projection, included = read_projection_word(keys[2], source)
    partition_keys = read_key_words(keys[0], source, letters)
    if not partition_keys:
        raise UsageFault(f'{source} is "{text}"; a global secondary index needs a partition key, as in {name}=status.')
    return DesignedIndex(name, partition_keys, read_key_words(keys[1], source, letters), projection, included)


def read_local_index(text: str, source: str, letters: Letters) -> DesignedIndex:
    """`by-date=created:N/include:total`. Raises UsageFault."""
    name, keys = _name_and_parts(text, source, 2, "by-date=created:N/keys-only")
    projection, included = read_projection_word(keys[1], source)
    return DesignedIndex(name, (), (read_key_word(keys[0], source, letters),), projection, included)


def read_projection_word(text: str, source: str) -> tuple[ProjectionWord, tuple[str, ...]]:
    """`all`, `keys-only` or `include:total,state`; `all` for an empty text. Raises UsageFault."""
    word = text.strip()
    if word.startswith(INCLUDE):
        return "INCLUDE", tuple(one.strip() for one in word.removeprefix(INCLUDE).split(","))
    if (word or "all") not in PROJECTIONS:
        raise UsageFault(f'{source} projects "{text}"; it must be all, keys-only, or {INCLUDE}ATTRIBUTE,ATTRIBUTE.')
    return PROJECTIONS[word or "all"], ()


def read_units_word(text: str, source: str) -> DesignedUnits:
    """`5`, `5-100` or `5-100@60`. Raises UsageFault."""
    match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9})(?:@([0-9]{1,3}))?)?", text.strip(), re.ASCII)
    if match is None:
        raise UsageFault(
            f'{source} is "{text}"; it must be a number, such as 5, or a range of auto scaling, such as 5-100@60.'
        )
    least, most, target = match.groups()
    return DesignedUnits(int(least), int(most) if most else None, int(target) if target else TARGET_PERCENT_USUAL)


def read_days_word(text: str, source: str) -> int:
    """`35`. Raises UsageFault."""
    if not re.fullmatch("[0-9]{1,4}", text.strip(), re.ASCII):
        raise UsageFault(f'{source} is "{text}"; it must be a number of days, such as 35.')
    return int(text)


def read_tag_word(text: str, source: str) -> tuple[str, str]:
    """`team=orders`. Raises UsageFault."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageFault(f'{source} is "{text}"; it must be KEY=VALUE.')
    return key.strip(), value.strip()


def read_word(text: str, source: str, known: Iterable[str]) -> str:
    """One of the known words. Raises UsageFault."""
    *others, last = known
    if text not in {*others, last}:
        raise UsageFault(f'{source} is "{text}"; it must be {", ".join(others)} or {last}.')
    return text


def read_encryption(text: str, source: str) -> str:
    """`aws-owned`, `aws-managed`, or the ARN of a KMS key. Raises UsageFault."""
    if text not in ENCRYPTIONS and not re.fullmatch(r"arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)/\S+", text):
        raise UsageFault(f'{source} is "{text}"; it must be aws-owned, aws-managed, or the ARN of a KMS key.')
    return ENCRYPTIONS.get(text, text)


def _name_and_parts(text: str, source: str, count_max: int, example: str) -> tuple[str, list[str]]:
    """The name before the equals sign, and the parts behind it, of which those not given are empty."""
    name, equals, keys = text.partition("=")
    parts = keys.split("/")
    if not equals or len(parts) > count_max:
        raise UsageFault(f'{source} is "{text}"; it must look like {example}.')
    return name.strip(), [*parts, *[""] * (count_max - len(parts))]
