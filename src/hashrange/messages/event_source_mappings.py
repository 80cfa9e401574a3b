"""What do messages of the operations on event source mappings say? Lambda's words where they are known,
else marked as ours or unconfirmed.

Source: reports of users up to 2026; Lambda's API reference.
"""

# Code ResourceInUseException.
UPDATE_IN_USE = "Cannot update the event source mapping because it is in use."
DELETE_IN_USE = "Cannot delete the event source mapping because it is in use."
# Code ResourceNotFoundException.
NO_MAPPING = "The resource you requested does not exist."

# --- code InvalidParameterValueException --------------------------------------------------------

NO_FUNCTION = "Function does not exist"
UNRECOGNIZED_SOURCE = "Unrecognized event source."
INVALID_PATTERN = "Invalid filter pattern definition."
RECORD_AGE = "MaximumRecordAgeInSeconds must be either -1 (forever) or between 60 and 604800 (inclusive)"
# (unconfirmed): worded as the service words other constraints.
NO_STARTING_POSITION = (
    "1 validation error detected: Value null at 'startingPosition' failed to satisfy constraint:"
    " Member must not be null."
)
# Our own wording from here on.
TIMESTAMP_WITHOUT_POSITION = "StartingPositionTimestamp is allowed only with the StartingPosition AT_TIMESTAMP."
WINDOW_AND_PARALLELIZATION = "With a TumblingWindowInSeconds, the ParallelizationFactor must be 1."
SUCCESS_DESTINATION = "Event source mappings have no destination for successful invocations, only OnFailure."
STREAM_NOT_FOUND = "Stream not found: {arn}"
"""There is no such stream, or it ended more than a day ago."""
UNKNOWN_DESTINATION = (
    "Hashrange does not know the destination {arn}: add it to the table [destinations] of the file "
    "that --triggers names, which says where its messages go"
)
"""The server does not know where messages to this failure destination go;
our own, since the service looks it up at AWS.
"""
MAPPING_EXISTS = (
    'The event source arn (" {stream_arn} ") and function (" {function_name} ") provided mapping already exists. '
    "Please update or delete the existing mapping with UUID {uuid}"
)
"""A mapping of the same stream and function exists. Code ResourceConflictException."""
UNSUPPORTED_PARAMETER = "Unsupported '{member}' parameter for given event source mapping type."
"""A member belongs to other event sources. `member`: its name with a small first letter."""
UNSUPPORTED_POSITION = "Unsupported starting position for arn type: {arn}"
"""A stream of DynamoDB has no records by time. (unconfirmed)."""
NO_DYNAMODB_STREAM = "Hashrange serves event source mappings of DynamoDB streams only, not of {source}"
"""The event source is no stream of DynamoDB. (ours)."""
UNUSABLE_DESTINATION = (
    "Records of failed batches go to standard SQS queues, standard SNS topics and S3 buckets only, not to {arn}"
)
"""Records of failed batches cannot be sent there. (ours)."""
TOO_MANY_FILTERS = "A mapping has at most {most} filter patterns."
"""A mapping would have too many filter patterns. (ours)."""

# Our own: the service has no mappings that are declared in a file.
DECLARED = (
    "The event source mapping is declared in the settings of this server (--triggers), and can only be changed there."
)
