"""PutObject, GetObject, HeadObject, DeleteObject: how is an object written, read, whole or a range or a part of it, and
deleted?

Order of checks of PutObject: headers → the body, as it comes → the bucket → conditions. A read checks conditions before
the range. Several ranges in one request are answered with the whole object, as in the service. Objects of the storage
classes of archives are read like all others. Parts are counted from 1, whatever numbers they were uploaded with.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from hashrange.aws_services.operation import Caller
from hashrange.messages import s3 as say
from hashrange.s3.api.object_headers import headers_of_object, headers_of_upload, kept_headers
from hashrange.s3.api.operation import FilePart, S3Reply, S3Request, invalid_argument, s3_operation, unquoted
from hashrange.s3.folder import S3Folder
from hashrange.s3.folder_files import ObjectRecord, PartRun
from hashrange.s3.objects import S3Failure

_is_range = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.ASCII).fullmatch
_DIGITS_MAX = 19
_OVERRIDES = {
    "response-cache-control": "cache-control",
    "response-content-disposition": "content-disposition",
    "response-content-encoding": "content-encoding",
    "response-content-language": "content-language",
    "response-content-type": "content-type",
    "response-expires": "expires",
}
"""Parameters of a query that replace a header of the reply."""


async def put_object(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Write an object. The reply is sent once it is on the disk."""
    kept = kept_headers(request)
    assert request.upload is not None, "the protocol gives it"
    body, thread = await request.upload.whole(), s3.thread()
    try:
        await thread.run(
            s3.files.place,
            request.bucket,
            request.key,
            body.file,
            body.etag,
            kept,
            caller.account,
            request.owner,
            request.conditions,
        )
    finally:
        thread.submit(body.file.discard)
    return S3Reply(200, headers_of_upload(body.etag, kept))


async def delete_object(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Delete an object, whether there is one or not."""
    await s3.thread().run(
        s3.files.delete_object, request.bucket, request.key, caller.account, request.owner, request.conditions
    )
    return S3Reply(204)


async def get_object(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """The object, or a range or a part of it, or that it has not changed."""
    return await s3.thread().run(_read, s3, caller, request, is_content_wanted=True)


async def head_object(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """What GetObject says, without the content."""
    return await s3.thread().run(_read, s3, caller, request, is_content_wanted=False)


def _read(s3: S3Folder, caller: Caller, request: S3Request, *, is_content_wanted: bool) -> S3Reply:
    file, record = s3.files.open_object(request.bucket, request.key, caller.account, request.owner)
    is_kept = False
    try:
        headers = headers_of_object(record) | _overrides(request.query)
        if _is_unchanged(request.headers, record):
            return S3Reply(304, {name: headers[name] for name in ("ETag", "Last-Modified")})
        status, start, size_bytes = 200, 0, record.size_bytes
        if "partNumber" in request.query:
            wanted = _part_of(request, record)
            if record.parts:
                headers["x-amz-mp-parts-count"] = str(sum(run.part_count for run in record.parts))
        else:
            wanted = _range_of(request.headers.get("range", ""), size_bytes)
        if wanted is not None:
            status, (start, end) = 206, wanted
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size_bytes}"
            size_bytes = end - start
        if not is_content_wanted:
            return S3Reply(status, headers, length=size_bytes)
        file.seek(start)
        is_kept = True
        return S3Reply(status, headers, body=FilePart(file, size_bytes))
    finally:
        if not is_kept:
            file.close()


def _overrides(query: Mapping[str, str]) -> dict[str, str]:
    found = {header: query[name] for name, header in _OVERRIDES.items() if name in query}
    for name, value in found.items():
        if not value.isprintable() or not value.isascii():
            raise invalid_argument(f"response-{name}", value)
    return found


def _is_unchanged(headers: Mapping[str, str], record: ObjectRecord) -> bool:
    """True if the client has the object already. Raises PreconditionFailed. Source: RFC 9110, 13.2.2."""
    seconds = record.modified_ns // 10**9
    if "if-match" in headers:
        if unquoted(headers["if-match"]) not in ("*", record.etag):
            raise _precondition_failed("If-Match")
    else:
        before = _seconds_in(headers.get("if-unmodified-since"))
        if before is not None and seconds > before:
            raise _precondition_failed("If-Unmodified-Since")
    if "if-none-match" in headers:
        return unquoted(headers["if-none-match"]) in ("*", record.etag)
    since = _seconds_in(headers.get("if-modified-since"))
    return since is not None and seconds <= since


def _precondition_failed(condition: str) -> S3Failure:
    return S3Failure("PreconditionFailed", say.PRECONDITION_FAILED, 412, Condition=condition)


def _seconds_in(date: str | None) -> float | None:
    if date is None:
        return None
    try:
        moment: datetime = parsedate_to_datetime(date)
        return moment.timestamp()
    except (ValueError, OverflowError):
        return None


def _range_of(text: str, size_bytes: int) -> tuple[int, int] | None:
    """Beginning and end of the range that a header asks for; None: the whole object. Raises InvalidRange."""
    found = _is_range(text)
    if found is None or found[0] == "bytes=-" or max(len(found[1]), len(found[2])) > _DIGITS_MAX:
        return None
    first, last = found.groups()
    if not first:
        start, end = max(0, size_bytes - int(last)), size_bytes
    else:
        start, end = int(first), min(int(last) + 1, size_bytes) if last else size_bytes
        if last and int(last) < start:
            return None  # no range at all (RFC 9110, 14.1.1)
    if start >= end:
        raise S3Failure("InvalidRange", say.INVALID_RANGE, 416, RangeRequested=text, ActualObjectSize=size_bytes)
    return start, end


def _part_of(request: S3Request, record: ObjectRecord) -> tuple[int, int] | None:
    """Beginning and end of the part that a query asks for; None: it is the whole of an empty object. Raises
    InvalidArgument, InvalidRequest, InvalidPartNumber.
    """
    number = request.part_number()
    if "range" in request.headers:
        raise S3Failure("InvalidRequest", say.RANGE_AND_PART)
    start, before = 0, number - 1  # `before`: parts before it that are not counted yet
    for run in record.parts or (PartRun(1, record.size_bytes),):
        if before < run.part_count:
            start += before * run.size_bytes
            return (start, start + run.size_bytes) if record.size_bytes else None
        before -= run.part_count
        start += run.part_count * run.size_bytes
    members = {"PartNumberRequested": number, "ActualPartCount": number - 1 - before}
    raise S3Failure("InvalidPartNumber", say.INVALID_PART_NUMBER, 416, **members)


_PART = {"partNumber": None}
OPERATIONS = [
    s3_operation("PutObject", put_object, "PUT", "key", takes_file=True),
    s3_operation("GetObject", get_object, "GET", "key"),
    s3_operation("GetObject", get_object, "GET", "key", _PART),
    s3_operation("HeadObject", head_object, "HEAD", "key"),
    s3_operation("HeadObject", head_object, "HEAD", "key", _PART),
    s3_operation("DeleteObject", delete_object, "DELETE", "key"),
]
