"""How are errors of botocore worded for people? In one sentence that names what failed, the cause, and a way out.

The errors themselves are recognised by their classes and codes, never by their text.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.errors import HashrangeError

NO_TABLE_CODES = {"ResourceNotFoundException", "TableNotFoundException"}
KEY_CODES = {
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
DENIED_CODES = {"AccessDenied", "AccessDeniedException"}
THROTTLED_CODES = {
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
}
NO_KEYS = (
    "there are no credentials for {place}: {reason}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile"
    " with --profile."
)
SESSION_ENDED = "the session of the profile has ended: {reason}. Run `aws sso login` for this profile."
NO_DYNAMODB = "what answers in {place} is no DynamoDB server. Name one with --endpoint."
UNREADABLE = "what answers in {place} sends a reply that is none of AWS's: {reason}. Name another one with --endpoint."
ENDLESS = "what answers in {place} sends a reply that has no end. Name another one with --endpoint."
NO_ANSWER = (
    "no server answers in {place}: {reason}. Start one with `hashrange serve`, name another one with --endpoint, or"
    " check --region."
)
SENTENCES = {
    "NoCredentialsError": NO_KEYS,
    "PartialCredentialsError": NO_KEYS,
    "CredentialRetrievalError": NO_KEYS,
    "SSOError": SESSION_ENDED,
    "TokenRetrievalError": SESSION_ENDED,
    "SSLError": (
        "there is no secure connection to {place}: {reason}. If it speaks plain HTTP, say http://; if its certificate"
        " is not trusted, name its authority's file in AWS_CA_BUNDLE."
    ),
    "ConnectionError": NO_ANSWER,
    "HTTPClientError": NO_ANSWER,
    "ResponseParserError": NO_DYNAMODB,
    "ParamValidationError": (
        "the request cannot be sent: {reason}. Mend these values, or install a newer boto3 if it should know them."
    ),
}
"""Class of an error of botocore, or of a class that it is derived from → sentence. The classes are known by their names
because botocore is in an extra, and this file is imported by every command."""
SERVER_FAULT_STATUS = 500
"""HTTP statuses from this one on say that the server failed."""


class ToolkitFailure(HashrangeError):
    """A command of the toolkit cannot do its work, as the message says. `code`: the service's code, if it refused."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


class UsageFault(ToolkitFailure):
    """An option, a variable or a file that a person gave cannot be used."""


def toolkit_failure(error: Exception, place: str, members: Mapping[str, Any]) -> ToolkitFailure:
    """The failure for an error of botocore. `place`: Region and endpoint; `members`: those of the request."""
    names = [kind.__name__ for kind in type(error).__mro__]
    if "ClientError" in names:
        return _refusal_of(error, place, members)
    sentence = next((SENTENCES[name] for name in names if name in SENTENCES), "{place} cannot be used: {reason}.")
    return ToolkitFailure(sentence.format(place=place, reason=" ".join(str(error).split()).rstrip(".")))


def _refusal_of(error: Any, place: str, members: Mapping[str, Any]) -> ToolkitFailure:
    """The failure for an error that a service has answered."""
    told = error.response.get("Error", {})
    code, message = str(told.get("Code", "")), " ".join(str(told.get("Message", "")).split()).rstrip(".")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    reason = f"{code}: {message}" if message else code
    table = members.get("TableName")
    if code in NO_TABLE_CODES and table:
        sentence = (
            f"there is no table {table} in {place}. Check its name, or say where it is with --region, --endpoint, --aws"
            " or --profile."
        )
    elif code in KEY_CODES:
        sentence = (
            f"{place} does not let this caller in ({reason}). Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and"
            " AWS_SESSION_TOKEN, or name another profile with --profile."
        )
    elif code in DENIED_CODES:
        sentence = f"{place} does not permit {error.operation_name} ({reason}). Ask for a policy that allows it."
    elif code in THROTTLED_CODES:
        sentence = (
            f"{place} has throttled {error.operation_name}, again after every retry ({reason}). Try later, or raise the"
            " capacity or the quota."
        )
    elif code.isdecimal() or not code:
        sentence = NO_DYNAMODB.format(place=place)
    elif status >= SERVER_FAULT_STATUS:
        sentence = f"{place} failed in {error.operation_name} ({reason}). Try again later."
    else:
        sentence = f"{place} refused {error.operation_name}: {reason}."
    return ToolkitFailure(sentence, code)
