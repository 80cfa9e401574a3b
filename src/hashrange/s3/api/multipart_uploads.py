"""CreateMultipartUpload, UploadPart, CompleteMultipartUpload, AbortMultipartUpload, ListParts, ListMultipartUploads:
how is an object written in parts?
"""

from hashrange.aws_services.operation import Caller
from hashrange.messages import s3 as say
from hashrange.s3.api.object_headers import STANDARD, STORAGE_CLASS, headers_of_upload, kept_headers, xml_time
from hashrange.s3.api.operation import S3Reply, S3Request, XmlValue, s3_operation, unquoted
from hashrange.s3.api.xml_body import read_elements
from hashrange.s3.folder import S3Folder
from hashrange.s3.folder_uploads import BEHIND_ALL_IDS, UploadRange, UploadRecord, WantedPart
from hashrange.s3.limits import LIST_KEYS_MAX, PART_NUMBER_MAX
from hashrange.s3.objects import S3Failure


async def create_multipart_upload(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Begin an upload."""
    kept = kept_headers(request)
    upload_id = await s3.thread().run(
        s3.uploads.create, request.bucket, request.key, caller.account, kept, request.owner
    )
    members = {"Bucket": request.bucket, "Key": request.key, "UploadId": upload_id}
    return S3Reply(root="InitiateMultipartUploadResult", members=members)


async def upload_part(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Write a part of an upload."""
    number = request.part_number()
    if "x-amz-copy-source" in request.headers:
        raise S3Failure("NotImplemented", say.NOT_IMPLEMENTED, 501, Header="x-amz-copy-source")
    await _require(s3, caller, request)
    assert request.upload is not None, "the protocol gives it"
    body = await request.upload.whole()
    thread = s3.thread()
    try:
        await thread.run(s3.uploads.put_part, request.query["uploadId"], number, body.file, body.etag)
    finally:
        thread.submit(body.file.discard)
    return S3Reply(200, {"ETag": f'"{body.etag}"'})


async def _require(s3: S3Folder, caller: Caller, request: S3Request) -> UploadRecord:
    """The upload of a request."""
    return await s3.thread().run(
        s3.uploads.require, request.query["uploadId"], request.bucket, request.key, caller.account, request.owner
    )


async def complete_multipart_upload(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Make the object of its parts."""
    record = await _require(s3, caller, request)
    thread = s3.thread()
    wanted = await thread.run(_wanted_parts, request.body)
    placed = await thread.run(
        s3.uploads.complete, request.query["uploadId"], record, wanted, request.owner, request.conditions
    )
    location = f"/{request.bucket}/{request.key}"
    members = {"Location": location, "Bucket": request.bucket, "Key": request.key, "ETag": f'"{placed.etag}"'}
    headers = {name: value for name, value in headers_of_upload("", record.headers).items() if name != "ETag"}
    return S3Reply(200, headers, "CompleteMultipartUploadResult", members)


def _wanted_parts(body: bytes) -> list[WantedPart]:
    """The parts that the body names. Raises MalformedXML and MaxMessageLengthExceeded."""
    wanted = []
    for members in read_elements(body, "CompleteMultipartUpload", "Part", PART_NUMBER_MAX):
        number, etag = members.get("PartNumber", ""), members.get("ETag", "")
        if not number.isascii() or not number.isdigit() or len(number) > 5 or not etag:
            raise S3Failure("MalformedXML", say.MALFORMED_XML)
        wanted.append(WantedPart(int(number), unquoted(etag)))
    if not wanted:
        raise S3Failure("MalformedXML", say.MALFORMED_XML)
    return wanted


async def abort_multipart_upload(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Forget an upload and its parts."""
    await _require(s3, caller, request)
    await s3.thread().run(s3.uploads.delete, request.query["uploadId"])
    return S3Reply(204)


async def list_parts(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """A page of the parts of an upload."""
    record = await _require(s3, caller, request)
    most = request.whole_number("max-parts", LIST_KEYS_MAX, LIST_KEYS_MAX, say.MAX_KEYS)
    marker = request.whole_number("part-number-marker", 0, PART_NUMBER_MAX, say.MAX_KEYS)
    found = [one for one in await s3.thread().run(s3.uploads.parts, request.query["uploadId"]) if one.number > marker]
    page = found[:most]
    members: dict[str, XmlValue] = {
        "Bucket": request.bucket,
        "Key": request.key,
        "UploadId": request.query["uploadId"],
        "PartNumberMarker": marker,
        "NextPartNumberMarker": page[-1].number if page else 0,
        "MaxParts": most,
        "IsTruncated": len(found) > most,
        "StorageClass": record.headers.get(STORAGE_CLASS, STANDARD),
        "Part": [{"PartNumber": one.number, "ETag": f'"{one.etag}"', "Size": one.size_bytes} for one in page],
    }
    return S3Reply(root="ListPartsResult", members=members)


async def list_multipart_uploads(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """A page of the uploads to a bucket that have not ended."""
    query = request.query
    most = request.whole_number("max-uploads", LIST_KEYS_MAX, LIST_KEYS_MAX, say.MAX_UPLOADS)
    prefix, key, upload_id = (query.get(name, "") for name in ("prefix", "key-marker", "upload-id-marker"))
    wanted = UploadRange(prefix, (key.encode(), (upload_id or BEHIND_ALL_IDS) if key else ""))
    found = await s3.thread().run(
        s3.uploads.uploads_of, request.bucket, caller.account, wanted, most + 1 if most else 0, request.owner
    )
    page, is_truncated = found[:most], len(found) > most
    uploads = [
        {
            "Key": one.record.key,
            "UploadId": one.upload_id,
            "StorageClass": one.record.headers.get(STORAGE_CLASS, STANDARD),
            "Initiated": xml_time(one.begun_ns),
        }
        for one in page
    ]
    members: dict[str, XmlValue] = {"Bucket": request.bucket, "KeyMarker": key, "UploadIdMarker": upload_id}
    if is_truncated:
        members |= {"NextKeyMarker": page[-1].record.key, "NextUploadIdMarker": page[-1].upload_id}
    members |= {"Prefix": prefix, "MaxUploads": most, "IsTruncated": is_truncated, "Upload": uploads}
    return S3Reply(root="ListMultipartUploadsResult", members=members)


_UPLOAD = {"uploadId": None}
OPERATIONS = [
    s3_operation("CreateMultipartUpload", create_multipart_upload, "POST", "key", {"uploads": None}),
    s3_operation("UploadPart", upload_part, "PUT", "key", {"partNumber": None, **_UPLOAD}, takes_file=True),
    s3_operation("CompleteMultipartUpload", complete_multipart_upload, "POST", "key", _UPLOAD),
    s3_operation("AbortMultipartUpload", abort_multipart_upload, "DELETE", "key", _UPLOAD),
    s3_operation("ListParts", list_parts, "GET", "key", _UPLOAD),
    s3_operation("ListMultipartUploads", list_multipart_uploads, "GET", "bucket", {"uploads": None}),
]
