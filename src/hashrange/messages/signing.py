"""Which error messages concern signatures? The service's.
Source: service behaviour, captures to Oct 2026 (signing.md 3).
"""

# --- no authentication, or two forms of it ------------------------------------------------------

MISSING_TOKEN = "Request is missing Authentication Token"  # noqa: S105 - a sentence, no secret
BOTH_FORMS = "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."

# --- missing parts: all messages for a request are joined with blanks ---------------------------

HEADER_REQUIRES = "Authorization header requires '{part}' parameter."
HEADER_REQUIRES_DATE = "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
HEADER_GIVEN = "Authorization={header}"
NOT_KEY_VALUE = "'{part}' not a valid key=value pair (missing equal-sign) in Authorization header: '{header}'."
QUERY_MUST_INCLUDE = "AWS query-string parameters must include '{part}'."
QUERY_REEXAMINE = "Re-examine the query-string parameters."

# --- unreadable parts ---------------------------------------------------------------------------

DATE_FORMAT = "Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601"
ALGORITHM = "Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). "
CREDENTIAL_SHAPE = (
    "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{credential}'"
)
HOST_NOT_SIGNED = "'Host' must be a 'SignedHeader' in the AWS Authorization."

# (unconfirmed), from EXPIRES_NO_NUMBER to EXPIRES_TOO_LONG: the wording of other services for presigned requests.
EXPIRES_NO_NUMBER = "X-Amz-Expires should be a number"
EXPIRES_NEGATIVE = "X-Amz-Expires must be non-negative"
EXPIRES_TOO_LONG = "X-Amz-Expires must be less than a week (in seconds) that is 604800"

# --- time ---------------------------------------------------------------------------------------

EXPIRED = "Signature expired: {date} is now earlier than {earliest} ({now} - {minutes} min.)"
NOT_YET_CURRENT = "Signature not yet current: {date} is still later than {latest} ({now} + 15 min.)"

# --- credential scope: all messages for a request are joined with blanks ------------------------

SCOPE_REGION = "Credential should be scoped to a valid region, not '{region}'."
SCOPE_SERVICE = "Credential should be scoped to correct service: '{service}'."
SCOPE_TERMINATOR = "Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'."
SCOPE_DATE = (
    "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
    "'{scope_date}' != '{day}', from '{date}'."
)

# --- access keys, session tokens and signatures -------------------------------------------------

UNKNOWN_KEY = "The security token included in the request is invalid."
"""For an unknown access key; ends with a dot, unlike BAD_SESSION_TOKEN."""
BAD_SESSION_TOKEN = "The security token included in the request is invalid"  # noqa: S105 - a sentence, no secret
"""For a session token that is not the access key's own, or a missing one; has no final dot, unlike UNKNOWN_KEY."""
EXPIRED_SESSION_TOKEN = "The security token included in the request is expired"  # noqa: S105 - a sentence, no secret
MISMATCH = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n"
    "The Canonical String for this request should have been\n'{canonical}'\n\n"
    "The String-to-Sign should have been\n'{to_sign}'\n"
)
