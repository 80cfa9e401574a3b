"""PutObject, DeleteObject: how is an object written, and deleted?

Order of checks of PutObject: headers → the body, as it comes → the bucket → conditions.
"""

from hashrange.aws_services.operation import Caller
from hashrange.s3.api.object_headers import headers_of_upload, kept_headers
from hashrange.s3.api.operation import S3Reply, S3Request, s3_operation
from hashrange.s3.folder import S3Folder


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
    thread = s3.thread()
    folder = await thread.run(s3.files.bucket_folder, request.bucket, caller.account, request.owner)
    await thread.run(s3.files.delete_object, request.bucket, request.key, folder, request.conditions)
    return S3Reply(204)


OPERATIONS = [
    s3_operation("PutObject", put_object, "PUT", "key", takes_file=True),
    s3_operation("DeleteObject", delete_object, "DELETE", "key"),
]
