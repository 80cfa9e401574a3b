"""How is a request prepared? Head and body as an SDK sends them, signed with SigV4;
this file shares no code with the server.

The signature's date may differ from the server's clock by 15 minutes at most,
so requests are prepared right before each run.
"""

import hashlib
import hmac
import time

ACCESS_KEY = "AKIDBENCHMARK"
SECRET_KEY = "a-secret-for-benchmarks-only"
REGION = "us-east-1"
CREDENTIALS_TOML = f'[[credential]]\naccess_key = "{ACCESS_KEY}"\nsecret_key = "{SECRET_KEY}"\n'
"""Credentials file for a server that checks signatures."""

SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"
CONTENT_TYPE = "application/x-amz-json-1.0"
TARGET_PREFIX = "DynamoDB_20120810."
USER_AGENT = "Boto3/1.40.0 md/Botocore#1.40.0 ua/2.1 os/linux lang/python#3.11 md/pyimpl#CPython cfg/retry-mode#legacy"


def web_request(
    host: str, method: str, url: str, body: bytes, headers: tuple[tuple[str, str], ...] = (), service: str = ""
) -> bytes:
    """The bytes of a request of any protocol, signed now for the service of that signing name, or unsigned without one.

    The signature covers Host and date; `url` must be a path and a query that need no escapes.
    """
    lines = [f"{method} {url} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    if service:
        date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{date[:8]}/{REGION}/{service}/aws4_request"
        path, _, query = url.partition("?")
        query = "&".join(sorted(query.split("&")))
        payload_hash = hashlib.sha256(body).hexdigest()
        canonical = f"{method}\n{path}\n{query}\nhost:{host}\nx-amz-date:{date}\n\nhost;x-amz-date\n{payload_hash}"
        to_sign = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(_signing_key(SECRET_KEY, date[:8], service), to_sign.encode(), "sha256").hex()
        lines += [
            f"X-Amz-Date: {date}",
            (
                f"Authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope},"
                f" SignedHeaders=host;x-amz-date, Signature={signature}"
            ),
        ]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def _signing_key(secret: str, day: str, service: str) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in (day, REGION, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


class Signer:
    """Signs requests to one host, all with the time at which the signer was made. Some 10 µs per request."""

    def __init__(self, host: str, secret: str = SECRET_KEY) -> None:
        """`host` is the Host header: address and port."""
        moment = time.gmtime()
        date = time.strftime("%Y%m%dT%H%M%SZ", moment)
        day = date[:8]
        scope = f"{day}/{REGION}/dynamodb/aws4_request"
        self._key = _signing_key(secret, day, "dynamodb")
        self._dated = f"{date}\n{scope}\n"
        self._canonical = (
            f"POST\n/\n\ncontent-type:{CONTENT_TYPE}\nhost:{host}\nx-amz-date:{date}\nx-amz-target:{TARGET_PREFIX}"
        )
        self._head = (
            f"POST / HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\nX-Amz-Target: {TARGET_PREFIX}%s\r\n"
            f"Content-Type: {CONTENT_TYPE}\r\nUser-Agent: {USER_AGENT}\r\nX-Amz-Date: {date}\r\n"
            f"Authorization: AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope},"
            f" SignedHeaders={SIGNED_HEADERS}, Signature=%s\r\n"
            "amz-sdk-invocation-id: 00000000-0000-4000-8000-000000000000\r\namz-sdk-request: attempt=1\r\n"
            "%sContent-Length: %d\r\n\r\n"
        )

    def request(self, operation: str, body: bytes, more_headers: str = "") -> bytes:
        """The bytes of one request; `more_headers` are whole lines, which the signature does not cover."""
        signature = self._signature(operation, hashlib.sha256(body).hexdigest())
        return (self._head % (operation, signature, more_headers, len(body))).encode() + body

    def streamed(self, operation: str, body: bytes, chunk_bytes: int, more_headers: str = "") -> bytes:
        """Return the bytes of one request whose body comes in chunks of that size;
        each chunk signs the one before it.
        """
        marker = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
        head_signature = signature = self._signature(operation, marker)
        to_sign = f"{marker.removeprefix('STREAMING-')}\n{self._dated}%s\n{hashlib.sha256(b'').hexdigest()}\n%s"
        chunks = []
        for start in range(0, len(body) + chunk_bytes, chunk_bytes):  # the last chunk is empty
            data = body[start : start + chunk_bytes]
            text = to_sign % (signature, hashlib.sha256(data).hexdigest())
            signature = hmac.digest(self._key, text.encode(), "sha256").hex()
            chunks.append(b"%x;chunk-signature=%b\r\n%b\r\n" % (len(data), signature.encode(), data))
        sent = b"".join(chunks)
        more_headers += f"X-Amz-Content-SHA256: {marker}\r\nContent-Encoding: aws-chunked\r\n"
        return (self._head % (operation, head_signature, more_headers, len(sent))).encode() + sent

    def _signature(self, operation: str, payload_hash: str) -> str:
        canonical = f"{self._canonical}{operation}\n\n{SIGNED_HEADERS}\n{payload_hash}"
        to_sign = f"AWS4-HMAC-SHA256\n{self._dated}{hashlib.sha256(canonical.encode()).hexdigest()}"
        return hmac.digest(self._key, to_sign.encode(), "sha256").hex()
