"""The server's own S3, over the folder of `--s3-folder`: requests that are signed for S3, in a header or in the URL.

The signature of an upload is checked when its head has come, and its body goes to the disk as it comes
(`take_body`); all other bodies are in memory.
"""

from hashlib import sha256
from typing import Any, ClassVar

from hashrange.aws_services.operation import Caller, Operation, bound
from hashrange.errors import ApiError, InvalidSignatureException
from hashrange.limits import SKEW_SECONDS_MAX
from hashrange.messages import s3 as say
from hashrange.operations.meter import NOTHING_USED
from hashrange.s3.api.operation import S3Reply, S3Request, S3Wire
from hashrange.s3.api.registry import S3_OPERATIONS
from hashrange.s3.folder import S3Folder
from hashrange.s3.objects import S3Failure
from hashrange.s3.received_body import BodyClaims, ReceivedBody, body_claims
from hashrange.server.access import Access
from hashrange.server.file_reply import send_file
from hashrange.server.gate import Gate
from hashrange.server.incoming import Respond
from hashrange.server.protocols.http_call import HttpCall, answer_error, log_failure
from hashrange.server.protocols.s3.body_stream import UploadStream, WaitingBytes
from hashrange.server.protocols.s3.query_signature import authorize_query, has_query_signature
from hashrange.server.protocols.s3.replies import S3Writer
from hashrange.server.protocols.s3.routes import S3Place, S3Routes, s3_place_of
from hashrange.server.protocols.unserved.services import signing_name_of
from hashrange.server.protocols.wire_protocol import Guard, WireProtocol
from hashrange.server.refusals import Refusal
from hashrange.service.call import CallKind
from hashrange.wire.chunked_payload import MARKERS, ChunksError, join_chunks
from hashrange.wire.http import HttpRequest, query_pairs
from hashrange.wire.identifiers import request_id_of
from hashrange.wire.sigv4 import seconds_of

SIGNING_NAME = "s3"


class S3Call(HttpCall, kw_only=True):
    """A request of S3, which meets the faults that name its operation."""

    kind: ClassVar[CallKind] = "service"
    s3: S3Folder
    reply: S3Reply | None = None

    def done(self, reply: Any) -> None:
        """Write the reply."""
        self.reply = reply
        super().done(reply)

    def replace_reply(self, error: ApiError) -> None:
        """Send this error instead of the reply."""
        self._close()
        super().replace_reply(error)

    def send(self) -> None:
        """Send the written reply, and the file that is its body."""
        reply, self.reply = self.reply, None
        if reply is None or reply.body is None:
            super().send()
            return
        part = reply.body
        status, lines = self.written.status, self.written.header_lines
        send_file(self.respond, status, lines, part.file, part.size_bytes, self.s3.thread())

    def cut_reply(self, share: float) -> None:
        """Send nothing of a file, and end the connection."""
        has_file = self.reply is not None and self.reply.body is not None
        self._close()
        super().cut_reply(0.0 if has_file else share)

    def fail(self, error: BaseException) -> None:
        """Log an internal error, and answer with it."""
        self._close()
        super().fail(error)

    def _close(self) -> None:
        reply, self.reply = self.reply, None
        if reply is not None and reply.body is not None:
            reply.body.file.close()


class PresentBody:
    """The body of an upload that has come whole, such as one of a client in the same process."""

    def __init__(self, s3: S3Folder, claims: BodyClaims, body: bytes) -> None:
        self._s3, self._claims, self._content = s3, claims, body

    async def whole(self) -> ReceivedBody:
        """The body in its file. Raises S3Failure."""
        return await self._s3.thread().run(self._whole)

    def _whole(self) -> ReceivedBody:
        body = ReceivedBody(self._s3.files, self._claims)
        body.take(self._content)
        body.end()
        return body


