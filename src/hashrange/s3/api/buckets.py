"""CreateBucket, HeadBucket, GetBucketLocation, ListBuckets, DeleteBucket: which buckets are there?"""

from collections import deque
from collections.abc import Iterator

from hashrange.aws_services.operation import Caller
from hashrange.messages import s3 as say
from hashrange.s3.api.object_headers import xml_time
from hashrange.s3.api.operation import (
    S3Reply,
    S3Request,
    XmlMembers,
    XmlValue,
    continuation_token,
    read_continuation,
    s3_operation,
)
from hashrange.s3.folder import S3Folder
from hashrange.s3.folder_files import FoundBucket
from hashrange.s3.limits import LIST_BUCKETS_MAX
from hashrange.s3.objects import S3Failure

_FIRST_REGION = "us-east-1"
"""The Region in which creating an own bucket again succeeds, and whose name a location does not tell."""


async def create_bucket(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Make a bucket of the caller's account. The Region in the body does not matter."""
    is_new = await s3.thread().run(s3.files.create_bucket, request.bucket, caller.account, caller.region)
    if not is_new and caller.region != _FIRST_REGION:
        raise S3Failure("BucketAlreadyOwnedByYou", say.BUCKET_OWNED_BY_YOU, 409, BucketName=request.bucket)
    return S3Reply(200, {"Location": f"/{request.bucket}"})


async def _region_of(s3: S3Folder, caller: Caller, request: S3Request) -> str:
    """The Region of a bucket; of one that was made by hand, that of the caller."""
    record = await s3.thread().run(s3.files.require_bucket, request.bucket, caller.account, request.owner)
    return caller.region if record is None else record.region


async def head_bucket(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Tell whether the caller has a bucket."""
    return S3Reply(200, {"x-amz-bucket-region": await _region_of(s3, caller, request)})


async def get_bucket_location(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """The Region of a bucket."""
    region = await _region_of(s3, caller, request)
    return S3Reply(root="LocationConstraint", members={"": "" if region == _FIRST_REGION else region})


async def list_buckets(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """A page of the buckets that the caller sees; unless it asks for fewer, all that a page may have."""
    query = request.query
    most = request.whole_number("max-buckets", LIST_BUCKETS_MAX, LIST_BUCKETS_MAX, say.MAX_BUCKETS)
    if not most:
        raise S3Failure("InvalidArgument", say.MAX_BUCKETS, 400, ArgumentName="max-buckets", ArgumentValue="0")
    token, prefix = query.get("continuation-token"), query.get("prefix", "")
    after = "" if token is None else read_continuation(token).decode(errors="replace")
    found = await s3.thread().run(s3.files.buckets_of, caller.account, most + 1, prefix, after)
    is_truncated = len(found) > most
    if is_truncated:
        found.pop()
    members: dict[str, XmlValue] = {"Owner": {"ID": caller.account}}
    next_token = continuation_token(found[-1].name.encode()) if is_truncated else ""
    members["Buckets"] = {"Bucket": _buckets(found)}
    if next_token:
        members["ContinuationToken"] = next_token
    if prefix:
        members["Prefix"] = prefix
    return S3Reply(root="ListAllMyBucketsResult", members=members)


def _buckets(found: deque[FoundBucket]) -> Iterator[XmlMembers]:
    """The members of each bucket, made and freed one after the other while the reply is written."""
    while found:
        one = found.popleft()
        yield {"Name": one.name, "CreationDate": xml_time(one.changed_ns)}


async def delete_bucket(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """Delete a bucket that has no objects, with the uploads to it that have not ended."""
    await s3.thread().run(s3.delete_bucket, request.bucket, caller.account, request.owner)
    return S3Reply(204)


OPERATIONS = [
    s3_operation("CreateBucket", create_bucket, "PUT", "bucket"),
    s3_operation("HeadBucket", head_bucket, "HEAD", "bucket"),
    s3_operation("GetBucketLocation", get_bucket_location, "GET", "bucket", {"location": None}),
    s3_operation("ListBuckets", list_buckets, "GET", "service"),
    s3_operation("DeleteBucket", delete_bucket, "DELETE", "bucket"),
]
