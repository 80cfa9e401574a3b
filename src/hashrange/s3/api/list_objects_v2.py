"""ListObjectsV2: which objects are in a bucket, a page at a time?"""

from urllib.parse import quote

from hashrange.aws_services.operation import Caller
from hashrange.messages import s3 as say
from hashrange.s3.api.object_headers import STANDARD, STORAGE_CLASS, xml_time
from hashrange.s3.api.operation import (
    S3Reply,
    S3Request,
    XmlMembers,
    XmlValue,
    continuation_token,
    invalid_argument,
    read_continuation,
    s3_operation,
)
from hashrange.s3.folder import S3Folder, next_objects
from hashrange.s3.folder_walk import BEHIND_ALL, FEW_AT_ONCE, FoundObject, ListRange
from hashrange.s3.limits import LIST_KEYS_MAX


async def list_objects_v2(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    """A page of a bucket's objects, and of the common prefixes of their keys."""
    return await s3.thread().run(_list, s3, caller, request)


def _list(s3: S3Folder, caller: Caller, request: S3Request) -> S3Reply:
    query = request.query
    most = request.whole_number("max-keys", LIST_KEYS_MAX, LIST_KEYS_MAX, say.MAX_KEYS)
    encoding = query.get("encoding-type", "")
    if encoding not in ("", "url"):
        raise invalid_argument("encoding-type", encoding)
    token, start_after = query.get("continuation-token"), query.get("start-after", "")
    after = start_after.encode() if token is None else read_continuation(token)
    wanted = ListRange(query.get("prefix", ""), after, query.get("delimiter", ""))
    walk = s3.begin_list(request.bucket, caller.account, wanted, request.owner, FEW_AT_ONCE)
    found = next_objects(walk, most + 1) if most else []
    s3.files.require_bucket(
        request.bucket, caller.account, request.owner
    )  # another account may have its name meanwhile
    page, is_truncated = found[:most], len(found) > most

    def written(text: str) -> str:
        return quote(text, safe="/*-._") if encoding else text

    members: dict[str, XmlValue] = {
        "Name": request.bucket,
        "Prefix": written(wanted.prefix),
        "MaxKeys": most,
        "KeyCount": len(page),
        "IsTruncated": is_truncated,
    }
    named = {"Delimiter": written(wanted.delimiter), "EncodingType": encoding, "StartAfter": written(start_after)}
    members |= {name: value for name, value in named.items() if value}
    if token is not None:
        members["ContinuationToken"] = token
    if is_truncated:
        members["NextContinuationToken"] = continuation_token(_place_of(page[-1]))
    owner = {"ID": caller.account} if query.get("fetch-owner") == "true" else None
    members["Contents"] = [_content(s3, request.bucket, one, written(one.key), owner) for one in page if one.path]
    members["CommonPrefixes"] = [{"Prefix": written(one.key)} for one in page if not one.path]
    return S3Reply(root="ListBucketResult", members=members)


def _content(s3: S3Folder, bucket: str, one: FoundObject, key: str, owner: XmlMembers | None) -> XmlMembers:
    assert one.found is not None
    record = s3.files.record_of(bucket, one.key, one.found)
    members: dict[str, XmlValue] = {
        "Key": key,
        "LastModified": xml_time(record.modified_ns),
        "ETag": f'"{record.etag}"',
        "Size": record.size_bytes,
        "StorageClass": record.headers.get(STORAGE_CLASS, STANDARD),
    }
    if owner is not None:
        members["Owner"] = owner
    return members


def _place_of(last: FoundObject) -> bytes:
    """Behind which key the next page begins: the last one, or all of a common prefix."""
    return last.key.encode() + (b"" if last.path else BEHIND_ALL)


OPERATIONS = [s3_operation("ListObjectsV2", list_objects_v2, "GET", "bucket", {"list-type": "2"})]
