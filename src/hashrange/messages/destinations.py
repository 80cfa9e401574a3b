"""What do messages about on-failure destinations say to the operator? Our own words:
why a table cannot be used, or a delivery failed.
"""

EXAMPLES = {
    "sqs": '{ sqs = "http://127.0.0.1:9324/000000000000/failed-orders" }',
    "sns": '{ sns = "http://127.0.0.1:9911" }',
    "s3": '{ s3 = "http://127.0.0.1:9000/bucket" }',
    "folder": '{ folder = "./failed" }',
    "http": '{ http = "http://127.0.0.1:8080/failed" }',
    "file": '{ file = "./failed.jsonl" }',
}
"""Member of a place → how it is written in TOML."""
_EXCERPT_CHARACTERS_MAX = 200

# --- the table ----------------------------------------------------------------------------------

NO_DESTINATION_ARN = (
    "It is not the ARN of a queue, topic or bucket that failed batches of streams can go to."
    " Write arn:aws:sqs:REGION:ACCOUNT:QUEUE or arn:aws:sns:REGION:ACCOUNT:TOPIC, not of FIFO"
    " ones, or arn:aws:s3:::BUCKET."
)
HALF_A_KEY = "Of access_key and secret_key, one is missing. Give both, or neither to sign with test and test."
UNSIGNABLE = "Its access_key cannot stand in a signature. Choose one of letters and digits."
NO_PATH = "Its path is empty or has a null character. Name a file or folder."
DESTINATION_UNUSABLE = "the destination {arn!r} cannot be used: {reason}"
"""An entry of the table cannot be used. `reason`: one or two sentences with the remedy."""
MALFORMED_PLACE = "{reason} Write one of {examples}."
"""An entry has members of other names or types. `reason`: which, and why, in whole sentences."""
ONE_PLACE = "It needs one place for the messages of an ARN of {service}. Write one of {examples}."
"""An entry has no place for its messages, several, or one of another service."""
UNSIGNED = "Requests are signed for sqs, sns and s3 only, not for {kind}. Leave access_key and secret_key out."
"""An entry has an access key, but messages to this kind of destination are not signed."""
NO_PATH_IN_URL = "{url!r} must end with the path of a queue or bucket. Write it as in {example}."
"""A URL of a queue or bucket has no path, or a query."""
NO_FILE = "{path!r} is no file. Name another one."
"""What is at the path of a file is something else."""
NO_FOLDER = "{path!r} is no folder. Name another one."
"""What is at the path of a folder is something else."""
NO_PARENT = "{path!r} cannot be made, because there is no folder {parent!r}. Make this folder, or name another one."
"""The folder that would hold a file or folder is missing."""

# --- deliveries ---------------------------------------------------------------------------------


NOT_REACHED = "{url} did not answer: {reason}"
"""An endpoint gave no reply that can be used."""
NOT_WRITTEN = "{path} could not be written: {reason}"
"""A file or folder could not be written."""


def refused(url: str, status: int, text: str) -> str:
    """An endpoint answered with another status than 2xx. `text`: the reply's body."""
    excerpt = f": {text[:_EXCERPT_CHARACTERS_MAX]!r}" if text.strip() else ""
    return f"{url} answered with status {status}{excerpt}"
