"""Handlers reach a server at a host that its certificate names, and trust a certificate that signs itself."""

from pathlib import Path

import pytest

from hashrange.functions.variables import OwnCertificate, read_certificate
from tests.unit.functions.answering import TLS

SIGNED = """
-----BEGIN CERTIFICATE-----
MIIBgTCCASegAwIBAgITRopaGiXkN5+fthvTctPZTs3HwDAKBggqhkjOPQQDAjAS
MRAwDgYDVQQDDAdUZXN0IENBMCAXDTI2MTEyNjExNDI1N1oYDzIxMjYxMTAyMTE0
MjU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMB
BwNCAATqSN0vhRo/YHzMprWkTNAinoD8/iiZc1Wl7qavErlYnIKQl42kwNRJjfEx
Zw98mMc3LjG3zw4oTHGmK7+6/xUqo1gwVjAUBgNVHREEDTALgglsb2NhbGhvc3Qw
HQYDVR0OBBYEFKBTlUrTO31Pge+y+uHp+yXP55XYMB8GA1UdIwQYMBaAFJsHNJlj
0e8AuSm//Ado4gOybypKMAoGCCqGSM49BAMCA0gAMEUCIHTJROE+vEWCC6fKVCXR
6diVPJDAJvTVTyIufxW7csV4AiEAo0Wcjk8kOLPD/+zccCp5+gRVcgTINXol3+ds
gGDxc0s=
-----END CERTIFICATE-----
"""
"""A certificate for localhost, signed by a test authority."""


@pytest.mark.parametrize(
    ("names", "endpoint", "reached"),
    [
        (("localhost", "127.0.0.1"), "https://127.0.0.1:8000", "https://127.0.0.1:8000"),
        (("localhost",), "https://127.0.0.1:8000", "https://localhost:8000"),
        (("127.0.0.1",), "https://localhost:8000", "https://127.0.0.1:8000"),
        (("0:0:0:0:0:0:0:1",), "https://[::1]:8000", "https://[::1]:8000"),
        (("0:0:0:0:0:0:0:1",), "https://127.0.0.1:8000", "https://[::1]:8000"),
        (("db.example",), "https://db.example:8000", "https://db.example:8000"),
        (("DB.example",), "https://db.example:8000", "https://db.example:8000"),
        (("*.example",), "https://db.example:8000", "https://db.example:8000"),
        (("*.example", "db.example"), "https://127.0.0.1:8000", "https://db.example:8000"),
        (("*.example",), "https://127.0.0.1:8000", "https://127.0.0.1:8000"),
        (("localhost",), "https://db.example:8000", "https://localhost:8000"),
        ((), "https://127.0.0.1:8000", "https://127.0.0.1:8000"),
    ],
)
def test_the_host_is_one_that_the_certificate_names(names: tuple[str, ...], endpoint: str, reached: str) -> None:
    assert OwnCertificate(names, is_own_authority=True).endpoint_for(endpoint) == reached


def test_a_file_is_read() -> None:
    assert read_certificate(str(TLS / "localhost.pem")) == (("localhost", "127.0.0.1"), True)


def test_a_certificate_that_another_one_has_signed_is_no_authority(tmp_path: Path) -> None:
    path = tmp_path / "signed.pem"
    path.write_text(SIGNED)
    assert read_certificate(str(path)) == (("localhost",), False)
    path.write_text(SIGNED + (TLS / "localhost.pem").read_text())
    assert read_certificate(str(path)) == (("localhost",), True)


def test_a_file_that_is_gone_says_nothing(tmp_path: Path) -> None:
    assert read_certificate(str(tmp_path / "gone.pem")) is None
    (tmp_path / "broken.pem").write_text("no certificate")
    assert read_certificate(str(tmp_path / "broken.pem")) is None
