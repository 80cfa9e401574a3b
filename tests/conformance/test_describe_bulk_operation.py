"""DescribeBulkOperation of bulk puts that never were; tests/unit/transfers tests those that were."""

from tests.conformance.tables import fault
from tests.support.raw_client import RawClient

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/music/bulk-operation/01700000000000-01234567"


def test_a_bulk_put_that_never_was(raw: RawClient) -> None:
    for arn in (ARN, ARN.rpartition("/")[0], "x" * 37, ARN + "/a/b"):
        assert fault(raw, "DescribeBulkOperation", {"BulkOperationArn": arn})[0] == "ResourceNotFoundException"
