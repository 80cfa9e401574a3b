"""Which error messages do operations on insights, streaming and transfers send,
and those not supported yet? Each is defined once.

Source: service behaviour, captures to October 2026, unless a comment says "our own".
"""

# Our own wording: the service has no message for this, because it supports all of its operations.
OPERATION_NOT_SUPPORTED_YET = "Hashrange does not support {operation} yet."

# All of these say `enable`, whatever the operation is.
_DESTINATION = "Table is not in a valid state to enable Kinesis Streaming Destination: "
DESTINATION_LIVE = (
    _DESTINATION + "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation."
)
DESTINATION_NOT_ACTIVE = _DESTINATION + "KinesisStreamingDestination must be ACTIVE to perform DISABLE operation."
DESTINATION_MISSING = (
    _DESTINATION + "No streaming destination with streamArn: {arn} found for table with tableName: {name}"
)
DESTINATION_NOT_UPDATABLE = (
    _DESTINATION + "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
    "TableName: {name}, kdsArn: {arn}"
)
DESTINATION_UNCHANGED = (
    "Invalid Request: Precision is already set to the desired value of {precision} for tableId: {uuid}, kdsArn: {arn}"
)
PRECISION_REQUIRED = (
    "Streaming destination cannot be updated with given parameters: "
    "UpdateKinesisStreamingConfiguration cannot be null or contain only null values"
)
PRECISION_NOT_ALLOWED = "Stream cannot be disabled using EnableKinesisStreamingConfiguration parameters"
# Our own wording: the service has its own Kinesis.
NO_KINESIS_ENDPOINT = (
    "Hashrange has no Kinesis to send changes to. Start it with --kinesis-endpoint URL, such as that of kinesis-local."
)
INDEX_NOT_FOUND = "Requested resource not found: Index: {index} not found for table: {name}"
# Our own wording of NEXT_TOKEN_INVALID: the service's message is not captured.
NEXT_TOKEN_INVALID = "One or more parameter values were invalid: NextToken is not valid"  # noqa: S105 - a sentence
