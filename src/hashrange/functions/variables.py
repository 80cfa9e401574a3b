"""Which environment variables may a function have, and which does its process get?
The function's own, Lambda's, and a short list of the server's; those by which it reaches the server depend on the
server's certificate.

Source: Lambda's developer guide, *Using Lambda environment variables*: reserved variables cannot be overridden, others
can; the pattern of names is the service model's.
"""

import contextlib
import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from hashrange.functions.description import Runnable
from hashrange.functions.marks import MARK_NAME
from hashrange.functions.names import LATEST
from hashrange.items.steps import walk
from hashrange.limits import FUNCTION_VARIABLES_BYTES_MAX
from hashrange.messages import functions_api as messages

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


def variables_of_server(endpoint: str, certificate_path: str | None, *, serves_s3: bool) -> dict[str, str]:
    """The variables by which SDKs find this server at its endpoint, and trust its certificate.
    Reads the certificate's file. `serves_s3`: True if they find S3 here too.
    """
    certificate = None if certificate_path is None else read_certificate(certificate_path)
    trusted: dict[str, str] = {}
    if certificate is not None and certificate_path is not None:
        endpoint = certificate.endpoint_for(endpoint)
        if certificate.is_own_authority:
            trusted = dict.fromkeys(("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), os.path.abspath(certificate_path))
    services = (*SERVED_HERE, "S3") if serves_s3 else SERVED_HERE
    return {f"AWS_ENDPOINT_URL_{service}": endpoint for service in services} | trusted


def make_variables(runnable: Runnable, log_stream: str, mark: str, runtime: str) -> dict[str, str]:
    """The whole environment of a function's process; later entries override earlier ones."""
    function, credentials = runnable.function, runnable.credentials
    variables = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    variables |= {"TZ": ":UTC", "LANG": variables.get("LANG", "en_US.UTF-8"), "PYTHONIOENCODING": "utf-8"}
    if runnable.watched is not None:
        # Python takes a compiled module for current if the file's size and second are the same,
        # so a change may be missed.
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables |= runnable.endpoints
    variables |= function.variables or {}
    variables |= {
        "_HANDLER": function.handler,
        "AWS_REGION": function.region,
        "AWS_DEFAULT_REGION": function.region,
        "AWS_ACCESS_KEY_ID": credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_access_key,
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{function.runtime}",
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_VERSION": LATEST,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": function.shown_log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": log_stream,
        "LAMBDA_TASK_ROOT": runnable.folder,
        MARK_NAME: mark,
        RUNTIME: runtime,
    }
    if credentials.session_token is not None:
        variables["AWS_SESSION_TOKEN"] = credentials.session_token
    return variables


# --- which a function may have ---------------------------------------------------------------------

RESERVED = frozenset(
    {
        "_HANDLER",
        "_X_AMZN_TRACE_ID",
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "AWS_EXECUTION_ENV",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        "AWS_LAMBDA_FUNCTION_VERSION",
        "AWS_LAMBDA_INITIALIZATION_TYPE",
        "AWS_LAMBDA_LOG_GROUP_NAME",
        "AWS_LAMBDA_LOG_STREAM_NAME",
        "AWS_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_LAMBDA_RUNTIME_API",
        "LAMBDA_TASK_ROOT",
        "LAMBDA_RUNTIME_DIR",
    }
)
"""Names that Lambda sets itself."""
_is_name = re.compile("[a-zA-Z][a-zA-Z0-9_]+").fullmatch
"""As messages.VARIABLE_NAME_PATTERN, without its group, which takes 0.1 µs for each character."""


def find_variables_fault(variables: Mapping[str, str]) -> str | None:
    """What is wrong with a function's environment variables, in Lambda's words where they are known;
    None if nothing is.
    """
    reserved = [name for name in walk(variables) if name in RESERVED]
    if reserved:
        return messages.RESERVED_VARIABLES.format(names=", ".join(reserved))
    for name, value in walk(variables.items()):
        if not _is_name(name):
            return messages.VARIABLE_NAME.format(name=messages.cut(name))
        if "\0" in value:
            return messages.VARIABLE_VALUE.format(name=messages.cut(name))
    size_bytes = len(msgspec.json.encode(variables))
    return messages.VARIABLES_TOO_LARGE.format(size=size_bytes) if size_bytes > FUNCTION_VARIABLES_BYTES_MAX else None


# --- the certificate of the server ----------------------------------------------------------------

# Handlers reach a server that has a certificate at a host that the certificate names; one that signs itself must be
# trusted too. A certificate that somebody else has signed is not made known to handlers, unless the file ends with who
# signs itself: alone, it would be no reason to trust it, and AWS_CA_BUNDLE would replace all others that an SDK trusts.

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that lead to a server on this machine, in the order in which they are tried."""


class OwnCertificate(NamedTuple):
    """What handlers must know of the server's certificate."""

    names: tuple[str, ...]
    """The DNS names and IP addresses that it is for, as they stand in it."""
    is_own_authority: bool
    """True if whoever trusts the file trusts the certificate."""

    def endpoint_for(self, endpoint: str) -> str:
        """The endpoint with a host that the certificate names. If it names neither the endpoint's host nor,
        as this is on this machine, another name of it, the certificate's first name is taken:
        clients must reach the server by that.
        """
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        others = LOOPBACK if host in LOOPBACK else ()
        plain = [name for name in self.names if not name.startswith("*")]
        found = next((one for one in (host, *others) if self.is_for(one)), plain[0] if plain else host)
        shown = f"[{found}]" if ":" in found else found
        return f"{parts.scheme}://{shown}:{parts.port}"

    def is_for(self, host: str) -> bool:
        """True if the certificate names this host; `*` stands for one label."""
        address, host = _address(host), host.lower()
        if address is not None:
            return address in map(_address, self.names)
        _, _, domain = host.partition(".")
        return any(name.lower() == host or (domain and name.lower() == f"*.{domain}") for name in self.names)


def read_certificate(path: str) -> OwnCertificate | None:
    """The certificate of a file with which the server listens;
    None if the file cannot be read any more. Blocks shortly.
    """
    try:
        # SLF001: the library has no other decoder
        decode: Any = ssl._ssl._test_decode_cert  # type: ignore[attr-defined]  # noqa: SLF001
        first: dict[str, Any] = decode(path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(path)
    except OSError:
        return None
    authorities: list[dict[str, Any]] = [first, *context.get_ca_certs()]
    names = tuple(name for kind, name in first.get("subjectAltName", ()) if kind in {"DNS", "IP Address"})
    return OwnCertificate(names, any(one["subject"] == one["issuer"] for one in authorities))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip())
    return None
