"""What do messages about functions and their code say? Lambda's words where it has them.

Source: Lambda's developer guide, *Troubleshoot deployment issues* and *Troubleshoot invocation issues*;
reports of users. Messages of the API itself are in `messages.functions_api`.
"""

NOT_A_ZIP = "Could not unzip uploaded file. Please check your file, then try to upload again."
CONCURRENCY_EXCEEDED = "Rate Exceeded."
POOL_CLOSED = "The server is stopping."
NO_REASON = "Runtime exited without providing a reason"
KILLED = "Runtime exited with error: signal: killed"
CONNECTION_CLOSED_EARLY = "the connection was closed early"
"""Why a request to a URL has no reply. (ours)."""
TIMED_OUT_BEFORE = (
    "Task timed out with this event before, while service time is moved. The function was not invoked again;"
    " it will be after that."
)
"""Why an event was not sent to a URL. (ours)."""
REMOTE_REPLY_TOO_LARGE = "the reply is too large"
"""Why a request to a URL has no reply. (ours)."""
ZIP_TOO_LARGE = "Zipped size must be smaller than {most_bytes} bytes; it is {size_bytes}."
"""A zip file is longer than may be uploaded. (unconfirmed)."""
UNZIPPED_TOO_LARGE = "Unzipped size must be smaller than {most_bytes} bytes"
"""The files of a zip file are too large together."""
TOO_MANY_FILES = "The zip file has more than {most} files and folders."
"""A zip file has too many members. (ours)."""
UNSAFE_MEMBER = "The zip file cannot be unpacked: {name!r} {reason}."
"""A member of a zip file would be written where it must not be, or cannot be read. (ours)."""
TIMED_OUT = "Task timed out after {timeout_seconds:.2f} seconds"
"""An invocation took too long."""
REPLY_TOO_LARGE = "Response payload size exceeded maximum allowed payload size ({most_bytes} bytes)."
"""A handler returned more than a reply may hold."""
EXITED = "Runtime exited with error: {reason}"
"""A process ended during an invocation; `reason`: `exit status 3`, `signal: killed`."""
NODE_NOT_FOUND = (
    "it is not on PATH. Install Node.js {version} (https://nodejs.org), or start the server with a PATH that has it"
)
"""Why functions of Node.js cannot be run, and the way out. (ours)."""
OTHER_PYTHON = (
    "There is no {runtime} on PATH, so functions of this runtime run under {own}."
    " Install Python {asked} to run them under the version that they name."
)
"""A warning in the log about a runtime whose Python is not there. (ours)."""
OTHER_NODE = (
    "The node on PATH is Node.js {version}, so functions of the runtime {runtime} run under that ({path})."
    " Put Node.js {asked} on the server's PATH to run them under the version that they name."
)
"""A warning in the log about a runtime whose Node.js is not there. (ours)."""
RUNTIME_MISSING = "Functions of the runtime {runtime} cannot be run ({functions}): {reason}."
"""A warning in the log at the start. `functions`: their names. (ours)."""
REMOTE_FAILED = "The function at {url} did not answer: {reason}"
"""A function that is a URL did not answer. (ours)."""
REMOTE_STATUS = "The function at {url} answered with status {status}"
"""A function that is a URL answered with an unexpected status. (ours)."""
ERROR_AGAIN = "[ERROR] {type}: {message} (the trace is the same as before, and is logged again after a success)"
"""The line in the log in the place of the trace of an error, if the function has failed with
the same trace before. (ours).
"""


def code_not_found(code: str, reason: str) -> str:
    """Code that is used in place is not there. (ours)."""
    return f"The code {code[:500]!r} was not found: {reason}."


def url_unusable(url: str) -> str:
    """Requests cannot be sent to a URL. (ours)."""
    return f"{url[:500]!r} is no URL of the form http://host:port/path or https://host:port/path."


def of_request(request_id: str, message: str) -> str:
    """An error message with the request id of its invocation before it, as Lambda itself words
    errors that no runtime reports.
    """
    return f"RequestId: {request_id} Error: {message}"


def program_missing(program: str, reason: str) -> str:
    """The program that runs a runtime cannot be started. (ours)."""
    return f"{program} could not be started: {reason}"


def output_left_out(size_bytes: int, lines: int) -> str:
    """The line in the log behind the output of an invocation of which not all is logged. (ours)."""
    return (
        f"({size_bytes:,} bytes of output, in {lines:,} {'line' if lines == 1 else 'lines'}, were left out of the log)"
    )
