"""What is told of a handler that cannot be loaded, to the client that creates or changes its function,
and to the log at the start?
"""

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from hashrange.errors import StorageError
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.code_folders import thread_for
from hashrange.functions.description import FUNCTION_PREFIX, FunctionDescription
from hashrange.functions.handler_errors import HandlerError, described, read_handler_error
from hashrange.functions.handler_hints import hint_on_handler, names_in_zip
from hashrange.functions.invocation import InvocationOutcome
from hashrange.functions.programs import ProgramMissing, find_program
from hashrange.functions.refusals import parameter_refusal
from hashrange.functions.runnable import is_supported, language_of
from hashrange.messages import functions as program_messages
from hashrange.messages import functions_api as messages
from hashrange.store.documents import Documents

_NAMES_SHOWN_MAX = 5
_log = logging.getLogger("hashrange.functions")


async def load_refusal(
    description: FunctionDescription, zipped: bytes, request_id: str, outcome: InvocationOutcome
) -> LambdaError:
    """The refusal of a function whose start had this outcome. `zipped`: empty for code that is used in place."""
    error = read_handler_error(outcome.payload) or HandlerError(outcome.error_type, "")
    message = error.message.removeprefix(program_messages.of_request(request_id, ""))
    names = await thread_for(zipped).run(names_in_zip, zipped) if zipped else None
    hint = hint_on_handler(description.handler, language_of(description.runtime), names)
    return parameter_refusal(messages.handler_broken(described(error._replace(message=message)), hint))


class _Runtime(msgspec.Struct, frozen=True, gc=False):
    """The members of a stored function that are looked at."""

    name: str
    runtime: str


_decode = msgspec.json.Decoder(_Runtime).decode


async def warn_of_missing_programs(documents: Documents) -> None:
    """Log which runtimes of stored functions have no program on this machine, or another version of it."""
    try:
        stored = documents.below(FUNCTION_PREFIX)
    except StorageError:
        return  # whoever uses the functions hears of it
    for runtime, names in (await asyncio.to_thread(_names_by_runtime, stored)).items():
        try:
            await find_program(runtime)
        except ProgramMissing as error:
            shown = ", ".join(names[:_NAMES_SHOWN_MAX]) + (", …" if len(names) > _NAMES_SHOWN_MAX else "")
            _log.warning("%s", program_messages.runtime_missing(shown, runtime, str(error)))


def _names_by_runtime(stored: Sequence[tuple[str, bytes]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for _, document in stored:
        try:
            one = _decode(document)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # whoever uses the function hears of it
        if is_supported(one.runtime):
            names.setdefault(one.runtime, []).append(one.name)
    return names
