"""What do messages of the operations on functions say? Lambda's words where they are known,
else marked as ours or unconfirmed.

Source: reports of users up to 2026; Lambda's API reference and developer guide.
"""

from collections.abc import Sequence
from typing import Literal

SHOWN_CHARACTERS_MAX = 500
"""Most characters of a client's text that a message repeats."""

# --- which function -----------------------------------------------------------------------------

QUALIFIERS_DIFFER = "The derived qualifier from the function name does not match the specified qualifier."
LATEST_NOT_DELETABLE = "$LATEST version cannot be deleted without deleting the function."
NO_RESOURCE = "The resource you requested does not exist."
"""A function has no policy, or no URL."""
NO_PROVISIONED_CONCURRENCY = "No Provisioned Concurrency Config found for this function"
REVISION = (
    "The RevisionId provided does not match the latest RevisionId. Call the GetFunction/GetAlias API to retrieve the "
    "latest RevisionId"
)
# (unconfirmed)
POLICY_REVISION = (
    "The RevisionId provided does not match the latest RevisionId. Call the GetPolicy API to retrieve the latest "
    "RevisionId"
)
PENDING = "The operation cannot be performed at this time. The function is currently in the following state: Pending"
# Our own wording: SWITCHED_OFF, API_SWITCHED_OFF, NO_LINKED_CODE.
SWITCHED_OFF = "Running functions is switched off. Start Hashrange with --functions to run their code on this machine."
API_SWITCHED_OFF = (
    "Lambda's API is switched off. Start Hashrange with --functions to serve it, and to run functions' code on this "
    "machine; or with --triggers FILE to serve it for functions that are URLs."
)
NO_LINKED_CODE = (
    "The link is not valid or has expired, or the function has other code now. Call GetFunction for another one."
)
TAGS_OF_FUNCTIONS = "Only functions have tags here: the ARN must be one of a function."
TAGS_OF_VERSIONS = (
    "Tags on function aliases and versions are not supported. Please specify either a function name or an unqualified "
    "function ARN."
)


def cut(text: str) -> str:
    """A client's text, as much of it as a message repeats."""
    return text if len(text) <= SHOWN_CHARACTERS_MAX else text[:SHOWN_CHARACTERS_MAX] + "…"


def function_missing(arn: str) -> str:
    """There is no such function, or no such version of it; of a version, the ARN has the qualifier."""
    return f"Function not found: {cut(arn)}"


def alias_missing(arn: str) -> str:
    """A function has no such alias."""
    return f"Alias not found: {cut(arn)}"


def no_event_invoke_config(arn: str) -> str:
    """A function has no settings for asynchronous invocations. `arn`: with a qualifier. (unconfirmed)."""
    return f"The function {arn} doesn't have an EventInvokeConfig"


def function_exists(name: str) -> str:
    """CreateFunction names a function that exists."""
    return f"Function already exist: {name}"


def other_region(region: str, own_region: str) -> str:
    """An ARN is one of another Region."""
    return f"Functions from '{region}' are not reachable in this region ('{own_region}')"


def other_account(arn: str, account: str, own_account: str) -> str:
    """An ARN is one of another account. (ours)."""
    return f"{cut(arn)} is a function of the account {account}; the request was signed for the account {own_account}."


def update_in_progress(arn: str) -> str:
    """A function is being updated."""
    return f"The operation cannot be performed at this time. An update is in progress for resource: {arn}"


def declared_function(name: str) -> str:
    """A request would change a function that stands in the server's settings. (ours)."""
    return f"The function {name} is declared in the server's settings, and can only be changed there."


# --- configuration ------------------------------------------------------------------------------

CODE_STORAGE_EXCEEDED = "Code storage limit exceeded."
EMPTY_ZIP = "Uploaded file must be a non-empty zip"
NO_CODE_SOURCE = "Please provide a source for function code."
NO_RUNTIME_OR_HANDLER = "Runtime and Handler are mandatory parameters for functions created with deployment packages."
VARIABLE_NAME_PATTERN = "[a-zA-Z]([a-zA-Z0-9_])+"
# Our own wording from here on.
NO_S3 = (
    "code cannot be fetched from S3. Send it as ZipFile, or let the function run elsewhere and declare its URL in the "
    "server's settings."
)
NO_IMAGES = (
    "container images are not run. Start the image yourself, and declare the URL at which it answers in the server's "
    "settings."
)
JSON_LOGS, LOG_LEVEL = "LoggingConfig.LogFormat JSON", "A log level in LoggingConfig"
VERSION_OF_NAME = "A version in FunctionName"
NO_VERSIONS = "versions and aliases are not supported; a function has only $LATEST."
NO_LAYERS = "layers are not supported. Put their files into the function's zip."
NO_JSON_LOGS = "logs of functions have the format Text."
NO_DEAD_LETTERS = (
    "asynchronous invocations have no dead-letter queue; one that fails three times is reported in the log."
)
NOT_HERE = "it has no meaning for functions that run on this machine."


def unsupported(member: str, reason: str) -> str:
    """A member asks for what cannot be honoured. (ours)."""
    return f"{member} is not supported: {reason}"


