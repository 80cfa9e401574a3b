"""What do event source mappings say: as their LastProcessingResult, and about their filter criteria?
Lambda's words where they are known.
"""

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


def destination_unknown(arn: str, records: int, function: str, table: str) -> str:
    """A warning in the log."""
    return (
        f"{records_in_words(records)} of the table {table} {'is' if records == 1 else 'are'} discarded, which the"
        f" function {function} has not handled: the failure destination {arn} is not in the"
        " server's table of destinations."
    )


NOT_IN_TIME = "it did not answer in time"
"""Why a failure destination did not accept a message."""
STILL_SILENT = "it has not answered for {seconds:.3g} seconds; it is tried again later"
"""Why a destination did not get a message: it was not sent, because an earlier one had not been answered."""
# Why an advance of service time did not wait for the end of deliveries ({0}: function, {1}: table), or of asynchronous
# invocations ({0}: function). `links` and `seconds`: for how much of them it waited.
CHAIN_WITHOUT_END = (
    "The function {0} is triggered by its own writes to the table {1}, or by others that"
    " never end: it was invoked {links:,} times in a row, each time with records written since"
    " the time before. Service time has been moved; the function's invocations go on."
    " Filter criteria can keep a function from its own writes."
)
DELIVERIES_WITHOUT_END = (
    "The table {1} is written to all the while, by other clients or by functions that its records"
    " trigger: its records were delivered for {seconds:.0f} s after those that had been written"
    " before. Service time has been moved; deliveries go on."
)
EVENTS_CHAIN_WITHOUT_END = (
    "The function {0} invokes itself asynchronously, or is invoked so by others, without end:"
    " it was invoked {links:,} times in a row, each time by an invocation (InvocationType"
    " Event) that was queued since the time before. Service time has been moved; the function's invocations go on."
)
EVENTS_WITHOUT_END = (
    "The function {0} is invoked asynchronously all the while, by other clients or by functions:"
    " invocations ran for {seconds:.0f} s after those that had been queued before."
    " Service time has been moved; invocations go on."
)


def message_refused(arn: str, function: str, table: str, reason: str) -> str:
    """A warning in the log."""
    return (
        f"The failure destination {arn} did not accept a message about records of the table {table}, which the"
        f" function {function} has not handled. It is sent again: {reason}"
    )


FILTERS_ARE_INVALID = "its filter criteria are invalid"


MAPPING_UNUSABLE_LOGGED = (
    "The event source mapping {mapping_uuid} cannot be used, and delivers nothing: {reason}."
    " Change it, or delete it and create another one. Other mappings are not affected."
)
"""An error in the log."""

ERROR_UNDESCRIBED = "an error without a description"
_SHOWN_CHARACTERS_MAX = 300
"""Characters of a function's error that a line of the log repeats."""


NO_FAILURES_FORM = 'it is not of the form {"batchItemFailures": [{"itemIdentifier": "<SequenceNumber>"}]}'
"""Why a reply cannot be used."""
UNKNOWN_IDENTIFIER = "an itemIdentifier in it is not the SequenceNumber of a record of the batch"
NO_STATE = "it has no state, which a tumbling window requires"
STATE_TOO_LONG = "its state is too long for the next event"
_ONCE = "This is logged again only after a success."


FUNCTION_AWAITED = "There is no function {} yet. The records of the table {} wait for it."
"""A warning in the log, with the names of function and table."""


def function_failing(function: str, table: str, error: str) -> str:
    """A warning in the log. `error`: any text; what would not stay on one line is replaced."""
    return (
        f"The function {function} fails with records of the table {table}, and is retried as its mapping says:"
        f" {_shown(error)}. {_ONCE}"
    )


def delivery_failing(function: str, table: str, error: str) -> str:
    """An error in the log. `error`: any text; what would not stay on one line is replaced."""
    return (
        f"Records of the table {table} cannot be brought to the function {function}, which is tried again after"
        f" growing pauses: {_shown(error)}. {_ONCE}"
    )


def _shown(error: str) -> str:
    shown = "".join(one if one.isprintable() else " " for one in error[:_SHOWN_CHARACTERS_MAX]).rstrip(".")
    return f"{shown}…" if len(error) > _SHOWN_CHARACTERS_MAX else shown


def failures_reported(function: str, table: str, reported: int, records: int, follows: str) -> str:
    """A warning in the log. `reported`: how many of the `records` of a batch the function has named as failed."""
    return (
        f"The function {function} reported {reported} of {records} records of the table {table} as failed; {follows}."
        f" {_ONCE}"
    )


def reply_unusable(function: str, table: str, fault: str, follows: str) -> str:
    """A warning in the log."""
    return (
        f"The function {function} succeeded, but its reply about records of the table {table} says nothing of which"
        f" were handled: {fault}; {follows}. {_ONCE}"
    )


def delivered_again(records: int, batch_records: int, *, is_split: bool, pause_seconds: float) -> str:
    """What follows from a batch of which these records have not been handled."""
    which = _which(records, batch_records)
    how = "in two halves" if is_split else f"in {pause_seconds:g} s" if pause_seconds else "at once"
    return f"{which} delivered again {how}"


def given_up(records: int, batch_records: int) -> str:
    """What follows from a batch whose retries are used up."""
    return f"{_which(records, batch_records)} given up, because the retries are used up"


def _which(records: int, batch_records: int) -> str:
    if records == batch_records:
        return "the batch is" if records == 1 else f"all {records} are"
    return "the last one is" if records == 1 else f"the last {records}, from the first of them on, are"


def records_discarded(function: str, table: str, records: int, condition: str) -> str:
    """A warning in the log. `condition`: why, in Lambda's words."""
    return (
        f"{records_in_words(records)} of the table {table} {'is' if records == 1 else 'are'} discarded ({condition}):"
        f" the function {function} has not handled them, and the mapping has no failure destination."
        " Further ones are not logged before a success."
    )


def records_in_words(records: int) -> str:
    """A number of records in words."""
    return "1 record" if records == 1 else f"{records} records"
