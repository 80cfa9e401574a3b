"""Which settings does a mapping get from a request? They are checked, and become members of the stored mapping.

Order of checks: members of other event sources → record age → tumbling window → filter patterns → destinations.
The service's order is unconfirmed.
"""

import re
from typing import Any

import msgspec

from hashrange.functions.refusals import parameter_refusal
from hashrange.limits import EVENT_FILTERS_MAX, RECORD_AGE_SECONDS_MIN
from hashrange.messages import event_source_mappings as messages
from hashrange.messages.functions_api import cut
from hashrange.triggers.api.requests import (
    OTHER_SOURCES_MEMBERS,
    DestinationConfigMembers,
    FilterCriteriaMembers,
    MembersOfMapping,
)
from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.filter_patterns import compile_filters
from hashrange.wire.render import lower_camel

_PLAIN_MEMBERS = {
    "BatchSize": "batch_size",
    "MaximumBatchingWindowInSeconds": "batching_window_seconds",
    "ParallelizationFactor": "parallelization_factor",
    "MaximumRecordAgeInSeconds": "record_age_seconds_max",
    "MaximumRetryAttempts": "retry_attempts_max",
    "BisectBatchOnFunctionError": "is_bisecting",
    "TumblingWindowInSeconds": "tumbling_window_seconds",
    "Enabled": "is_enabled",
}
"""Member of a request → member of the mapping, which takes its value."""
_is_destination = re.compile(r"arn:aws[a-zA-Z-]*:(?:(?:sqs|sns):[^:]+:[0-9]{12}:[a-zA-Z0-9_-]+|s3:::[^:/]+)").fullmatch


def settings_of(request: MembersOfMapping) -> dict[str, Any]:
    """Members of a mapping that the request sets. Raises LambdaError."""
    for name in OTHER_SOURCES_MEMBERS:
        if getattr(request, name, None) not in (None, []):
            raise parameter_refusal(messages.UNSUPPORTED_PARAMETER.format(member=lower_camel(name)))
    given = {ours: getattr(request, name) for name, ours in _PLAIN_MEMBERS.items()}
    settings: dict[str, Any] = {name: member for name, member in given.items() if member is not None}
    if -1 < settings.get("record_age_seconds_max", -1) < RECORD_AGE_SECONDS_MIN:
        raise parameter_refusal(messages.RECORD_AGE)
    if request.FunctionResponseTypes is not None:
        settings["reports_item_failures"] = bool(request.FunctionResponseTypes)
    if request.FilterCriteria is not None:
        settings["filters"] = _filters(request.FilterCriteria)
    if request.DestinationConfig is not None:
        settings["destination_arn"] = _destination(request.DestinationConfig)
    if request.KMSKeyArn is not None:
        settings["kms_key_arn"] = request.KMSKeyArn or None
    for name, ours in (("MetricsConfig", "metrics_config"), ("LoggingConfig", "logging_config")):
        config = getattr(request, name)
        if config is not None:
            settings[ours] = msgspec.to_builtins(config) or None
    return settings


def require_agreement(parallelization_factor: int, tumbling_window_seconds: int) -> None:
    """Raise LambdaError if a mapping has tumbling windows and parallel batches. Source: reports of users."""
    if tumbling_window_seconds and parallelization_factor > 1:
        raise parameter_refusal(messages.WINDOW_AND_PARALLELIZATION)


def _filters(criteria: FilterCriteriaMembers) -> tuple[str, ...]:
    filters = criteria.Filters or []
    if len(filters) > EVENT_FILTERS_MAX:
        raise parameter_refusal(messages.TOO_MANY_FILTERS.format(most=EVENT_FILTERS_MAX))
    patterns = tuple(one.Pattern or "" for one in filters)
    try:
        compile_filters(patterns)
    except InvalidPattern:
        raise parameter_refusal(messages.INVALID_PATTERN) from None
    return patterns


def _destination(config: DestinationConfigMembers) -> str | None:
    """ARN of the destination of failed batches; None if the request takes it away."""
    if config.OnSuccess is not None and config.OnSuccess.Destination:
        raise parameter_refusal(messages.SUCCESS_DESTINATION)
    arn = config.OnFailure.Destination if config.OnFailure is not None else None
    if not arn:
        return None
    if not _is_destination(arn):
        raise parameter_refusal(messages.UNUSABLE_DESTINATION.format(arn=cut(arn)))
    return arn
