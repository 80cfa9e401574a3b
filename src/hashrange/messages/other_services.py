"""What does a client hear about services around a table: backups, insights, lists, operations of a later day?

Source: service behaviour, captures to October 2026, unless a comment says "our own".
"""

# Our own: the service has no operation that it does not serve.
OPERATION_NOT_SUPPORTED_YET = "Hashrange does not support {operation} yet."

BACKUP_TABLE_NOT_FOUND = "Table not found: {name}"
# As the service says it of a stream that is to be updated; `disable` is our own.
NO_STREAMING_DESTINATION = (
    "Table is not in a valid state to disable Kinesis Streaming Destination: "
    "No streaming destination with streamArn: {arn} found for table with tableName: {name}"
)
# Our own wording, these two: the service's is not captured.
INDEX_NOT_FOUND = "Requested resource not found: Table: {name}, Index: {index} not found"
NEXT_TOKEN_INVALID = "One or more parameter values were invalid: NextToken is not valid"  # noqa: S105 - a sentence
