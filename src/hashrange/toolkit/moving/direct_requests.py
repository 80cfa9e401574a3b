"""How is a request sent that is expected to succeed? Signed by botocore, over a connection that each thread keeps, and
without all else that a client of boto3 does: that takes four fifths of the time of a BatchWriteItem.

Whatever does not succeed is none of this file's business: the caller sends the same request again by boto3, which knows
retries, errors and proxies.
"""

import ssl
import threading
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from zlib_ng import zlib_ng

from hashrange.bounded_replies import BODY_BYTES_MAX, BoundedResponse
from hashrange.toolkit.target import Target

TIMEOUT_SECONDS = 60
SUCCESS_STATUS = 200


class DirectRequests:
    """Sends requests of one service, for any number of threads."""

    def __init__(self, target: Target, client: Any) -> None:
        """`client`: of boto3, whose endpoint and names of operations are used."""
        # Imported here: boto3 is in an extra.
        from botocore.exceptions import BotoCoreError
        from botocore.httpsession import get_cert_path
        from botocore.utils import get_environ_proxies

        meta = client.meta
        self._url = meta.endpoint_url
        self._prefix = meta.service_model.metadata["targetPrefix"]
        self._operations = meta.method_to_api_mapping
        self._credentials = target.credentials()
        self._region = target.region
        self._is_possible = self._credentials is not None and not get_environ_proxies(self._url)
        self._trusted: ssl.SSLContext | None = None
        if self._url.startswith("https:"):
            self._trusted = ssl.create_default_context(cafile=target.ca_bundle() or get_cert_path(verify=True))
        self._failures = (OSError, HTTPException, BotoCoreError, ValueError)  # the last for a chunk of negative length
        self._local = threading.local()
        self._connections = set[HTTPConnection]()
        """All that are open."""

    def send(self, operation: str, body: bytes) -> bytes | None:
        """The body of a reply with success; None: there is none."""
        if not self._is_possible:
            return None
        connection: HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        try:
            connection.request("POST", "/", body, self._signed_headers(operation, body))
            reply = connection.getresponse()
            content = reply.read(BODY_BYTES_MAX + 1)
            is_read = not reply.length and len(content) <= BODY_BYTES_MAX
            if is_read and reply.status == SUCCESS_STATUS and is_as_sent(content, reply.headers.get("x-amz-crc32")):
                return content
        except self._failures:
            pass
        connection.close()
        self._connections.discard(connection)
        self._local.connection = None
        return None

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._connections):
            connection.close()

    def _connect(self) -> HTTPConnection:
        parts = urlsplit(self._url)
        host = parts.hostname or ""
        connection = (
            HTTPConnection(host, parts.port, timeout=TIMEOUT_SECONDS)
            if self._trusted is None
            else HTTPSConnection(host, parts.port, timeout=TIMEOUT_SECONDS, context=self._trusted)
        )
        connection.response_class = BoundedResponse
        self._connections.add(connection)
        return connection

    def _signed_headers(self, operation: str, body: bytes) -> dict[str, str]:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"{self._prefix}.{self._operations[operation]}",
        }
        request = AWSRequest("POST", f"{self._url}/", headers, body)
        SigV4Auth(self._credentials.get_frozen_credentials(), "dynamodb", self._region).add_auth(request)
        return dict(request.headers.items())


def is_as_sent(content: bytes, checksum: str | None) -> bool:
    """True if a body is as its header says."""
    return checksum is None or str(zlib_ng.crc32(content)) == checksum.strip()
