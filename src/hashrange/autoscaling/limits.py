"""Which limits does Application Auto Scaling have? Those of the service, and bounds of our own, which say so."""

SCALING_ACTIVITY_SECONDS = 42 * 86_400
"""Service time for which scaling activities are described. Source: operations.md 5."""
SCALING_LOOK_SECONDS = 86_400
"""Service time after which activities that have become older are looked for again: our own bound."""
SCALING_ACTIVITIES_MAX = 1_000
"""Activities of one target that are kept: our own bound."""
SCALING_TARGET_PERCENT_MIN, SCALING_TARGET_PERCENT_MAX = 20.0, 90.0
"""Target value of the predefined metrics of DynamoDB. Source: operations.md 5.1."""
SCALING_DESCRIBED_MAX = 50
"""Records in a page of the operations that describe, and names that they may ask for."""
SCALING_INTEGER_MAX = 2**31 - 1
"""Greatest integer of the API: capacities in units, cooldowns in seconds.
Source: botocore's service model, whose integers have 32 bits."""
SCALING_TARGETS_MAX = 5_000
"""Scalable targets of DynamoDB in an account and Region. Source: Application Auto Scaling's quotas."""
SCALING_POLICIES_MAX = 50
"""Policies of a target."""
SCHEDULED_ACTIONS_MAX = 200
"""Scheduled actions of a target."""
SCALING_TAGS_MAX = 50
SCALING_TAG_KEYS_MAX = 200
"""Keys that one UntagResource may name."""
SCALING_TAG_KEY_LENGTH_MAX = 128
SCALING_TAG_VALUE_LENGTH_MAX = 256
SCALING_RESOURCE_LENGTH_MAX = 1_600
SCALING_NAME_LENGTH_MAX = 256
SCALING_LABEL_LENGTH_MAX = 1_023
