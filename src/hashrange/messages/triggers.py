"""What do event source mappings say: as their LastProcessingResult, and about their filter criteria? Lambda's words where they are known."""

NO_RECORDS_PROCESSED = "No records processed"
OK = "OK"
FUNCTION_CALL_FAILED = "PROBLEM: Function call failed"
"""The last invocation returned an error, or reported item failures."""
# Our own wording, for what no report of users shows.
FUNCTION_THROTTLED = "PROBLEM: Function call was throttled"
FUNCTION_MISSING = "PROBLEM: Function not found"
DESTINATION_FAILED = "PROBLEM: Failure destination did not accept the record of a failed batch"
RECORD_TOO_LARGE = "PROBLEM: A record is longer than the payload of an invocation may be"
STREAM_ENDED = "PROBLEM: The stream is disabled, and all its records have been processed"
STREAM_MISSING = "PROBLEM: Stream not found"
FILTERS_INVALID = "PROBLEM: Filter criteria are invalid"

# Source: InvalidParameterValueException of CreateEventSourceMapping, reports of users.
INVALID_FILTER_PATTERN = "Invalid filter pattern definition."


def destination_unknown(arn: str, records: int) -> str:
    """A warning in the log."""
    return (
        f"{records} records are discarded: the failure destination {arn} is not in the server's table of destinations."
    )


def message_refused(arn: str, reason: str) -> str:
    """A warning in the log."""
    return f"The failure destination {arn} did not accept a message, which is sent again: {reason}"