class S3Protocol(WireProtocol):
    """Protocol of requests that are signed for S3."""

    guard = Guard(checks_signatures=True)

    def __init__(self, s3: S3Folder, access: Access, gate: Gate) -> None:
        self._s3 = s3
        self._access = access
        self._gate = gate
        self._routes = S3Routes(bound(S3_OPERATIONS, s3))
        self._waiting = WaitingBytes()

    def claims(self, request: HttpRequest) -> bool:
        """True if the request is signed for S3."""
        name = signing_name_of(request)
        return name == SIGNING_NAME or (name is None and has_query_signature(request))

    # --- uploads --------------------------------------------------------------------------------

    def take_body(self, request: HttpRequest) -> UploadStream | Refusal | None:
        """What takes the body of an upload, which has not come; a refusal if its sender is refused; None for any other
        request.
        """
        if not self.claims(request):
            return None
        writer = self._writer(request)
        try:
            refusal = self._gate.refusal(request, self.guard)
            if refusal is not None:
                raise S3Failure("AccessDenied", refusal.message, refusal.status)
            if not self._routes.find(request.method, s3_place_of(request)).wire.takes_file:
                return None
            caller = self._authorize(request)
            claims = self._claims_of(request, _headers_of(request))
            return UploadStream(self._s3, claims, caller, self._waiting)
        except ApiError as error:
            return writer.refusal(error)
        except Exception as error:  # noqa: BLE001 - the parser, which calls this, would take it for malformed input
            log_failure(request_id_of(request.number).decode(), error)
            return writer.refusal(writer.internal_error())

    # --- requests -------------------------------------------------------------------------------

    def prepare(self, request: HttpRequest, respond: Respond) -> S3Call | None:
        """Return the call that a request becomes, or refuse it now and return None. May give way."""
        writer = self._writer(request)
        stream: UploadStream | None = request.stream
        try:
            place = s3_place_of(request)
            operation = self._routes.find(request.method, place)
            caller = self._authorize(request) if stream is None else stream.caller
            s3_request = self._read(request, place, operation, stream)
        except Exception as error:  # noqa: BLE001 - each error has its reply
            answer_error(request, respond, writer, error)
            return None
        return S3Call(caller, operation, s3_request, NOTHING_USED, 0, True, request, respond, writer, s3=self._s3)

    def _read(
        self, request: HttpRequest, place: S3Place, operation: Operation[S3Wire], stream: UploadStream | None
    ) -> S3Request:
        headers = _headers_of(request)
        body, upload = request.body, stream
        if operation.wire.takes_file and stream is None:
            claims = self._claims_of(request, headers)
            return S3Request(*place, headers, upload=PresentBody(self._s3, claims, body))
        if stream is None and body:
            body = _checked(request, body)
        return S3Request(*place, headers, body, upload)

    def _claims_of(self, request: HttpRequest, headers: dict[str, str]) -> BodyClaims:
        """What an upload whose sender is known says of its body. Raises S3Failure."""
        is_presigned = request.header(b"authorization") is None
        signer = None if is_presigned else self._access.chunk_signer(request, SIGNING_NAME)
        return body_claims(headers, signer, is_presigned=is_presigned)

    def _writer(self, request: HttpRequest) -> S3Writer:
        return S3Writer(request, self._access.wall_time())

    def _authorize(self, request: HttpRequest) -> Caller:
        """Who sends a request. Raises ApiError."""
        if (request.header(b"authorization") or b"").startswith(b"AWS "):
            raise S3Failure("InvalidRequest", say.UNSUPPORTED_AUTHORIZATION)
        if has_query_signature(request):
            scope = authorize_query(request, self._access, _headers_of(request))
            return Caller(scope.account, scope.region)
        try:
            scope = self._access.authorize(request, SIGNING_NAME)
        except InvalidSignatureException as error:
            raise self._late(request) or error from None
        return Caller(scope.account, scope.region)

    def _late(self, request: HttpRequest) -> S3Failure | None:
        """The error of a request whose time is not now; None if it is."""
        now_seconds = self._access.wall_time()
        query = dict(query_pairs(request.url))
        presigned = seconds_of(query.get("X-Amz-Date", ""))
        if presigned is not None:
            expires = query.get("X-Amz-Expires", "")
            valid_seconds = int(expires) if expires.isascii() and expires.isdigit() and len(expires) < 9 else 0
            is_over = not now_seconds - valid_seconds <= presigned <= now_seconds + SKEW_SECONDS_MAX
            return S3Failure("AccessDenied", say.REQUEST_EXPIRED, 403) if is_over else None
        date = request.header(b"x-amz-date") or b""
        seconds = seconds_of(date.decode("latin-1"))
        if seconds is None or abs(now_seconds - seconds) <= SKEW_SECONDS_MAX:
            return None
        return S3Failure("RequestTimeTooSkewed", say.TIME_SKEWED, 403)


def _headers_of(request: HttpRequest) -> dict[str, str]:
    """Headers by lower-case name; the values of repeated ones are joined by commas."""
    found: dict[str, str] = {}
    for name, value in zip(request.layout.names, request.values, strict=False):
        if value is not None:
            text, key = value.strip(b" \t").decode("latin-1"), name.decode("latin-1")
            found[key] = f"{found[key]},{text}" if key in found else text
    return found


def _checked(request: HttpRequest, body: bytes) -> bytes:
    """A body in memory, as the signature covers it, without chunks. Raises S3Failure."""
    marker = request.header(b"x-amz-content-sha256")
    if marker in MARKERS:
        try:
            return join_chunks(body)
        except ChunksError as error:
            raise S3Failure("IncompleteBody", say.INCOMPLETE_BODY) from error
    if marker is not None and len(marker) == 64 and sha256(body).hexdigest().encode() != marker:
        raise S3Failure("XAmzContentSHA256Mismatch", say.CONTENT_SHA256_MISMATCH)
    return body
