"""What does the log say of mappings that do not come forward? Once that the function is missing or fails,
once that it reports failed records, and once that records are discarded.

Each is logged when it begins, and again only after a success of the same mapping, so that no log grows with retries.
A changed mapping begins anew. Throttled functions and pending ones are not logged: that passes by itself.
A mapping is named by its function and its table, as users name it, and not by ARN and UUID.
"""

import logging

from hashrange.errors import HashrangeError, StorageCorruption
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.handler_errors import described, logged_text, read_handler_error
from hashrange.functions.invocation import Invocation
from hashrange.functions.names import parse_arn
from hashrange.functions.refusals import FunctionMissing
from hashrange.messages import triggers as messages
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import Consumer
from hashrange.triggers.outcomes import Conclusion, Unhandled

_CONFLICT_STATUS = 409
"""Status of the error about a function that is Pending."""
_log = logging.getLogger("hashrange.triggers")


def log_refusal(consumer: Consumer, error: BaseException) -> None:
    """An invocation was refused with this error."""
    if isinstance(error, FunctionMissing):
        _warn_once(consumer, "missing", messages.FUNCTION_AWAITED.format(*_names(consumer)))
    elif isinstance(error, LambdaError) and error.http_status != _CONFLICT_STATUS:
        _warn_once(consumer, "failing", messages.function_failing(*_names(consumer), logged_text(error.message)))
    elif isinstance(error, StorageCorruption):
        _warn_once(consumer, "failing", messages.function_failing(*_names(consumer), str(error)))


def log_failed_attempt(consumer: Consumer, error: Exception) -> None:
    """An attempt has failed with an error of the store, or with one that no code has foreseen, whose traceback is
    logged.
    """
    if "failing" not in consumer.logged:
        consumer.logged.add("failing")
        message = messages.delivery_failing(*_names(consumer), logged_text(str(error)))
        _log.error("%s", message, exc_info=None if isinstance(error, HashrangeError) else error)


def log_end(consumer: Consumer, invocation: Invocation, conclusion: Conclusion) -> None:
    """An invocation has ended, and this has followed."""
    unhandled = conclusion.unhandled
    if conclusion.result == messages.OK:
        consumer.logged.clear()
    elif invocation.function_error is not None or unhandled is None:
        if "failing" not in consumer.logged:
            error = logged_text(read_error(invocation.payload))
            _warn_once(consumer, "failing", messages.function_failing(*_names(consumer), error))
    else:
        names, follows = _names(consumer), _what_follows(unhandled)
        told = messages.failures_reported(*names, unhandled.response.reported, unhandled.batch_records, follows)
        if unhandled.response.fault:
            told = messages.reply_unusable(*names, unhandled.response.fault, follows)
        _warn_once(consumer, "reporting", told)


def log_discard(consumer: Consumer, batch: Batch) -> None:
    """A batch is given up, and no destination hears of it."""
    assert batch.discard is not None
    told = messages.records_discarded(*_names(consumer), len(batch.sequences), batch.discard)
    _warn_once(consumer, "discarding", told)


def read_error(payload: bytes) -> str:
    """Type and message of the error that a function returned, and its place, as far as its payload has them."""
    error = read_handler_error(payload)
    return (error and described(error)) or messages.ERROR_UNDESCRIBED


def _what_follows(unhandled: Unhandled) -> str:
    counts = sum(len(one.sequences) for one in unhandled.rest), unhandled.batch_records
    if any(one.discard is not None for one in unhandled.rest):
        return messages.given_up(*counts)
    return messages.delivered_again(*counts, is_split=len(unhandled.rest) > 1, pause_seconds=unhandled.pause_seconds)


def _names(consumer: Consumer) -> tuple[str, str]:
    """The names of function and table."""
    mapping = consumer.mapping
    return name_function(mapping.function_arn), name_table(mapping.stream_arn)


def _warn_once(consumer: Consumer, problem: str, message: str) -> None:
    if problem not in consumer.logged:
        consumer.logged.add(problem)
        _log.warning("%s", message)


# --- names in the log -----------------------------------------------------------------------------

_SHARED_ACCOUNT = "000000000000"
"""The account of clients whose access key is no account; it is not named."""


def name_function(function_arn: str) -> str:
    """The name of a function."""
    reference = parse_arn(function_arn)
    return function_arn if reference is None else reference.key.name


def name_table(stream_arn: str) -> str:
    """The name of a stream's table, with its Region, such as `orders (eu-west-1)`,
    and its account if it is not the usual one.
    """
    region, account, resource = stream_arn.split(":", 5)[3:]
    where = region if account == _SHARED_ACCOUNT else f"{region}, account {account}"
    return f"{resource.split('/')[1]} ({where})"
