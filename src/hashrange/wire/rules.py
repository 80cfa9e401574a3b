"""Which rules of the slow path differ from operation to operation? What is asked for first, sentences of single constraints, an older layer.

An operation's record holds its rules, and whoever explains a request hands them in. Must not know any operation by name.
Source: service behaviour, captures to October 2026.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

Constraint = Literal[
    "required", "pattern", "min_length", "max_length", "minimum", "maximum", "enumeration", "keys", "values"
]


class RequiredMember(NamedTuple):
    """The member that is looked at before all constraints: whether it is there, and of a table's name how long it is."""

    name: str
    sentence: str | None
    """Told when it is absent; None: it may be absent."""
    is_table_name: bool = True
    """False: its length is an ordinary constraint."""
    collects_short_names: bool = False
    """A name that is too short is told among the constraints."""


class SpecialForm(NamedTuple):
    """How an operation words one constraint of one member."""

    text: str | None = None
    """`{key}` is the key of the map around it. None: the general sentence."""
    is_json: bool = False
    """The general sentence, with the value as JSON; before all others."""
    is_after_enumerations: bool = False
    """Not reported beside an unknown word of an enumeration."""
    is_alone: bool = False
    """Reported without the other violations."""
    is_bare: bool = False
    """Outside the envelope, and so alone; before everything else."""


Forms = Mapping[tuple[str, Constraint], SpecialForm]
"""(form of the member's path (`constraints.Place.form`), constraint) → how it is worded."""


class RequestRules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one operation asks of its requests beyond their struct."""

    required: RequiredMember | None = None
    forms: Forms = {}
    falls_back: bool = False
    """Some of its requests are looked at by the older layer (`wire.fallback`)."""


NO_RULES = RequestRules()
"""The struct says everything."""
