"""Which code does a request upload? A zip; code in S3 and container images are refused,
as nothing here could fetch them.
"""

from hashrange.functions.refusals import parameter_refusal
from hashrange.messages import functions_api as say


def require_zip(
    zipped: bytes | None, s3_object: str | None, image_uri: str | None, package_type: str | None = None
) -> bytes:
    """The uploaded zip. Raises LambdaError if there is none, or the code is to come from elsewhere."""
    if s3_object is not None:
        raise parameter_refusal(say.unsupported("S3Bucket", say.NO_S3))
    if image_uri is not None or package_type == "Image":
        raise parameter_refusal(say.unsupported("ImageUri", say.NO_IMAGES))
    if zipped is None:
        raise parameter_refusal(say.NO_CODE_SOURCE)
    if not zipped:
        raise parameter_refusal(say.EMPTY_ZIP)
    return zipped
