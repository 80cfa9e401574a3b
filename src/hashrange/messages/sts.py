"""Which sentences does the Security Token Service return? Those of the service where they are known;
the others are our own, in its manner.

Source: reports of users; service model of STS.
"""

# --- members (others: constraints.py) ---
# (unconfirmed): the service's words.
MALFORMED = "The value of {path} cannot be read: {detail}"

# --- roles ---
ROLE_ARN = "Request ARN is invalid"
CHAINED_TOO_LONG = "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining"
NOT_AUTHORIZED = "User: {arn} is not authorized to perform: {action} on resource: {resource}"
# (unconfirmed), from POLICY_NO_JSON to TAG_NOT_PASSED, except PACKED_TAGS: the service's words.
POLICY_NO_JSON = "The policy is not in the valid JSON format."
TOO_MANY_POLICIES = "The number of policy ARNs must be at most {most}."
PACKED_POLICY = "Packed policy consumes {percent}% of allotted space, please use smaller policy."
PACKED_TAGS = "Packed size of session tags consumes {percent}% of allotted space."
TAG_TWICE = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
TAG_RESERVED = "Tag keys must not begin with aws:, as {key} does."
TAG_NOT_PASSED = "The transitive tag key {key} is none of the session tags."
# Our own wording: there is no identity center.
NO_CONTEXTS = "Hashrange does not support ProvidedContexts."

# --- sessions ---
SESSION_OF_SESSION = "Cannot call GetSessionToken with session credentials"
# Our own wording: the service knows the account of every access key.
NO_SUCH_KEY = "The access key {key} is none of the credentials file, and none of a session of its accounts."

# --- web identities ---
NO_JWT = "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)"
CLAIM_MISSING = "Missing a required claim: {claim}"
IDENTITY_EXPIRED = "Token expired: current date/time {now} must be before the expiration date/time {expires}"
# The first sentence is the service's, the second one our own.
IDENTITY_UNVERIFIED = (
    "Not authorized to perform sts:AssumeRoleWithWebIdentity. Hashrange cannot verify web identity tokens: with a"
    " credentials file, sign AssumeRole with one of its keys instead."
)
