"""What is said about Kinesis destinations? The service's own words in descriptions of destinations;
the rest is said to the operator.

Source: service behaviour, captures to October 2026; what is below the line is our own wording.
"""

NO_PERMISSION = "User does not have a permission to use kinesis stream"
"""Why a destination could not be enabled: Kinesis has no such data stream, or it is not ready."""
OTHER_REGION = (
    "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in the current region"
)
NOT_ACTIVE = "The kinesis Arn used to enable kinesis replication belongs to a stream which is not in Active state"
"""Why a destination could not be enabled: the ARN names another account or service."""

# --- our own wording ---

NO_ANSWER = "Kinesis did not answer: {reason}"
"""Why a destination could not be enabled, if Kinesis cannot be reached for minutes."""
TIMED_OUT = "no reply within {seconds:g} seconds"
STILL_SILENT = "no reply for {seconds:.3g} seconds"
"""Why a request was not sent: the last one timed out a short time ago."""
GARBAGE = "the reply is not of Kinesis: {body!r}"
RECORDS_FAILED = "it accepted none of the records of a request"
RESULTS_MISCOUNTED = "the reply has {results} results for {count} records"

LOG_PAUSED = "Kinesis at %s does not answer, and changes wait: %s"
LOG_RESUMED = "Kinesis at %s answers again."
LOG_FAILED = "Kinesis does not take the changes of table %s for %s; they are sent again: %s"
LOG_UNFIT = "A change of an item of table %s is not sent, because %s refuses a record of %d bytes."
LOG_EXPIRED = "Changes of table %s are dropped, because %s did not take them within 24 hours."
LOG_NO_ENDPOINT = (
    "Table %s has a Kinesis destination, but --kinesis-endpoint is not set: its changes wait for at most 24 hours."
)
