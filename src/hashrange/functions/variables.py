"""Which environment variables does a function's process have?
The function's own, Lambda's, and a short list of the server's.

Source: Lambda's developer guide, *Using Lambda environment variables*:
reserved variables cannot be overridden, others can.
"""

import os

from hashrange.functions.marks import MARK_NAME
from hashrange.functions.own_certificate import read_certificate
from hashrange.functions.runnable import Runnable

PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP",
    "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
)  # fmt: skip
"""All that a process gets of the server's environment, as far as it is set. The last two rows are for Windows."""
SERVED_HERE = ("DYNAMODB", "DYNAMODB_STREAMS", "LAMBDA")
"""Services that handlers' SDKs find at this server, as they stand in names of environment variables."""
RUNTIME = "_HASHRANGE_RUNTIME"
"""Port, secret and most bytes of data, for the program of the runtime,
which removes it before the handler is loaded."""


def variables_of_server(endpoint: str, certificate_path: str | None) -> dict[str, str]:
    """The variables by which SDKs find this server at its endpoint, and trust its certificate.
    Reads the certificate's file.
    """
    certificate = None if certificate_path is None else read_certificate(certificate_path)
    trusted: dict[str, str] = {}
    if certificate is not None and certificate_path is not None:
        endpoint = certificate.endpoint_for(endpoint)
        if certificate.is_own_authority:
            trusted = dict.fromkeys(("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), os.path.abspath(certificate_path))
    return {f"AWS_ENDPOINT_URL_{service}": endpoint for service in SERVED_HERE} | trusted


def make_variables(runnable: Runnable, log_stream: str, mark: str, runtime: str) -> dict[str, str]:
    """The whole environment of a function's process; later entries override earlier ones."""
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    variables |= {"TZ": ":UTC", "LANG": variables.get("LANG", "en_US.UTF-8"), "PYTHONIOENCODING": "utf-8"}
    if runnable.watched is not None:
        # Python takes a compiled module for current if the file's size and second are the same,
        # so a change may be missed.
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables |= runnable.endpoints
    variables |= runnable.variables
    variables |= {
        "_HANDLER": runnable.handler,
        "AWS_REGION": runnable.region,
        "AWS_DEFAULT_REGION": runnable.region,
        "AWS_ACCESS_KEY_ID": runnable.access_key_id,
        "AWS_SECRET_ACCESS_KEY": runnable.secret_access_key,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{runnable.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": runnable.name,
        "AWS_LAMBDA_FUNCTION_VERSION": runnable.version,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(runnable.memory_mb),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": runnable.log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": log_stream,
        "LAMBDA_TASK_ROOT": runnable.folder,
        MARK_NAME: mark,
        RUNTIME: runtime,
    }
    if runnable.session_token is not None:
        variables["AWS_SESSION_TOKEN"] = runnable.session_token
    return variables
