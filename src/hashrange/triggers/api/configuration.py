"""How does a reply describe an event source mapping? With the members of EventSourceMappingConfiguration
that streams of DynamoDB have.

Source: Lambda's API reference; examples in the guide of its command line.
"""

from typing import Any

from hashrange.triggers.mapping import USER_ACTION, EventSourceMapping


def configuration_of(mapping: EventSourceMapping, state: str, last_result: str) -> dict[str, Any]:
    """The members of a reply. `state`: State; `last_result`: LastProcessingResult."""
    failure = {} if mapping.destination_arn is None else {"Destination": mapping.destination_arn}
    configuration: dict[str, Any] = {
        "UUID": mapping.uuid,
        "StartingPosition": mapping.starting_position,
        "BatchSize": mapping.batch_size,
        "MaximumBatchingWindowInSeconds": mapping.batching_window_seconds,
        "ParallelizationFactor": mapping.parallelization_factor,
        "EventSourceArn": mapping.stream_arn,
        "FunctionArn": mapping.function_arn,
        "LastModified": mapping.last_modified_seconds,
        "LastProcessingResult": last_result,
        "State": state,
        "StateTransitionReason": USER_ACTION,
        "DestinationConfig": {"OnFailure": failure},
        "MaximumRecordAgeInSeconds": mapping.record_age_seconds_max,
        "BisectBatchOnFunctionError": mapping.is_bisecting,
        "MaximumRetryAttempts": mapping.retry_attempts_max,
        "TumblingWindowInSeconds": mapping.tumbling_window_seconds,
        "FunctionResponseTypes": ["ReportBatchItemFailures"] if mapping.reports_item_failures else [],
        "EventSourceMappingArn": mapping.arn,
    }
    if mapping.filters:
        configuration["FilterCriteria"] = {"Filters": [{"Pattern": pattern} for pattern in mapping.filters]}
    settings = {
        "KMSKeyArn": mapping.kms_key_arn,
        "MetricsConfig": mapping.metrics_config,
        "LoggingConfig": mapping.logging_config,
    }
    return configuration | {name: setting for name, setting in settings.items() if setting is not None}
