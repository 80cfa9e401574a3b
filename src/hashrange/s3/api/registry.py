"""Which operations of S3 does the server's own S3 serve?"""

from hashrange.s3.api import buckets, list_objects_v2, multipart_uploads, objects

S3_OPERATIONS = [
    *buckets.OPERATIONS,
    *list_objects_v2.OPERATIONS,
    *multipart_uploads.OPERATIONS,
    *objects.OPERATIONS,
]
"""Those that ask for more parameters are found first (`server/protocols/s3/routes.py`)."""
