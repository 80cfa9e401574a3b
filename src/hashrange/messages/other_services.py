"""Which error messages do operations on backups, insights, streaming and transfers send, and those not supported yet? Each is defined once.

Source: service behaviour, captures to October 2026, unless a comment says "our own".
"""

# Our own wording: the service has no message for this, because it supports all of its operations.
OPERATION_NOT_SUPPORTED_YET = "Hashrange does not support {operation} yet."

BACKUP_TABLE_NOT_FOUND = "Table not found: {name}"
# The service's message, which is captured for the update of a streaming destination; the word `disable` is our own.
NO_STREAMING_DESTINATION = (
    "Table is not in a valid state to disable Kinesis Streaming Destination: "
    "No streaming destination with streamArn: {arn} found for table with tableName: {name}"
)
# Our own wording of INDEX_NOT_FOUND and NEXT_TOKEN_INVALID: the service's messages are not captured.
INDEX_NOT_FOUND = "Requested resource not found: Table: {name}, Index: {index} not found"
NEXT_TOKEN_INVALID = "One or more parameter values were invalid: NextToken is not valid"  # noqa: S105 - a sentence
