"""Which error messages concern resource policies? Each is defined once, with `str.format` fields.

Source: service behaviour, captures of October 2026, unless a comment says "our own".
"""

_INVALID = "One or more parameter values were invalid: "
_DOCUMENT = _INVALID + "Invalid policy document: "
_NOT_FOUND = "Resource-based policy not found for the provided ResourceArn: "

# --- the resource -------------------------------------------------------------------------------

ARN_START = _INVALID + "ARNs must start with 'arn:': {arn}"
ARN_NOT_A_RESOURCE = _INVALID + "Provided Arn is not a DynamoDB resource arn: {arn}"
ARN_OF_INDEX = (
    _INVALID + "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
)
ARN_ELSEWHERE = _INVALID + "Invalid resource Arn: {arn}"
OTHER_ACCOUNT = "This action is only supported by accounts that match the resource owner’s account."  # noqa: RUF001
STREAM_NOT_FOUND = "Requested resource not found: Stream: {label} not found for Table: {name}"
POLICY_PENDING = (
    "Attempt to change a resource which is still in use: "
    "{kind} is pending previous resource-based policy update: {name}"
)

# --- revisions ----------------------------------------------------------------------------------

POLICY_NOT_FOUND = _NOT_FOUND + "{arn}"
REVISION_OTHER = (
    _NOT_FOUND
    + "Requested update for policy with revision id {expected}, but the policy associated to target {resource}"
    " has revision id {revision}."
)
POLICY_EXISTS = (
    _NOT_FOUND
    + "Requested policy update expecting none to be present for {resource}, but a policy exists with revision id"
    " {revision}."
)
# Our own wording, modelled on REVISION_OTHER and POLICY_EXISTS.
REVISION_OF_NONE = (
    _NOT_FOUND
    + "Requested update for policy with revision id {expected}, but no policy is associated to target {resource}."
)

# --- the document -------------------------------------------------------------------------------

DOCUMENT_TOO_LARGE = _INVALID + "Maximum policy size of {limit} bytes exceeded"
DOCUMENT_NOT_JSON = _DOCUMENT + "This policy contains invalid Json"
DOCUMENT_NOT_POLICY = _DOCUMENT + "This text appears not to be a policy"
DOCUMENT_EMPTY = _DOCUMENT + "Syntax error at position ({line},{column})"
STATEMENT_EMPTY = _DOCUMENT + "Could not parse the policy: Statement is empty!"
FIELD_MISSING = _DOCUMENT + "Missing required field {field}"
"""Captured for the field Resource; the same wording is assumed for other fields."""
STATEMENT_IDS_REPEATED = _DOCUMENT + "The Statement Ids in the policy are not unique"
ACTIONS_INVALID = _DOCUMENT + "The following action names are invalid: {names}"
RESOURCE_INVALID = _DOCUMENT + 'The relative-id "{relative_id}" is invalid for ARN "{arn}"'
PRINCIPAL_INVALID = _INVALID + "Invalid principal in policy document."
UNBOUNDED = (
    "Resource-based policy grants unbounded access in one or more elements. "
    "Please revise the policy to ensure least-privilege form of access"
)
LOCKED_OUT = "The new resource policy will not allow you to update the resource policy in the future."
# Our own wording, from ELEMENT_INVALID to RESOURCE_NOT_ARN: the service's is not captured.
ELEMENT_INVALID = _DOCUMENT + "Syntax error in element {element}"
ELEMENT_UNKNOWN = _DOCUMENT + "Unknown element {element}"
VERSION_INVALID = _DOCUMENT + "Version must be 2012-10-17 or 2008-10-17"
RESOURCE_NOT_ARN = _DOCUMENT + 'Resource {resource} must be an ARN or "*"'
