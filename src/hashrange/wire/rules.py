"""Which rules of the slow path depend on the operation?
The member required first, special wordings of constraints, the older layer.

An operation's record holds its rules; callers pass them to the slow path. Must not know any operation by name.
Source: service behaviour, captures to October 2026.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

Constraint = Literal[
    "required",
    "pattern",
    "min_length",
    "name_min_length",
    "max_length",
    "minimum",
    "maximum",
    "enumeration",
    "keys",
    "values",
]
FallBackReason = Literal["incomplete", "converted", "deep"]
"""Why the older layer checks a request: a required member is missing; a number or truth value had to be converted;
a value is nested deeper than the current layer reads."""
ON_OTHER_FORMS: frozenset[FallBackReason] = frozenset(("incomplete", "converted"))
ON_OTHER_FORMS_AND_DEPTH: frozenset[FallBackReason] = frozenset(("incomplete", "converted", "deep"))


class RequiredMember(NamedTuple):
    """The member that is checked before all constraints: its presence and, for a table's name, its length."""

    name: str
    sentence: str | None
    """Message if the member is absent; None if the member may be absent."""
    is_table_name: bool = True
    """True if the member is a table's name; otherwise its length is an ordinary constraint."""
    collects_short_names: bool = False
    """True if a table name that is too short, and not in an ARN, is reported among the constraints, not before them."""


class ConstraintWording(NamedTuple):
    """How an operation words one constraint of one member."""

    text: str | None = None
    """The special wording; `{key}` is the key of the map around the member. None: the general sentence (VIOLATION)."""
    is_json: bool = False
    """True if the violation is worded by the general sentence with the value as JSON, and listed before all others."""
    is_after_enumerations: bool = False
    """True if the violation is not reported when any member breaks its enumeration."""
    is_alone: bool = False
    """True if the violation is reported without all others, after the prefix `1 validation error detected: `."""
    is_bare: bool = False
    """True if the violation's sentence is the whole message, without a prefix or preceding violations."""
    is_later: bool = False
    """True if only the older layer reports the violation here. In the current layer, the operation reports it later."""


ConstraintWordings = Mapping[tuple[str, Constraint], ConstraintWording]
"""(member's path as in `constraints.MemberPlace.path_pattern`, constraint) → wording of a violation."""


ReportStage = tuple[tuple[str, Constraint], ...]
"""Violations that are reported together, in this order: each by its member's path and constraint,
as in `ConstraintWordings`."""


class RefusedWords(NamedTuple):
    """Words of an enumeration that the operation does not support;
    the current layer reports one after all violations.
    """

    name: str
    words: frozenset[str]
    text: str


class RequestRules(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Rules of one operation for its requests, in addition to their struct."""

    required: RequiredMember | None = None
    wordings: ConstraintWordings = {}
    stages: tuple[ReportStage, ...] = ()
    """In the current layer, the first stage with a violation reports, without other violations.
    Those that are in no stage are reported last."""
    refused_words: RefusedWords | None = None
    is_strict: bool = False
    """True if the strict decoder of the search endpoint reads the operation's requests (`wire.strict_json`)."""
    falls_back: frozenset[FallBackReason] = frozenset()
    """Why the older layer may check a request of the operation instead of the current one (`wire.fallback`)."""


NO_RULES = RequestRules()
"""The rules of an operation whose request struct declares everything that the slow path checks."""
