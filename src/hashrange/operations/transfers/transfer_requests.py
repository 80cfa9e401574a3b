"""What is the same in requests for exports, imports and bulk puts? Tokens, ids, pages, and what a server must have."""

import hashlib
import secrets
import sys
from importlib.util import find_spec
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.errors import UnsupportedOperationException, ValidationException
from hashrange.messages.installing import how_to_install
from hashrange.messages.other_services import NEXT_TOKEN_INVALID
from hashrange.messages.transfers import EXTRA_MISSING
from hashrange.operations.operation import Scope
from hashrange.s3.opening import missing_s3

ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""Decompresses zstd."""
ION_MODULE = "amazon.ion"
"""Reads Ion."""
TransferToken = Annotated[str, Meta(pattern=r"^^[^\$]+$$")]
TransferArn = Annotated[str, Meta(min_length=37, max_length=1024)]
TransfersListed = Annotated[int, Meta(ge=1, le=limits.TRANSFERS_LISTED_MAX, extra={"shape": "Integer"})]


def require_extras(*, ion: bool, zstd: bool) -> None:
    """Raise UnsupportedOperationException if a package is missing that reads Ion or decompresses zstd."""
    if ion and not _is_installed(ION_MODULE):
        raise UnsupportedOperationException(EXTRA_MISSING.format(extra="ion", what="Ion", how=how_to_install("ion")))
    if zstd and not _is_installed(ZSTD_MODULE):
        raise UnsupportedOperationException(EXTRA_MISSING.format(extra="zstd", what="zstd", how=how_to_install("zstd")))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor the package around it
        return False


def require_objects(scope: Scope) -> None:
    """Raise UnsupportedOperationException if there is no S3."""
    missing = missing_s3(scope.settings)
    if missing is not None:
        raise UnsupportedOperationException(missing)


def new_transfer_id(now_seconds: float) -> str:
    """The id of a transfer that begins now. Later ones are greater."""
    return f"0{int(now_seconds * 1000):013d}-{secrets.token_hex(4)}"


def digest_without_token(request: msgspec.Struct) -> str:
    """Hash of a request without its ClientToken."""
    text = msgspec.json.encode(msgspec.structs.replace(request, ClientToken=None), order="sorted")
    return hashlib.sha256(text).hexdigest()


def hex_token(transfer_id: str, digits: int) -> str:
    """The NextToken of a page that ends with this transfer: so many hexadecimal digits at the least."""
    return transfer_id.encode().hex().ljust(digits, "0")


def transfer_of_hex(token: str | None) -> str | None:
    """The id of the transfer behind which a page begins. Raises ValidationException."""
    if token is None:
        return None
    try:
        return bytes.fromhex(token).rstrip(b"\x00").decode("ascii")
    except ValueError:
        raise ValidationException(NEXT_TOKEN_INVALID) from None
