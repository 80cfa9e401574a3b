"""What does the log say of mappings that do not come forward? Once that the function is missing or fails, and once that records are discarded.

Each is logged when it begins, and again only after a success of the same mapping, so that no log grows with retries. A changed
mapping begins anew. Throttled functions and pending ones are not logged: that passes by itself.
"""

import logging

from hashrange.functions.api.operation import LambdaError
from hashrange.functions.handler_errors import logged_text, read_handler_error
from hashrange.functions.invocation import Invocation
from hashrange.functions.refusals import FunctionMissing
from hashrange.messages import triggers as messages
from hashrange.triggers.batches import Batch
from hashrange.triggers.consumers import Consumer

_CONFLICT_STATUS = 409
"""Status of the error about a function that is Pending."""
_log = logging.getLogger("hashrange.triggers")


def log_refusal(consumer: Consumer, error: BaseException) -> None:
    """An invocation was refused with this error."""
    mapping = consumer.mapping
    if isinstance(error, FunctionMissing):
        _warn_once(consumer, "missing", messages.function_awaited(mapping.function_arn, mapping.uuid))
    elif isinstance(error, LambdaError) and error.status != _CONFLICT_STATUS:
        _warn_once(
            consumer,
            "failing",
            messages.function_failing(mapping.function_arn, mapping.uuid, logged_text(error.message)),
        )


def log_end(consumer: Consumer, invocation: Invocation, *, is_good: bool) -> None:
    """An invocation has ended. `is_good`: all of its records have been handled."""
    if is_good:
        consumer.logged.clear()
    elif "failing" not in consumer.logged:
        mapping, error = consumer.mapping, messages.REPLY_REPORTS_FAILURE
        if invocation.function_error is not None:
            error = read_error(invocation.payload)
        _warn_once(
            consumer, "failing", messages.function_failing(mapping.function_arn, mapping.uuid, logged_text(error))
        )


def log_discard(consumer: Consumer, batch: Batch) -> None:
    """A batch is given up, and no destination hears of it."""
    mapping, condition = consumer.mapping, batch.discard
    assert condition is not None
    _warn_once(
        consumer,
        "discarding",
        messages.records_discarded(mapping.function_arn, mapping.uuid, len(batch.records), condition),
    )


def read_error(payload: bytes) -> str:
    """Type and message of the error that a function returned, as far as its payload has them."""
    return ": ".join(filter(None, read_handler_error(payload) or ())) or messages.ERROR_UNDESCRIBED


def _warn_once(consumer: Consumer, problem: str, message: str) -> None:
    if problem not in consumer.logged:
        consumer.logged.add(problem)
        _log.warning("%s", message)
