"""May a function have these environment variables? Names, reserved names and size are those of Lambda.

Source: Lambda's developer guide, *Using Lambda environment variables*; the pattern of names is the service model's.
"""

import re
from collections.abc import Mapping

import msgspec

from hashrange.limits import FUNCTION_VARIABLES_BYTES_MAX
from hashrange.messages import functions_api as messages

RESERVED = frozenset(
    {
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_LAMBDA_RUNTIME_API",
        "LAMBDA_TASK_ROOT",
        "LAMBDA_RUNTIME_DIR",
    }
)
"""Names that Lambda sets itself."""
_is_name = re.compile(messages.VARIABLE_NAME_PATTERN, re.ASCII).fullmatch


def find_variables_fault(variables: Mapping[str, str]) -> str | None:
    """What is wrong with a function's environment variables, in Lambda's words where they are known;
    None if nothing is.
    """
    reserved = [name for name in variables if name in RESERVED]
    if reserved:
        return messages.reserved_variables(reserved)
    for name, value in variables.items():
        if not _is_name(name):
            return messages.variable_name(name)
        if "\0" in value:
            return messages.variable_value(name)
    size_bytes = len(msgspec.json.encode(variables))
    return messages.variables_too_large(size_bytes) if size_bytes > FUNCTION_VARIABLES_BYTES_MAX else None
