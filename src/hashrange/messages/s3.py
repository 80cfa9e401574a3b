"""What does S3 say, and what do we say of it? S3's own words, except where a comment says otherwise.

Source: S3's API reference, *Error responses*; reports of users.
"""

NO_SUCH_BUCKET = "The specified bucket does not exist"
NO_SUCH_KEY = "The specified key does not exist."
NO_SUCH_UPLOAD = (
    "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or"
    " completed."
)
ACCESS_DENIED = "Access Denied"
KEY_TOO_LONG = "Your key is too long"
INVALID_BUCKET_NAME = "The specified bucket is not valid."
BUCKET_OWNED_BY_YOU = "Your previous request to create the named bucket succeeded and you already own it."
BUCKET_EXISTS = (
    "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please"
    " select a different name and try again."
)
BUCKET_NOT_EMPTY = "The bucket you tried to delete is not empty"
PRECONDITION_FAILED = "At least one of the pre-conditions you specified did not hold"
INVALID_RANGE = "The requested range is not satisfiable"
INVALID_PART = (
    "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified"
    " entity tag may not match the part's entity tag."
)
INVALID_PART_ORDER = (
    "The list of parts was not in ascending order. The parts list must be specified in order by part number."
)
INVALID_PART_NUMBER = "The requested partnumber is not satisfiable"
RANGE_AND_PART = "Cannot specify both Range header and partNumber query parameter"
PART_TOO_SMALL = "Your proposed upload is smaller than the minimum allowed size"
ENTITY_TOO_LARGE = "Your proposed upload exceeds the maximum allowed size"
PART_NUMBER = "Part number must be an integer between 1 and 10000, inclusive"
BAD_DIGEST = "The Content-MD5 you specified did not match what we received."
BAD_CHECKSUM = "The {algorithm} you specified did not match the calculated checksum."
INVALID_DIGEST = "The Content-MD5 you specified was invalid."
CONTENT_SHA256_MISMATCH = "The provided 'x-amz-content-sha256' header does not match what was computed."
CONTENT_SHA256_MISSING = "Missing required header for this request: x-amz-content-sha256"
CONTENT_SHA256_INVALID = (
    "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER,"
    " STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value."
)
INCOMPLETE_BODY = "The request body terminated unexpectedly"
CHUNK_TOO_SMALL = "Only the last chunk is allowed to have a size less than 8192 bytes"
MISSING_CONTENT_LENGTH = "You must provide the Content-Length HTTP header."
SIGNATURE_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your key and signing method."
)
TIME_SKEWED = "The difference between the request time and the current time is too large."
REQUEST_EXPIRED = "Request has expired"
INVALID_ACCESS_KEY = "The AWS Access Key Id you provided does not exist in our records."
EXPIRED_TOKEN = "The provided token has expired."  # noqa: S105 - a sentence
UNSUPPORTED_AUTHORIZATION = (
    "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."
)
MALFORMED_XML = "The XML you provided was not well-formed or did not validate against our published schema"
MESSAGE_TOO_LONG = "Your request was too large."
INVALID_URI = "Couldn't parse the specified URI."
METHOD_NOT_ALLOWED = "The specified method is not allowed against this resource."
NOT_IMPLEMENTED = "A header or query you provided implies functionality that is not implemented."
INVALID_STORAGE_CLASS = "The storage class you specified is not valid"
METADATA_TOO_LARGE = "Your metadata headers exceed the maximum allowed metadata size"
INVALID_ARGUMENT = "Invalid Argument"
MAX_KEYS = "Provided max-keys not an integer or within integer range"
MAX_BUCKETS = "Argument max-buckets must be an integer between 1 and 10000"  # unconfirmed
MAX_UPLOADS = "Provided max-uploads not an integer or within integer range"  # unconfirmed
BAD_CONTINUATION_TOKEN = "The continuation token provided is incorrect"  # noqa: S105 - a sentence
SLOW_DOWN = "Please reduce your request rate."
SERVICE_UNAVAILABLE = "Service is unable to handle request."
INTERNAL_ERROR = "We encountered an internal error. Please try again."

# --- our own words ------------------------------------------------------------------------------------------------

FOLDER_FULL = "The folder of S3 has no room left: {reason}"
NO_ROOM = "No space left on device"
CONNECTION_LOST = "The connection to S3 was closed."
FOLDER_FAILED = "The folder of S3 cannot be used: {reason}"
ENDPOINT_FAILED = "{url} did not answer as S3 does: {reason}"
ENDPOINT_UNREACHABLE = "{url} does not answer: {reason}"
NOT_INSTALLED = "--s3-endpoint needs a library that is not installed. Install it: {how}."
NO_S3 = (
    "This server knows no S3. Start it with --s3-folder DIR, whose folders are buckets, or with --s3-endpoint URL"
    " (docs/s3.md)."
)
