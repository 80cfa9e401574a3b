"""How is a request signed that Hashrange sends? With the headers that SigV4 adds, over the canonical
request that it also checks. Pure.

Source: signing.md 2 (computation); botocore's signer of 2026 for what services ask beyond it:
S3 wants the body's hash in a header, and takes the path unchanged.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from hashrange.wire.canonical_request import canonical_request, signing_key, string_to_sign
from hashrange.wire.http import HeaderLayout, HttpRequest
from hashrange.wire.sigv4 import ALGORITHM, Claim, amz_date


class OutgoingSigner(NamedTuple):
    """The access key that signs requests, and the Region and service to which they are sent."""

    access_key: str
    secret_key: str
    region: str
    service: str
    """Name of the service in the scope, such as `sqs`."""


def signed_headers(
    signer: OutgoingSigner, method: str, url: str, headers: Mapping[str, str], body: bytes, wall_seconds: float
) -> dict[str, str]:
    """`headers`, all of which are signed, and those that SigV4 adds: X-Amz-Date, Authorization,
    for S3 X-Amz-Content-SHA256.

    `url`: path and query as they are sent. `headers` must include Host, and no name twice. `wall_seconds`: the date,
    which may differ by 15 minutes from the receiver's clock. Takes 25 µs, and 1.3 ms per megabyte of body.
    """
    date = amz_date(wall_seconds)
    complete = {**headers, "X-Amz-Date": date}
    if signer.service == "s3":
        complete["X-Amz-Content-SHA256"] = sha256(body).hexdigest()
    layout = HeaderLayout([name.encode() for name in complete])
    assert "host" in {name.lower() for name in headers}, "a signature covers the host"
    values: list[bytes | None] = [*(value.encode() for value in complete.values()), None]
    request = HttpRequest(method.encode(), url.encode(), layout, values, body, keeps_alive=False, number=0)
    claim = Claim(
        signer.access_key, date[:8], signer.region, signer.service, tuple(sorted(layout.names)), date, b"", False, None
    )
    key = signing_key(signer.secret_key, claim.day, claim.region, claim.service)
    signature = hmac.new(key, string_to_sign(claim, canonical_request(request, claim)), sha256).hexdigest()
    names = b";".join(claim.signed_names).decode()
    complete["Authorization"] = (
        f"{ALGORITHM} Credential={signer.access_key}/{claim.scope}, SignedHeaders={names}, Signature={signature}"
    )
    return complete
