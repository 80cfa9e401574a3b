"""Which limits does the Security Token Service have? Those of the service, and bounds of our own, which say so.

Source: service model of STS; STS API reference, *AssumeRole*, *GetSessionToken*.
"""

SESSION_SECONDS_MIN = 900
ROLE_SECONDS_MAX = 43_200
ROLE_SECONDS_DEFAULT = 3_600
CHAINED_SECONDS_MAX = 3_600
"""Longest session of a role that a session of another role assumes."""
SESSION_TOKEN_SECONDS_MAX = 129_600
SESSION_TOKEN_SECONDS_DEFAULT = 43_200
POLICY_CHARACTERS_MAX = 2_048
"""Characters of a session policy with the ARNs of managed ones."""
POLICY_ARNS_MAX = 10
PACKED_BYTES_MAX = 2_048
"""Bytes of policies and tags, compressed, that are 100 %: our own measure, as the service's form is not published."""
SESSION_TAGS_MAX = 50
CONTEXTS_MAX = 5
TOKEN_BYTES_MAX = 8_192
"""Bytes of a session token that are read: our own bound.
Ours have less than 1,000, or `MinimumSessionTokenSize`, at most 4,096."""
TOKEN_SIZE_MAX = 4_096
"""Greatest `MinimumSessionTokenSize`, in bytes."""
