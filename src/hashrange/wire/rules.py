"""Which rules of the slow path depend on the operation? The member required first, special wordings of constraints, the older layer.

An operation's record holds its rules; callers pass them to the slow path. Must not know any operation by name.
Source: service behaviour, captures to October 2026.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

Constraint = Literal[
    "required", "pattern", "min_length", "max_length", "minimum", "maximum", "enumeration", "keys", "values"
]


class RequiredMember(NamedTuple):
    """The member that is checked before all constraints: its presence and, for a table's name, its length."""

    name: str
    sentence: str | None
    """Message if the member is absent; None if it may be absent."""
    is_table_name: bool = True
    """True if the member is a table's name; otherwise its length is an ordinary constraint."""
    collects_short_names: bool = False
    """True if a name that is too short is reported among the constraints."""


class SpecialForm(NamedTuple):
    """How an operation words one constraint of one member."""

    text: str | None = None
    """Message; `{key}` is the key of the map around the member. None: the general sentence."""
    is_json: bool = False
    """True for the general sentence with the value as JSON, before all others."""
    is_after_enumerations: bool = False
    """True if not reported together with an unknown word of an enumeration."""
    is_alone: bool = False
    """True if reported without the other violations."""
    is_bare: bool = False
    """True if reported outside the envelope: alone, before everything else."""


Forms = Mapping[tuple[str, Constraint], SpecialForm]
"""(form of the member's path (`constraints.MemberPlace.form`), constraint) → its wording."""


class RequestRules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Rules of one operation for its requests, in addition to their struct."""

    required: RequiredMember | None = None
    forms: Forms = {}
    falls_back: bool = False
    """True if the older layer checks some of the operation's requests (`wire.fallback`)."""


NO_RULES = RequestRules()
"""The rules of an operation whose struct declares everything."""
