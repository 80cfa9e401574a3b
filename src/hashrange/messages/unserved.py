"""What do requests hear that are for a service which is not served here? All wording is our own."""

NOT_SERVED = (
    "Hashrange does not serve {service}. Start it with {switch}--others URL, and it hands such requests on to another"
    " emulator; or set AWS_ENDPOINT_URL_DYNAMODB in place of AWS_ENDPOINT_URL, so that only"
    " requests of DynamoDB come here."
)
OWN_SWITCHES = {"s3": "--s3-folder DIR, and it serves S3 from a folder; or with "}
"""Name of a service that another switch lets Hashrange serve → what NOT_SERVED says of that."""
UNREACHABLE = "Hashrange hands requests of {service} on to {url} (--others), from which no reply came: {reason}"
ENDING = "Hashrange ends"
TOO_SLOW = "no reply within {seconds:g} s"
NO_STATUS = "the reply has the status {status}"
TOO_LARGE = "the reply is too large; at most {most:,} bytes are handed on, and {held:,} of all replies at a time"
TOO_MANY = (
    "Hashrange hands requests of {service} on to {url} (--others), which has not answered those before:"
    " their bodies may have {most:,} bytes together. Try again."
)
LOOP = (
    "Hashrange hands requests of {service} on to {url} (--others), and they come back here."
    " Let it be the URL of another emulator."
)
