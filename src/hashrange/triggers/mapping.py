"""What is an event source mapping? The connection of a stream with a function: how its records become batches,
and what happens if an invocation fails.

A mapping is stored as one document, the JSON of `EventSourceMapping`,
with the name `mapping/{account}/{region}/{uuid}`. No job changes its state: the state follows from the last transition,
the time at which this ends, and service time. With a delay of 0, that is the time of the request itself,
so the next request already sees the new state. Source of members, ranges and defaults:
Lambda's API reference of 2026, *EventSourceMappingConfiguration*.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from hashrange.tables.streams import Sequence, parse_sequence

StartingPosition = Literal["TRIM_HORIZON", "LATEST"]
Transition = Literal["Creating", "Updating", "Enabling", "Disabling", "Deleting"]
"""States that pass by themselves."""
MappingState = Literal["Creating", "Updating", "Enabling", "Disabling", "Deleting", "Enabled", "Disabled"]

USER_ACTION = "User action"
"""StateTransitionReason of every mapping: only requests change a mapping."""
NO_LIMIT = -1
"""Value of `retry_attempts_max` and `record_age_seconds_max` for *without limit*."""
PREFIX = "mapping/"
NO_TEXTS: Mapping[str, str] = {}


class EventSourceMapping(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A mapping as stored. Times are seconds since the epoch, in service time."""

    uuid: str
    """36 characters, in lower case."""
    account: str
    region: str
    stream_arn: str
    function_arn: str
    """As in the request: unqualified, or with a version or an alias."""
    batch_size: int = 100
    """Most records of one invocation, 1 to 10,000."""
    batching_window_seconds: int = 0
    """Time that a batch waits for further records, 0 to 300."""
    parallelization_factor: int = 1
    """Most invocations for one shard at a time, 1 to 10."""
    starting_position: StartingPosition
    starting_sequence: str = "0"
    """No record with a smaller sequence number is delivered; for LATEST the first one after the creation. As digits,
    since sequence numbers have more bits than integers of JSON documents may have."""
    retry_attempts_max: int = NO_LIMIT
    """-1, or 0 to 10,000."""
    record_age_seconds_max: int = NO_LIMIT
    """-1, or 60 to 604,800."""
    is_bisecting: bool = False
    """BisectBatchOnFunctionError."""
    reports_item_failures: bool = False
    """True if FunctionResponseTypes has ReportBatchItemFailures."""
    tumbling_window_seconds: int = 0
    """0 (no windows) to 900."""
    filters: tuple[str, ...] = ()
    """Patterns of FilterCriteria, as in the request; a record is delivered if one of them matches.
    Empty: all records are."""
    destination_arn: str | None = None
    """Destination of OnFailure; None if there is none."""
    tags: Mapping[str, str] = NO_TEXTS
    metrics_config: Mapping[str, Any] | None = None
    """MetricsConfig as in the request. It, `logging_config` and `kms_key_arn` are only returned."""
    logging_config: Mapping[str, Any] | None = None
    kms_key_arn: str | None = None
    is_declared: bool = False
    """True if the mapping is one of the server's settings (`declared_mappings.py`),
    so that requests cannot change it."""
    is_enabled: bool = True
    transition: Transition = "Creating"
    """What the last request did. A reply to this request shows it as the mapping's State."""
    changing_until_seconds: float = 0.0
    """Time from which the state is Enabled or Disabled; of a deleted mapping, from which it is gone."""
    last_modified_seconds: float = 0.0

    @property
    def path(self) -> tuple[str, str, str]:
        """What identifies the mapping, as in its document's name."""
        return (self.account, self.region, self.uuid)

    @property
    def arn(self) -> str:
        """The mapping's own Amazon Resource Name."""
        return f"arn:aws:lambda:{self.region}:{self.account}:event-source-mapping:{self.uuid}"

    @property
    def first(self) -> Sequence:
        """`starting_sequence` as a number."""
        return parse_sequence(self.starting_sequence)


def state_of(mapping: EventSourceMapping, now_seconds: float) -> MappingState:
    """The state of a mapping that is not gone."""
    if mapping.transition == "Deleting" or now_seconds < mapping.changing_until_seconds:
        return mapping.transition
    return "Enabled" if mapping.is_enabled else "Disabled"


def is_mapping_gone(mapping: EventSourceMapping, now_seconds: float) -> bool:
    """True once a deleted mapping counts as absent."""
    return mapping.transition == "Deleting" and mapping.changing_until_seconds <= now_seconds


def is_delivering(mapping: EventSourceMapping, now_seconds: float) -> bool:
    """True if the mapping's records are delivered now: it is Enabled, or Updating from Enabled to Enabled."""
    if not mapping.is_enabled or mapping.transition == "Deleting":
        return False
    return mapping.transition == "Updating" or now_seconds >= mapping.changing_until_seconds


def without_overlong_transition(
    mapping: EventSourceMapping, now_seconds: float, delay_seconds: float
) -> EventSourceMapping:
    """The mapping; a transition that ends more than `delay_seconds` ahead,
    set before the clock was set back, ends now.
    """
    if mapping.changing_until_seconds <= now_seconds + delay_seconds:
        return mapping
    return msgspec.structs.replace(mapping, changing_until_seconds=now_seconds)
