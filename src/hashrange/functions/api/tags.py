"""Which function's tags does a request concern, and may it have them?
Shared by the three operations on tags and CreateFunction.

Tags of event source mappings have the same operations; `find_tagged_function` refuses their ARNs.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.names import parse_arn
from hashrange.functions.refusals import parameter_refusal
from hashrange.limits import FUNCTION_TAGS_MAX
from hashrange.messages import functions_api as say

TaggedArn = Annotated[str, Meta(min_length=1, max_length=10_000)]
_RESERVED_PREFIX = "aws:"


def check_function_tags(tags: Mapping[str, str]) -> None:
    """Raise LambdaError for reserved keys, or more tags than a function may have."""
    for key in tags:
        if key.lower().startswith(_RESERVED_PREFIX):
            raise parameter_refusal(say.reserved_function_tag(key))
    if len(tags) > FUNCTION_TAGS_MAX:
        raise parameter_refusal(say.too_many_function_tags(FUNCTION_TAGS_MAX))


def find_tagged_function(functions: Functions, caller: Caller, arn: str) -> FunctionDescription:
    """The function of an ARN without a qualifier. Raises LambdaError and StorageError."""
    reference = parse_arn(arn)
    if reference is None:
        raise parameter_refusal(say.TAGS_OF_FUNCTIONS)
    if reference.qualifier is not None:
        raise parameter_refusal(say.TAGS_OF_VERSIONS)
    return functions.find(arn, caller)
