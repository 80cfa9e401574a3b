"""Which numbers does S3 have? Source: S3's user guide, *Multipart upload limits* and *Object key naming*; sizes that
are chosen here say so.
"""

PART_BYTES_MIN = 5 * 1024 * 1024
"""Least size of a part but the last."""
PART_NUMBER_MAX = 10_000
PUT_BYTES_MAX = 5 * 1024**3
"""Most bytes of an object or part that one request brings."""
KEY_BYTES_MAX = 1024
LIST_KEYS_MAX = 1000
"""Most keys, parts or uploads of one page of a list."""
LIST_BUCKETS_MAX = 10_000
"""Most buckets of one page of a list. Source: botocore's model of S3."""
XML_BYTES_MAX = 4 * 1024 * 1024
"""Most bytes of a document that a request brings: our own number. 10,000 parts with their checksums have some 2 MB."""
METADATA_BYTES_MAX = 2 * 1024
"""Names and values of an object's `x-amz-meta-` headers together."""
CHUNK_BYTES_MIN = 8 * 1024
"""Least size of a chunk of an `aws-chunked` body but the last."""
