"""Which error messages does Lambda's protocol send, before and besides its operations?
Lambda's words where they are known.

Messages on types and constraints of members are those of `messages.requests`: both services use the same framework.
"""

# (unconfirmed): the service's words for Step Functions' retries.
SERVICE_FAILED = "An error occurred and the request cannot be processed."
# Our own wording from here on.
NOT_JSON = "Could not parse request body into json: {reason}"
NO_OBJECT = "it is no JSON object"
NOT_UTF8 = "it is not encoded in UTF-8"
NO_SUCH_OPERATION = "Lambda has no operation {method} {path}."

PATH_CHARACTERS_MAX = 500


def request_too_large(operation: str, bytes_max: int) -> str:
    """A request's body is too long. The message calls Invoke by the name of its permission.

    Reports of users: the code RequestEntityTooLargeException, status 413.
    """
    name = "InvokeFunction" if operation == "Invoke" else operation
    return f"Request must be smaller than {bytes_max} bytes for the {name} operation"
