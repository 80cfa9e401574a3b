"""Signature headers: every fault that can be found without the secret, with its exact message,
and tolerated deviations.
"""

import hashlib
from collections.abc import Callable

import pytest

from hashrange.errors import ApiError
from hashrange.items import steps
from hashrange.wire.canonical_request import canonical_request, check_signature, signing_key
from hashrange.wire.http import HttpRequest, layout_of
from hashrange.wire.known_signer import KnownSigner
from hashrange.wire.sigv4 import Claim, read_claim
from tests.support.signing import SECRET_KEY, sign

NOW = 1_795_262_400.0
"""2026-11-21T12:00:00Z."""
DATE = "20261121T120000Z"
CREDENTIAL = "AKID/20261121/us-east-1/dynamodb/aws4_request"
SIGNATURE = "0" * 64
GOOD = f"AWS4-HMAC-SHA256 Credential={CREDENTIAL}, SignedHeaders=host;x-amz-date, Signature={SIGNATURE}"
QUERY = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": CREDENTIAL.replace("/", "%2F"),
    "X-Amz-Signature": SIGNATURE,
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Date": DATE,
    "X-Amz-Expires": "900",
}


def request_of(headers: dict[str, str], body: bytes = b"{}", url: str = "/", method: str = "POST") -> HttpRequest:
    names = tuple(name.encode() for name in headers)
    values: list[bytes | None] = [value.encode() for value in headers.values()]
    return HttpRequest(method.encode(), url.encode(), layout_of(names), [*values, None], body, True)


def claim_of(
    authorization: str | None = GOOD, date: str | None = DATE, query: dict[str, str] | None = None, **more: str
) -> Claim:
    headers = {"Host": "localhost", **more}
    if authorization is not None:
        headers["Authorization"] = authorization
    if date is not None:
        headers["X-Amz-Date"] = date
    url = "/?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else "/"
    return read_claim(request_of(headers, url=url), NOW, "dynamodb")


def fault(
    authorization: str | None = GOOD, date: str | None = DATE, query: dict[str, str] | None = None
) -> tuple[str, str | None]:
    with pytest.raises(ApiError) as caught:
        claim_of(authorization, date, query)
    return caught.value.code, caught.value.message


def test_a_sound_claim_is_read() -> None:
    claim = claim_of()
    assert (claim.access_key, claim.day, claim.region, claim.service) == ("AKID", "20261121", "us-east-1", "dynamodb")
    assert claim.signed_names == (b"host", b"x-amz-date")
    assert claim.signature == SIGNATURE.encode()
    assert not claim.is_presigned


@pytest.mark.parametrize("authorization", [
    GOOD.replace(", ", ","),
    GOOD.replace(", ", " "),
    f"AWS4-HMAC-SHA256 Signature={SIGNATURE},SignedHeaders=x-amz-date;host,Credential={CREDENTIAL}",
    f"  {GOOD}  ",
    GOOD.replace("host", "Host"),
    GOOD.replace("aws4_request", "aws4_request/"),
])  # fmt: skip
def test_order_and_blanks_of_the_parts_do_not_matter(authorization: str) -> None:
    assert claim_of(authorization).scope == "20261121/us-east-1/dynamodb/aws4_request"