def unknown_runtime(runtime: str, known: Sequence[str]) -> str:
    """There is no such runtime in Lambda."""
    return (
        f"Value {cut(runtime)} at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
        f"[{', '.join(known)}] or be a valid ARN"
    )


def runtime_not_run(runtime: str) -> str:
    """A runtime of Lambda whose functions do not run here. (ours)."""
    return (
        f"Functions of the runtime {runtime} do not run here; python3.8 and later and nodejs18.x and later do. Let the "
        "function run elsewhere, and declare its URL in the server's settings."
    )


def handler_broken(error: str, hint: str | None) -> str:
    """A handler cannot be loaded, so the function is not created or changed. (ours); `error` is the runtime's."""
    broken = f"The function's code cannot be loaded: {error[:4000]}"
    return broken if hint is None else f"{broken.removesuffix('.')}. {hint}"


def handler_form(language: Literal["python", "node"]) -> str:
    """The way out for a Handler that does not name both a file and a function. (ours)."""
    file = "app.py" if language == "python" else "app.js"
    return f"Handler names a file and a function: app.handler is the function handler in the file {file}."


def module_in_folder(found: str, folder: str, handler: str | None) -> str:
    """The way out if the handler's file lies in a folder of the zip. (ours);
    `handler`: what Handler could be instead.
    """
    alternative = "" if handler is None else f", or set Handler to {cut(handler)}"
    return (
        f"The zip has the file as {cut(found)}: zip the files in the folder {cut(folder)} instead of the"
        f" folder itself{alternative}."
    )


def module_not_in_zip(file: str, names: Sequence[str], count: int) -> str:
    """The way out if the zip lacks the handler's file. (ours); `names`: the first of the `count` files in the zip."""
    shown = ", ".join(map(cut, names)) + (", …" if count > len(names) else "")
    return f"Handler asks for the file {cut(file)}, which is not in the zip; it has {shown}."


def reserved_variables(names: Sequence[str]) -> str:
    """A function would override variables that Lambda sets."""
    return (
        "Lambda was unable to configure your environment variables because the environment variables you have provided "
        "contains reserved keys that are currently not supported for modification. Reserved keys used in this request: "
        f"{', '.join(names)}"
    )


def variable_name(name: str) -> str:
    """An environment variable has a wrong name. (unconfirmed)."""
    return (
        f"1 validation error detected: Value '{{{cut(name)}=…}}' at 'environment.variables' failed to satisfy "
        "constraint: Map keys must satisfy constraint: [Member must satisfy regular expression pattern: "
        f"{VARIABLE_NAME_PATTERN}]"
    )


def variable_value(name: str) -> str:
    """An environment variable has a value that no process can have. (ours)."""
    return f"The value of the environment variable {cut(name)} contains a null character."


def variables_too_large(size_bytes: int) -> str:
    """A function's environment variables are too long together. The service shows them; we do not. (unconfirmed)."""
    return (
        "Lambda was unable to configure your environment variables because the environment variables you have provided "
        f"exceeded the 4KB limit. Size measured: {size_bytes} bytes"
    )


# --- tags, policy, concurrency ------------------------------------------------------------------

PRINCIPAL_INVALID = "The provided principal was invalid. Please check the principal and try again."


def too_many_function_tags(most: int) -> str:
    """A function would have too many tags. (unconfirmed)."""
    return f"The number of tags exceeds the limit of {most} tags."


def reserved_function_tag(key: str) -> str:
    """A key of a tag begins with `aws:`. (unconfirmed)."""
    return f"Tag keys starting with 'aws:' are reserved for system use: {cut(key)}"


def statement_exists(statement_id: str) -> str:
    """AddPermission names a statement that exists."""
    return (
        f"The statement id ({statement_id}) provided already exists. Please provide a new statement id, or remove the "
        "existing statement."
    )


def statement_missing(statement_id: str) -> str:
    """RemovePermission names a statement that does not exist."""
    return f"Statement {cut(statement_id)} is not found in resource policy."


def policy_too_long(size_bytes: int, most_bytes: int) -> str:
    """A function's policy would be too long."""
    return f"The final policy size ({size_bytes}) is bigger than the limit ({most_bytes})."


def too_much_reserved(least: int) -> str:
    """PutFunctionConcurrency would leave too little for other functions."""
    return (
        "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below "
        f"its minimum value of [{least}]."
    )


# --- Invoke -------------------------------------------------------------------------------------

TOO_NESTED = "it is nested too deeply"
CLIENT_CONTEXT = "Client context must be a valid Base64-encoded JSON object."


def payload_no_json(reason: str) -> str:
    """A payload is no JSON; `reason` is in our own words."""
    return f"Could not parse request body into json: Could not parse payload into json: {reason}"


def payload_too_large(size_bytes: int, invocation_type: str, most_bytes: int) -> str:
    """A payload is too long for its invocation type."""
    return (
        f"{size_bytes} byte payload is too large for the {invocation_type} invocation type (limit {most_bytes} bytes)"
    )
