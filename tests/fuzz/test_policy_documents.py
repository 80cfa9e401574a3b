"""Spoiled policy documents: each is parsed into canonical form, or refused with one of the known messages.

`HASHRANGE_FUZZ_REQUESTS` sets the number of documents, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import os
import random

import pytest

from hashrange.errors import ValidationException
from hashrange.operations.policies.document import ResourceKind, read_document, shown_form, stored_form
from hashrange.operations.policies.lockout import locks_out
from tests.fuzz.mutations import spoiled

DOCUMENTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) * 8
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
ACCOUNT = "000000000000"
ARN = f"arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/fuzzed"
SOUND = {
    "Version": "2012-10-17",
    "Id": "policy",
    "Statement": [
        {
            "Sid": "one",
            "Effect": "Allow",
            "Principal": {
                "AWS": [ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root", "111111111111"],
                "Service": "x.amazonaws.com",
            },
            "Action": ["dynamodb:GetResourcePolicy"],
            "Resource": "*",
            "Condition": {"Bool": {"aws:SecureTransport": [True]}, "NumericLessThan": {"a": [1, 1.5]}},
        },
        {
            "Sid": "two",
            "Effect": "deny",
            "NotPrincipal": {"AWS": "111111111111"},
            "NotAction": "dynamodb:Put*",
            "NotResource": ["*", "arn:aws:dynamodb:*:*:table/*"],
        },
        {
            "Effect": "Deny",
            "Principal": "*",
            "Action": "dynamodb:PutResourcePolicy",
            "Resource": "arn:aws:dynamodb:*:*:*",
        },
    ],
}


@pytest.mark.parametrize("kind", ["table", "stream"])
def test_a_spoiled_document_is_canonical_or_refused(kind: ResourceKind) -> None:
    generator = random.Random(SEED)
    read = 0
    for _ in range(DOCUMENTS):
        text = spoiled(SOUND, generator).decode(errors="surrogateescape")
        try:
            document = read_document(text, kind)
        except ValidationException as refusal:
            assert refusal.message, text
            continue
        read += 1
        stored = stored_form(document)
        assert stored_form(read_document(stored, kind)) == stored, text
        assert read_document(shown_form(stored), kind)["Statement"] == document["Statement"], text
        assert locks_out(document, ACCOUNT, ARN) in (True, False), text
    assert DOCUMENTS / 20 < read < DOCUMENTS