def test_nothing_given() -> None:
    missing = ("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    assert fault(None) == missing
    assert fault("Basic dXNlcg==") == missing
    assert fault("") == missing


def test_both_forms_given() -> None:
    assert fault(GOOD, DATE, QUERY) == (
        "InvalidSignatureException",
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
    )


def test_all_missing_parts_are_told_at_once() -> None:
    assert fault("AWS4-HMAC-SHA256", None) == (
        "IncompleteSignatureException",
        (
            "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' "
            "parameter. Authorization header requires 'SignedHeaders' parameter. Authorization header requires "
            "existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-HMAC-SHA256"
        ),
    )
    header = "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=b"
    assert fault(header) == (
        "IncompleteSignatureException", f"Authorization header requires 'Signature' parameter. Authorization={header}",
    )  # fmt: skip


def test_a_part_without_equal_sign() -> None:
    header = "AWS4-HMAC-SHA256 Credential, SignedHeaders=b"
    assert fault(header) == (
        "IncompleteSignatureException",
        f"'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: '{header}'.",
    )


def test_missing_parts_of_the_query_form() -> None:
    assert fault(None, None, {"X-Amz-Algorithm": "a", "X-Amz-Date": DATE}) == (
        "IncompleteSignatureException",
        (
            "AWS query-string parameters must include 'X-Amz-Credential'. AWS query-string parameters must include "
            "'X-Amz-Signature'. AWS query-string parameters must include 'X-Amz-SignedHeaders'. "
            "Re-examine the query-string parameters."
        ),
    )


@pytest.mark.parametrize("date", ["2026-11-21T12:00:00Z", "yesterday", "20261321T120000Z", "20261121T120000"])
def test_a_date_in_another_format(date: str) -> None:
    assert fault(date=date) == (
        "IncompleteSignatureException",
        f"Date must be in ISO-8601 'basic format'. Got '{date}'. See http://en.wikipedia.org/wiki/ISO_8601",
    )


def test_a_signature_is_good_for_15_minutes_either_way() -> None:
    assert fault(date="20261121T114459Z") == (
        "InvalidSignatureException",
        "Signature expired: 20261121T114459Z is now earlier than 20261121T114500Z (20261121T120000Z - 15 min.)",
    )
    assert fault(date="20261121T121501Z") == (
        "InvalidSignatureException",
        "Signature not yet current: 20261121T121501Z is still later than 20261121T121500Z (20261121T120000Z + 15 min.)",
    )
    assert claim_of(date="20261121T114500Z").date == "20261121T114500Z"
    assert claim_of(date="20261121T121500Z").date == "20261121T121500Z"


def test_a_plain_date_header_serves_where_there_is_no_other() -> None:
    assert claim_of(date=None, Date=DATE).date == DATE
    assert claim_of(date=DATE, Date="20200101T000000Z").date == DATE


def test_a_presigned_request_lives_as_long_as_it_says() -> None:
    old = {**QUERY, "X-Amz-Date": "20261121T110000Z"}
    assert fault(None, None, old)[0] == "InvalidSignatureException"
    assert claim_of(None, None, {**old, "X-Amz-Expires": "3600"}).is_presigned
    assert fault(None, None, {**old, "X-Amz-Expires": "3599"})[0] == "InvalidSignatureException"
    assert fault(None, None, {**old, "X-Amz-Expires": "0"})[0] == "InvalidSignatureException"
    assert claim_of(
        None,
        None,
        {
            **QUERY,
            "X-Amz-Date": "20261114T120000Z",
            "X-Amz-Expires": "604800",
            "X-Amz-Credential": CREDENTIAL.replace("20261121", "20261114"),
        },
    ).is_presigned


@pytest.mark.parametrize(("expires", "sentence"), [
    (None, "AWS query-string parameters must include 'X-Amz-Expires'. Re-examine the query-string parameters."),
    ("", "AWS query-string parameters must include 'X-Amz-Expires'. Re-examine the query-string parameters."),
    ("-1", "X-Amz-Expires must be non-negative"),
    ("-99999999999999999999", "X-Amz-Expires must be non-negative"),
    ("abc", "X-Amz-Expires should be a number"),
    ("1.5", "X-Amz-Expires should be a number"),
    ("+60", "X-Amz-Expires should be a number"),
    ("1_0", "X-Amz-Expires should be a number"),
    ("%D9%A3", "X-Amz-Expires should be a number"),
    ("604801", "X-Amz-Expires must be less than a week (in seconds) that is 604800"),
    ("9" * 5000, "X-Amz-Expires must be less than a week (in seconds) that is 604800"),
])  # fmt: skip
def test_a_presigned_request_says_for_how_long(expires: str | None, sentence: str) -> None:
    query = {name: value for name, value in QUERY.items() if name != "X-Amz-Expires"}
    if expires is not None:
        query["X-Amz-Expires"] = expires
    assert fault(None, None, query) == ("IncompleteSignatureException", sentence)


def test_the_life_of_a_presigned_request_is_checked_behind_its_parts_and_before_its_date() -> None:
    without_parts = {"X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Date": DATE, "X-Amz-Expires": "-1"}
    assert "must include 'X-Amz-Credential'" in (fault(None, None, without_parts)[1] or "")
    assert (
        fault(None, None, {**QUERY, "X-Amz-Date": "bad", "X-Amz-Expires": "-1"})[1]
        == "X-Amz-Expires must be non-negative"
    )


def test_host_must_be_signed() -> None:
    assert fault(GOOD.replace("host;", "")) == (
        "InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.",
    )  # fmt: skip


def test_another_algorithm() -> None:
    assert fault(GOOD.replace("SHA256", "SHA512")) == (
        "IncompleteSignatureException",
        "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA512' (only AWS4-HMAC-SHA256 for now). ",
    )


def test_a_credential_of_another_shape() -> None:
    assert fault(GOOD.replace(CREDENTIAL, "a/b/c/d")) == (
        "IncompleteSignatureException",
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'a/b/c/d'",
    )


def test_all_faults_of_the_scope_are_told_at_once() -> None:
    assert fault(GOOD.replace(CREDENTIAL, "AKID/20261120/re gion/s3/aws5_request".replace(" ", "!"))) == (
        "InvalidSignatureException",
        (
            "Credential should be scoped to a valid region, not 're!gion'. "
            "Credential should be scoped to correct service: 'dynamodb'. "
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws5_request'. "
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'20261120' != '20261121', from '{DATE}'."
        ),
    )


ORDER: list[tuple[str, Callable[[str], str], str]] = [
    # Each entry changes the valid header so that one more check fails; the earliest failing check is reported.
    (
        "part without equal sign",
        lambda header: header.replace("Credential=", "Credential "),
        "not a valid key=value pair",
    ),
    ("signature missing", lambda header: header.replace("Signature=0", "Sig=0"), "requires 'Signature'"),
    ("host", lambda header: header.replace("host;", ""), "'Host' must be"),
    ("algorithm", lambda header: header.replace("SHA256", "SHA1"), "Unsupported AWS 'algorithm'"),
    ("shape", lambda header: header.replace("/dynamodb", ""), "exactly 5"),
    ("terminator", lambda header: header.replace("aws4_", "aws5_"), "valid terminator"),
]


@pytest.mark.parametrize("position", range(len(ORDER) - 1))
def test_of_two_faults_the_earlier_step_answers(position: int) -> None:
    _, earlier, sentence = ORDER[position]
    _, later, _ = ORDER[position + 1]
    _, message = fault(later(earlier(GOOD)))
    assert sentence in (message or "")


def test_the_date_is_checked_before_host_and_after_the_parts() -> None:
    assert "Date must be" in (fault(GOOD.replace("host;", ""), "bad")[1] or "")
    assert "requires 'Signature'" in (fault(GOOD.replace("Signature=0", "Sig=0"), "bad")[1] or "")


# --- signed contents ----------------------------------------------------------------------------


def signed_request(body: bytes = b"{}", headers: dict[str, str] | None = None) -> HttpRequest:
    return request_of(sign({"Host": "localhost", **(headers or {})}, body, seconds=NOW), body)


def key_of(claim: Claim) -> bytes:
    return signing_key(SECRET_KEY, claim.day, claim.region, claim.service)


@pytest.mark.parametrize("headers", [
    {},
    {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.GetItem"},
    {"X-Odd": "  a   b  "},
    {"X-Per%cent": "a"},
])  # fmt: skip
def test_right_signatures_match_and_changed_ones_do_not(headers: dict[str, str]) -> None:
    request = signed_request(headers=headers)
    claim = read_claim(request, NOW, "dynamodb")
    check_signature(request, claim, key_of(claim))
    request.body = b"[]"
    with pytest.raises(ApiError) as caught:
        check_signature(request, claim, key_of(claim))
    canonical = canonical_request(request, claim).decode()
    assert caught.value.message is not None
    assert caught.value.message.startswith(
        "The request signature we calculated does not match the signature you provided. "
        "Check your AWS Secret Access Key and signing method. Consult the service documentation for details.\n\n"
        f"The Canonical String for this request should have been\n'{canonical}'\n\n"
        f"The String-to-Sign should have been\n'AWS4-HMAC-SHA256\n{DATE}\n"
    )
    assert caught.value.message.endswith(f"{hashlib.sha256(canonical.encode()).hexdigest()}'\n")


def test_repeated_headers_are_joined_by_commas() -> None:
    authorization = GOOD.replace("host;", "host;x-twice;")
    names = (b"Host", b"X-Amz-Date", b"X-Twice", b"Authorization", b"x-twice")
    values: list[bytes | None] = [b"localhost", DATE.encode(), b" a  b ", authorization.encode(), b"c", None]
    request = HttpRequest(b"POST", b"/", layout_of(names), values, b"", True)
    # Names of signed headers are sorted, in whatever order the client sent them.
    assert b"\nx-amz-date:20261121T120000Z\nx-twice:a b,c\n\n" in canonical_request(
        request, read_claim(request, NOW, "dynamodb")
    )


def test_a_header_that_is_named_again_is_signed_once() -> None:
    more = "x;" * 3_000
    headers = {"Host": "localhost", "X": "a " * 3_000, "X-Amz-Date": DATE}
    request = request_of({**headers, "Authorization": GOOD.replace("host;", f"host;{more}")})
    once = request_of({**headers, "Authorization": GOOD.replace("host;", "host;x;")})
    assert canonical_request(request, read_claim(request, NOW, "dynamodb")) == canonical_request(
        once, read_claim(once, NOW, "dynamodb")
    )


LONG_URL = "/?" + "&".join(f"{place}=%41" for place in range(1_000))
MANY_NAMES = GOOD.replace("host;", "host;" + ";".join(f"x-{place}" for place in range(1_000)) + ";")


@pytest.mark.parametrize(("url", "authorization"), [(LONG_URL, GOOD), ("/", MANY_NAMES)])
def test_what_is_signed_of_a_long_head_gives_way(url: str, authorization: str, monkeypatch: pytest.MonkeyPatch) -> None:
    request = request_of({"Host": "localhost", "Authorization": authorization, "X-Amz-Date": DATE}, url=url)
    claim = read_claim(request, NOW, "dynamodb")
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    canonical_request(request, claim)
    assert len(looks) >= 8
    if url != "/":
        looks.clear()
        read_claim(request, NOW, "dynamodb")
        assert len(looks) >= 8


@pytest.mark.parametrize(("names", "is_kept"), [(20, True), (33, False)])
def test_of_unusual_heads_nothing_is_kept_for_a_signer(names: int, is_kept: bool) -> None:
    headers = {"Host": "localhost", "Authorization": GOOD, "X-Amz-Date": DATE}
    request = request_of(headers | {f"x-{place}": "" for place in range(names - len(headers))})
    signer = KnownSigner(read_claim(request, NOW, "dynamodb"), SECRET_KEY)
    assert not signer.matches(request, GOOD.encode(), DATE.encode())
    assert (request.layout in signer._canonical_by_layout) == is_kept


def test_path_and_query_are_encoded_and_sorted() -> None:
    request = request_of(
        {"Host": "localhost", "Authorization": GOOD, "X-Amz-Date": DATE}, url="/a%20b/./c//d/?z=1&a=x%2Fy&a=b&e"
    )
    text = canonical_request(request, read_claim(request, NOW, "dynamodb"))
    assert text.startswith(b"POST\n/a%2520b/c/d/\na=b&a=x%2Fy&e=&z=1\nhost:localhost\n")


@pytest.mark.parametrize("marker", ["UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"])
def test_payload_markers_stand_in_place_of_the_hash(marker: str) -> None:
    headers = {"Host": "localhost", "Authorization": GOOD, "X-Amz-Date": DATE, "X-Amz-Content-SHA256": marker}
    request = request_of(headers)
    assert canonical_request(request, read_claim(request, NOW, "dynamodb")).endswith(b"\n" + marker.encode())


def test_a_presigned_request_does_not_sign_its_signature() -> None:
    url = "/?" + "&".join(f"{name}={value}" for name, value in QUERY.items())
    request = request_of({"Host": "localhost"}, url=url)
    claim = read_claim(request, NOW, "dynamodb")
    text = canonical_request(request, claim)
    assert b"X-Amz-Signature" not in text
    assert b"X-Amz-Credential=AKID%2F20261121%2Fus-east-1%2Fdynamodb%2Faws4_request&X-Amz-Date=" in text


def test_a_known_signer_accepts_what_the_careful_path_accepts_and_nothing_else() -> None:
    first = signed_request(b"first", {"X-A": "1"})
    claim = read_claim(first, NOW, "dynamodb")
    signer = KnownSigner(claim, SECRET_KEY)
    for request, is_right in (
        (signed_request(b"second", {"X-A": "2"}), True),
        (signed_request(body=b"third"), False),  # a different list of signed headers requires a new signer
        (request_of({**headers_of(signed_request(b"x", {"X-A": "1"})), "Added": "unsigned"}, b"x"), True),
        (request_of(headers_of(signed_request(b"x", {"X-A": "1"})), b"y"), False),
        (request_of({**headers_of(signed_request(b"x", {"X-A": "1"})), "x-a": "changed"}, b"x"), False),
    ):
        assert signer.matches(request, request.header(b"authorization") or b"", DATE.encode()) is is_right


def headers_of(request: HttpRequest) -> dict[str, str]:
    return {
        name.decode(): (value or b"").decode()
        for name, value in zip(request.layout.names, request.values, strict=False)
    }
