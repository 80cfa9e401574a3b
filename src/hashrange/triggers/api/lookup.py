"""Which mapping, stream and function does a request name? They are looked up for its caller;
what is missing or in use is refused.
"""

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.names import read_reference, without_latest
from hashrange.functions.refusals import FunctionMissing, parameter_refusal
from hashrange.messages import event_source_mappings as messages
from hashrange.messages.functions_api import cut
from hashrange.operations.streams.stream import is_readable, stream_with_arn
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.triggers import Triggers


def find_mapping(triggers: Triggers, caller: Caller, uuid: str) -> EventSourceMapping:
    """The caller's mapping. Raises LambdaError."""
    mapping = triggers.mappings.find(caller, uuid.lower())
    if mapping is None:
        raise LambdaError(404, "ResourceNotFoundException", messages.NO_MAPPING)
    return mapping


def find_resting_mapping(triggers: Triggers, caller: Caller, uuid: str, in_use: str) -> EventSourceMapping:
    """The caller's mapping, if its state may change now. Raises LambdaError, with the message `in_use` if it may not.

    A mapping of the server's settings may not be changed either.
    """
    mapping = find_mapping(triggers, caller, uuid)
    require_resting(triggers, mapping, LambdaError(400, "ResourceInUseException", in_use))
    return mapping


def require_resting(triggers: Triggers, mapping: EventSourceMapping, refusal: LambdaError) -> None:
    """Raise LambdaError for a mapping of the server's settings, and this refusal for one whose state is changing."""
    if mapping.is_declared:
        raise parameter_refusal(messages.DECLARED)
    if triggers.mappings.shown_state(mapping) not in ("Enabled", "Disabled"):
        raise refusal


def require_stream(triggers: Triggers, caller: Caller, arn: str) -> None:
    """Raise LambdaError unless the caller has this stream of a table, and it can be read."""
    if arn.split(":")[2] != "dynamodb":
        raise parameter_refusal(messages.NO_DYNAMODB_STREAM.format(source=cut(arn)))
    stream = stream_with_arn(triggers.store.streams, arn)
    is_theirs = stream is not None and (stream.account, stream.region) == caller
    if stream is None or not is_theirs or not is_readable(stream, triggers.clock.service_time()):
        raise parameter_refusal(messages.STREAM_NOT_FOUND.format(arn=cut(arn)))


def function_arn(triggers: Triggers, caller: Caller, text: str) -> str:
    """ARN of the function that a request names, with the qualifier if it names one. Raises LambdaError."""
    reference = read_reference(text, caller)
    try:
        triggers.functions.find(text, caller)
    except FunctionMissing:
        raise parameter_refusal(messages.NO_FUNCTION) from None
    return reference.arn


def require_only_mapping(triggers: Triggers, mapping: EventSourceMapping) -> None:
    """Raise LambdaError if another mapping connects the same stream with the same function."""
    function = without_latest(mapping.function_arn)
    for other in triggers.mappings.all_of(Caller(mapping.account, mapping.region)):
        if (
            other.uuid != mapping.uuid
            and other.stream_arn == mapping.stream_arn
            and without_latest(other.function_arn) == function
        ):
            name = mapping.function_arn.partition(":function:")[2]
            message = messages.MAPPING_EXISTS
            message = message.format(stream_arn=mapping.stream_arn, function_name=name, uuid=other.uuid)
            raise LambdaError(409, "ResourceConflictException", message)


def require_destination(triggers: Triggers, mapping: EventSourceMapping) -> None:
    """Raise LambdaError if the server does not know where the messages to the mapping's failure destination go."""
    arn = mapping.destination_arn
    if arn is not None and arn not in triggers.destinations:
        raise parameter_refusal(messages.UNKNOWN_DESTINATION.format(arn=cut(arn)))
