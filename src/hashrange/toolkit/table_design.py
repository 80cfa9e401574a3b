"""What does a person decide about a table, and which of it does DynamoDB not take? The rules are those of CreateTable,
in plain words, so that a design is refused before it becomes a file.

Source of the rules: DynamoDB Developer Guide, *quotas*, *naming rules* and *multi-attribute keys*; Application Auto
Scaling API, *TargetTrackingScalingPolicyConfiguration*.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

AttributeLetter = Literal["S", "N", "B"]
ProjectionWord = Literal["ALL", "KEYS_ONLY", "INCLUDE"]
StreamViewWord = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]
TableClassWord = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]
AWS_OWNED, AWS_MANAGED = "AWS_OWNED", "AWS_MANAGED"
"""Encryption without a key of the account, and with the account's key for DynamoDB; anything else is a KMS key."""

LETTERS: dict[str, AttributeLetter] = {one: one for one in get_args(AttributeLetter)}
GLOBAL_INDEXES_MAX, LOCAL_INDEXES_MAX = 20, 5
KEYS_OF_INDEX_MAX = 4
"""Attributes of each of both keys of a global secondary index."""
INCLUDED_MAX = 100
"""Attributes that all indexes of a table include together."""
NAME_CHARACTERS_MIN, NAME_CHARACTERS_MAX = 3, 255
ATTRIBUTE_BYTES_MAX = 255
TARGET_PERCENT_MIN, TARGET_PERCENT_MAX, TARGET_PERCENT_USUAL = 20, 90, 70
RECOVERY_DAYS_MAX = 35
TAGS_MAX, TAG_KEY_CHARACTERS_MAX, TAG_VALUE_CHARACTERS_MAX = 50, 128, 256


class DesignedKey(NamedTuple):
    """An attribute of a key."""

    name: str
    letter: AttributeLetter = "S"


class DesignedUnits(NamedTuple):
    """Provisioned units of reads or of writes: a number, or a range in which auto scaling moves."""

    least: int
    most: int | None = None
    """None: without auto scaling."""
    target_percent: int = TARGET_PERCENT_USUAL


class DesignedCapacity(NamedTuple):
    """Provisioned units of a table or an index."""

    read: DesignedUnits
    write: DesignedUnits


class DesignedIndex(NamedTuple):
    """A secondary index; a local one has no partition keys of its own."""

    name: str
    partition_keys: tuple[DesignedKey, ...]
    sort_keys: tuple[DesignedKey, ...] = ()
    projection: ProjectionWord = "ALL"
    included: tuple[str, ...] = ()
    capacity: DesignedCapacity | None = None
    """None: on demand, and for a local index."""


