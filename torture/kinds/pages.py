"""Which requests does a page of the web have a browser send? Forms and texts to every API, and preflights;
and requests for a name that is not the server's.
"""

from functools import partial

from torture.kinds.functions import FUNCTIONS, RUNS_FUNCTIONS
from torture.kinds.kind import Conditions, Hostile, Kind, web

ORIGIN = (("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"))
PRESIGNED = (
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20261023%2Fus-east-1%2F{service}"
    "%2Faws4_request&X-Amz-Date=20261023T120000Z&X-Amz-Expires=604800&X-Amz-SignedHeaders=host&X-Amz-Signature="
) + "0123456789abcdef" * 4
FORM_BYTES = 1_000_000
TEXT_BYTES = 12_000_000
NAMES = 15_000
"""Characters of a Host, or an Origin: nearly as long as a head may be."""
REFUSED = ("403",)
OPEN = Conditions(flags=("--functions", "--admin"), has_credentials=False)
"""A server as developers run it."""


def text_to_lambda() -> Hostile:
    """A CreateFunction as a simple request, with a large body that is not JSON."""
    query = PRESIGNED.format(service="lambda")
    return web("POST", f"{FUNCTIONS}?{query}", b"[" * TEXT_BYTES, (*ORIGIN, ("Content-Type", "text/plain")))


def form() -> Hostile:
    """A PutMetricAlarm with many members, each of them a text with escapes."""
    body = b"Action=PutMetricAlarm&Version=2010-08-01" + b"&AlarmActions.member.1=%41" * (FORM_BYTES // 26)
    content_type = ("Content-Type", "application/x-www-form-urlencoded")
    return web("POST", "/?" + PRESIGNED.format(service="monitoring"), body, (*ORIGIN, content_type))


def preflight() -> Hostile:
    """A preflight for a path that acts."""
    asked = (
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization,content-type"),
    )
    return web("OPTIONS", FUNCTIONS, b"", (*ORIGIN, *asked))


def link() -> Hostile:
    """A GET with a long query of escapes, of a browser that does not say where it comes from."""
    return web("GET", "/?" + "%26" * (NAMES // 3) + "&%41ction=DeleteAlarms", b"", (("User-Agent", "Mozilla/5.0"),))


def long_origin() -> Hostile:
    """A reset with a long Origin."""
    return web("POST", "/_hashrange/v1/reset", b"{}", (("Origin", "https://" + "evil." * (NAMES // 5)),))


def name_of_a_page() -> Hostile:
    """A reset for a long name that leads to this machine."""
    head = b"POST /_hashrange/v1/reset HTTP/1.1\r\nHost: %b\r\nContent-Length: 0\r\n\r\n" % (b"evil." * (NAMES // 5))
    return Hostile("POST reset", b"", 0, raw=partial(_same, head))


def _same(request: bytes, _host: str) -> bytes:
    return request


KINDS = (
    Kind("cross-site-text-12mb", text_to_lambda, REFUSED, conditions=OPEN),
    Kind("cross-site-form-1mb", form, REFUSED, conditions=OPEN),
    Kind("cross-site-preflights", preflight, REFUSED, behaviour="pipeline", clients=1, conditions=OPEN),
    Kind("cross-site-links", link, REFUSED, conditions=OPEN),
    Kind("cross-site-long-origins", long_origin, REFUSED, conditions=OPEN),
    Kind("names-of-pages", name_of_a_page, REFUSED, conditions=OPEN),
    Kind("cross-site-with-credentials", text_to_lambda, REFUSED, conditions=RUNS_FUNCTIONS),
)
