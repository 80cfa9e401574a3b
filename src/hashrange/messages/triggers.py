"""What do event source mappings say: as their LastProcessingResult, and about their filter criteria? Lambda's words where they are known."""

from hashrange.limits import TRIGGER_CHAIN_LINKS_MAX, TRIGGER_CHAIN_SECONDS_MAX

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
MAPPING_UNUSABLE = "PROBLEM: The mapping cannot be used; the log of the server says why"

# Source: InvalidParameterValueException of CreateEventSourceMapping, reports of users.
INVALID_FILTER_PATTERN = "Invalid filter pattern definition."


def destination_unknown(arn: str, records: int) -> str:
    """A warning in the log."""
    return (
        f"{records} records are discarded: the failure destination {arn} is not in the server's table of destinations."
    )


NOT_IN_TIME = "it did not answer in time"
"""Why a failure destination did not accept a message."""
STILL_SILENT = "it has not answered for {seconds:.3g} seconds; it is tried again later"
"""Why a destination did not get a message: it was not sent, because an earlier one had not been answered."""


def chain_without_end(function_arn: str, table_name: str) -> str:
    """Why an advance of service time did not wait for the end of deliveries."""
    return (
        f"The function {function_arn} is triggered by its own writes to the table {table_name}, or by others that never end:"
        f" it was invoked {TRIGGER_CHAIN_LINKS_MAX:,} times in a row, each time with records written since the time before."
        " Service time has been moved; the function's invocations go on. Filter criteria can keep a function from its own writes."
    )


def deliveries_without_end(table_name: str) -> str:
    """Why an advance of service time did not wait for the end of deliveries."""
    return (
        f"The table {table_name} is written to all the while, by other clients or by functions that its records trigger: its records"
        f" were delivered for {TRIGGER_CHAIN_SECONDS_MAX:.0f} s after those that had been written before. Service time has been moved;"
        " deliveries go on."
    )


def events_chain_without_end(function_arn: str) -> str:
    """Why an advance of service time did not wait for the end of asynchronous invocations."""
    return (
        f"The function {function_arn} invokes itself asynchronously, or is invoked so by others, without end: it was invoked"
        f" {TRIGGER_CHAIN_LINKS_MAX:,} times in a row, each time by an invocation (InvocationType Event) that was queued since the time"
        " before. Service time has been moved; the function's invocations go on."
    )


def events_without_end(function_arn: str) -> str:
    """Why an advance of service time did not wait for the end of asynchronous invocations."""
    return (
        f"The function {function_arn} is invoked asynchronously all the while, by other clients or by functions: invocations ran"
        f" for {TRIGGER_CHAIN_SECONDS_MAX:.0f} s after those that had been queued before. Service time has been moved; invocations"
        " go on."
    )


def message_refused(arn: str, reason: str) -> str:
    """A warning in the log."""
    return f"The failure destination {arn} did not accept a message, which is sent again: {reason}"


FILTERS_ARE_INVALID = "its filter criteria are invalid"


def mapping_unusable(mapping_uuid: str, reason: str) -> str:
    """An error in the log."""
    return (
        f"The event source mapping {mapping_uuid} cannot be used, and delivers nothing: {reason}. Change it, or delete it and create"
        " another one. Other mappings are not affected."
    )


ERROR_UNDESCRIBED = "an error without a description"
REPLY_REPORTS_FAILURE = "its reply names failed records, or is not of the form that the mapping requires"
_SHOWN_CHARACTERS_MAX = 300
"""Characters of a function's error that a line of the log repeats."""


def function_awaited(function_arn: str, mapping_uuid: str) -> str:
    """A warning in the log."""
    return (
        f"There is no function {function_arn}. The event source mapping {mapping_uuid} waits for it with its records."
    )


def function_failing(function_arn: str, mapping_uuid: str, error: str) -> str:
    """A warning in the log. `error`: any text; what would not stay on one line is replaced."""
    shown = "".join(one if one.isprintable() else " " for one in error[:_SHOWN_CHARACTERS_MAX]).rstrip(".")
    if len(error) > _SHOWN_CHARACTERS_MAX:
        shown += "…"
    return (
        f"The function {function_arn} fails with records of the event source mapping {mapping_uuid}, which retries as it is "
        f"configured: {shown}. This is logged again only after a success."
    )


def records_discarded(function_arn: str, mapping_uuid: str, records: int, condition: str) -> str:
    """A warning in the log. `condition`: why, in Lambda's words."""
    return (
        f"{records} records of the event source mapping {mapping_uuid} are discarded ({condition}): the function {function_arn} has not"
        " handled them, and the mapping has no failure destination. Further ones are not logged before a success."
    )
