"""What do messages of the operations on functions say? Lambda's words where they are known,
else marked as ours or unconfirmed.

Source: reports of users up to 2026; Lambda's API reference and developer guide.
"""

from collections.abc import Sequence

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


ALIAS_MISSING = "Alias not found: {arn}"
"""A function has no such alias."""
NO_EVENT_INVOKE_CONFIG = "The function {arn} doesn't have an EventInvokeConfig"
"""A function has no settings for asynchronous invocations. `arn`: with a qualifier. (unconfirmed)."""
FUNCTION_EXISTS = "Function already exist: {name}"
"""CreateFunction names a function that exists."""
OTHER_REGION = "Functions from '{region}' are not reachable in this region ('{own_region}')"
"""An ARN is one of another Region."""
OTHER_ACCOUNT = "{arn} is a function of the account {account}; the request was signed for the account {own_account}."
"""An ARN is one of another account. (ours)."""
UPDATE_IN_PROGRESS = "The operation cannot be performed at this time. An update is in progress for resource: {arn}"
"""A function is being updated."""
DECLARED_FUNCTION = "The function {name} is declared in the server's settings, and can only be changed there."
"""A request would change a function that stands in the server's settings. (ours)."""

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
UNSUPPORTED = "{member} is not supported: {reason}"
"""A member asks for what cannot be honoured. (ours)."""
UNKNOWN_RUNTIME = (
    "Value {runtime} at 'runtime' failed to satisfy constraint: Member must satisfy enum value set: "
    "[{known}] or be a valid ARN"
)
"""There is no such runtime in Lambda."""
RUNTIME_NOT_RUN = (
    "Functions of the runtime {runtime} do not run here; python3.8 and later and nodejs18.x and later do. Let the "
    "function run elsewhere, and declare its URL in the server's settings."
)
"""A runtime of Lambda whose functions do not run here. (ours)."""
HANDLER_FORM = "Handler names a file and a function: app.handler is the function handler in the file app{extension}."
"""The way out for a Handler that does not name both a file and a function. (ours)."""


def handler_broken(error: str, hint: str | None) -> str:
    """A handler cannot be loaded, so the function is not created or changed. (ours); `error` is the runtime's."""
    broken = f"The function's code cannot be loaded: {error[:4000]}"
    return broken if hint is None else f"{broken.removesuffix('.')}. {hint}"


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


RESERVED_VARIABLES = (
    "Lambda was unable to configure your environment variables because the environment variables you have provided "
    "contains reserved keys that are currently not supported for modification. Reserved keys used in this request: "
    "{names}"
)
"""A function would override variables that Lambda sets."""
VARIABLE_NAME = (
    "1 validation error detected: Value '{{{name}=…}}' at 'environment.variables' failed to satisfy "
    "constraint: Map keys must satisfy constraint: [Member must satisfy regular expression pattern: "
    f"{VARIABLE_NAME_PATTERN}]"
)
"""An environment variable has a wrong name. (unconfirmed)."""
VARIABLE_VALUE = "The value of the environment variable {name} contains a null character."
"""An environment variable has a value that no process can have. (ours)."""
VARIABLES_TOO_LARGE = (
    "Lambda was unable to configure your environment variables because the environment variables you have provided "
    "exceeded the 4KB limit. Size measured: {size} bytes"
)
"""A function's environment variables are too long together. The service shows them; we do not. (unconfirmed)."""

# --- tags, policy, concurrency ------------------------------------------------------------------

PRINCIPAL_INVALID = "The provided principal was invalid. Please check the principal and try again."
TOO_MANY_FUNCTION_TAGS = "The number of tags exceeds the limit of {most} tags."
"""A function would have too many tags. (unconfirmed)."""
RESERVED_FUNCTION_TAG = "Tag keys starting with 'aws:' are reserved for system use: {key}"
"""A key of a tag begins with `aws:`. (unconfirmed)."""
STATEMENT_EXISTS = (
    "The statement id ({statement_id}) provided already exists. Please provide a new statement id, or remove the "
    "existing statement."
)
"""AddPermission names a statement that exists."""
STATEMENT_MISSING = "Statement {statement_id} is not found in resource policy."
"""RemovePermission names a statement that does not exist."""
POLICY_TOO_LONG = "The final policy size ({size_bytes}) is bigger than the limit ({most_bytes})."
"""A function's policy would be too long."""
TOO_MUCH_RESERVED = (
    "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below "
    "its minimum value of [{least}]."
)
"""PutFunctionConcurrency would leave too little for other functions."""

# --- Invoke -------------------------------------------------------------------------------------

TOO_NESTED = "it is nested too deeply"
CLIENT_CONTEXT = "Client context must be a valid Base64-encoded JSON object."
PAYLOAD_TOO_LARGE = "{size_bytes} byte payload is too large for the {type} invocation type (limit {most_bytes} bytes)"
"""A payload is too long for its invocation type."""


def payload_no_json(reason: str) -> str:
    """A payload is no JSON; `reason` is in our own words."""
    return f"Could not parse request body into json: Could not parse payload into json: {reason}"