class TableDesign(NamedTuple):
    """All that a person decides about a table."""

    name: str
    partition_key: DesignedKey
    sort_key: DesignedKey | None = None
    capacity: DesignedCapacity | None = None
    """None: on demand."""
    global_indexes: tuple[DesignedIndex, ...] = ()
    local_indexes: tuple[DesignedIndex, ...] = ()
    ttl_attribute: str | None = None
    stream_view: StreamViewWord | None = None
    recovery_days: int | None = None
    """Days to which the table can be restored; None: without point-in-time recovery."""
    is_deletion_protected: bool = False
    table_class: TableClassWord = "STANDARD"
    encryption: str = AWS_OWNED
    tags: tuple[tuple[str, str], ...] = ()

    def keys(self) -> tuple[DesignedKey, ...]:
        """Partition key and sort key."""
        return (self.partition_key,) if self.sort_key is None else (self.partition_key, self.sort_key)

    def key_attributes(self) -> dict[str, AttributeLetter]:
        """All attributes of keys, of the table and its indexes, in the order in which they are named first."""
        found: dict[str, AttributeLetter] = {}
        for key in self._all_keys():
            found.setdefault(key.name, key.letter)
        return found

    def _all_keys(self) -> Iterator[DesignedKey]:
        yield from self.keys()
        for index in (*self.global_indexes, *self.local_indexes):
            yield from (*index.partition_keys, *index.sort_keys)

    def first_fault(self) -> str | None:
        """A sentence about the first thing that DynamoDB does not take; None if the design is sound."""
        return next(self._faults(), None)

    def _faults(self) -> Iterator[str]:
        yield from _told(name_fault(self.name), f"the table's name {self.name!r}")
        letters = self.key_attributes()
        for key in self._all_keys():
            yield from _told(attribute_fault(key.name), f"the key {key.name!r}")
            if letters[key.name] != key.letter:
                yield f"the attribute {key.name} has two types, {letters[key.name]} and {key.letter}; give it one."
        if self.sort_key is not None and self.sort_key.name == self.partition_key.name:
            yield f"partition key and sort key are both {self.sort_key.name}; a table needs two attributes for them."
        if self.capacity is not None:
            yield from _capacity_faults("the table", self.capacity)
        yield from self._index_faults()
        yield from self._other_faults()

    def _index_faults(self) -> Iterator[str]:
        indexes = (*self.global_indexes, *self.local_indexes)
        names = [index.name for index in indexes]
        for index in indexes:
            subject = f"the index {index.name}"
            yield from _told(name_fault(index.name), f"the index's name {index.name!r}")
            if names.count(index.name) > 1:
                yield f"two indexes are named {index.name}; each needs a name of its own."
            yield from _keys_faults(subject, index)
            for name in index.included:
                yield from _told(attribute_fault(name), f"the attribute {name!r} that {subject} includes")
            if (index.projection == "INCLUDE") != bool(index.included):
                yield f"{subject} must name the attributes that it includes, and only if its projection is include."
            if index.capacity is not None:
                yield from _capacity_faults(subject, index.capacity)
        if self.local_indexes and self.sort_key is None:
            yield "a local secondary index needs a table with a sort key; use a global one, or add a sort key."
        for kind, found, most in (
            ("global", self.global_indexes, GLOBAL_INDEXES_MAX),
            ("local", self.local_indexes, LOCAL_INDEXES_MAX),
        ):
            if len(found) > most:
                yield f"a table has at most {most} {kind} secondary indexes, and this one has {len(found)}."
        included = sum(len(index.included) for index in indexes)
        if included > INCLUDED_MAX:
            yield f"all indexes together include at most {INCLUDED_MAX} attributes, and these include {included}."

    def _other_faults(self) -> Iterator[str]:
        if self.ttl_attribute is not None:
            yield from _told(attribute_fault(self.ttl_attribute), "the attribute of time to live")
        if self.recovery_days is not None and not 1 <= self.recovery_days <= RECOVERY_DAYS_MAX:
            yield f"point-in-time recovery reaches 1 to {RECOVERY_DAYS_MAX} days back, not {self.recovery_days}."
        if len(self.tags) > TAGS_MAX:
            yield f"a table has at most {TAGS_MAX} tags, and this one has {len(self.tags)}."
        keys = [key for key, _ in self.tags]
        for key, value in self.tags:
            if keys.count(key) > 1:
                yield f"two tags have the key {key}; each key may be given once."
            if not 1 <= len(key) <= TAG_KEY_CHARACTERS_MAX or len(value) > TAG_VALUE_CHARACTERS_MAX:
                yield (
                    f"the tag {key!r} is too short or too long: keys have 1 to {TAG_KEY_CHARACTERS_MAX} characters,"
                    f" values at most {TAG_VALUE_CHARACTERS_MAX}."
                )
            if not is_unicode(key + value):
                yield f"the tag {key!r} holds bytes that are no UTF-8."
            if key.lower().startswith("aws:"):
                yield f"the tag {key} begins with aws:, which only AWS may use."


def name_fault(name: str) -> str | None:
    """What is wrong with the name of a table or an index, behind its subject; None: nothing."""
    if not NAME_CHARACTERS_MIN <= len(name) <= NAME_CHARACTERS_MAX:
        return f"must have {NAME_CHARACTERS_MIN} to {NAME_CHARACTERS_MAX} characters."
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name, re.ASCII):
        return "may hold only letters, digits, underscores, dots and hyphens."
    return None


def is_unicode(text: str) -> bool:
    """False if a word of a command line holds bytes that are no UTF-8, which Python keeps as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def attribute_fault(name: str) -> str | None:
    """What is wrong with the name of a key attribute, behind its subject; None: nothing."""
    if not is_unicode(name):
        return "holds bytes that are no UTF-8."
    if not 1 <= len(name.encode()) <= ATTRIBUTE_BYTES_MAX:
        return f"must have 1 to {ATTRIBUTE_BYTES_MAX} bytes of UTF-8."
    return None


def _told(fault: str | None, subject: str) -> Iterator[str]:
    if fault is not None:
        yield f"{subject} {fault}"


def _keys_faults(subject: str, index: DesignedIndex) -> Iterator[str]:
    for kind, keys in (("partition", index.partition_keys), ("sort", index.sort_keys)):
        if len(keys) > KEYS_OF_INDEX_MAX:
            yield f"{subject} has {len(keys)} {kind} keys; an index has at most {KEYS_OF_INDEX_MAX}."
    names = [key.name for key in (*index.partition_keys, *index.sort_keys)]
    if len(set(names)) < len(names):
        yield f"{subject} names an attribute twice in its key; each may be there once."


def _capacity_faults(subject: str, capacity: DesignedCapacity) -> Iterator[str]:
    for kind, units in (("read", capacity.read), ("write", capacity.write)):
        yield from units_faults(subject, kind, units)


def units_faults(subject: str, kind: str, units: DesignedUnits) -> Iterator[str]:
    """Sentences about units of a table or an index that DynamoDB or auto scaling does not take."""
    if units.least < 1:
        yield f"{subject} needs at least 1 {kind} unit."
    if units.most is not None and units.most < units.least:
        yield f"the {kind} units of {subject} scale from {units.least} to {units.most}; the first must be less."
    if not TARGET_PERCENT_MIN <= units.target_percent <= TARGET_PERCENT_MAX:
        yield (
            f"the target of {kind} units of {subject} is {units.target_percent} %; auto scaling takes"
            f" {TARGET_PERCENT_MIN} to {TARGET_PERCENT_MAX} %."
        )
