"""Which files does an init folder hold, in which order, what is in them, and which has a store taken in?
Lists them by name, and reads bodies, lines and hashes.

    DIR/10-tables.json            one request, or a list of requests; or what a scan has printed; or a template
    DIR/10-shop.yaml              a template of CloudFormation or SAM: also .yml and .template
    DIR/cdk.out/                  the templates of the CDK: a folder with a manifest.json
    DIR/20-Users.jsonl            one item in each line: also .ndjson, .jsonl.gz, .ndjson.gz and .json.gz
    DIR/eu-west-1/…               the same for another Region
    DIR/111122223333/…            the same for another account; may have folders of Regions

Must not know what requests and items look like.
"""

import asyncio
import gzip
import hashlib
import logging
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Literal, NamedTuple

import msgspec

from hashrange.items.steps import look
from hashrange.limits import BODY_BYTES_MAX
from hashrange.settings import SHARED_ACCOUNT, SHARED_REGION, SettingUnusable
from hashrange.store.documents import Documents
from hashrange.terminal import escape_controls

REQUESTS_ENDING = ".json"
LINES_ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".json.gz")
GZIP_ENDING = ".gz"
PIECE_BYTES = 512 * 1024
"""Length of the pieces that are hashed at once, in less than a millisecond, or read of a line, in up to 2 ms."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
TEMPLATE_ENDINGS = (".yaml", ".yml", ".template")
MANIFEST_NAME, ARTIFACTS = "manifest.json", b'"artifacts"'
"""File of a folder of the CDK, cdk.out, that names its templates, and a member that it has."""
ENDINGS = "a .json file holds requests, a .yaml file a template; .jsonl, .ndjson and .json.gz files hold items"

_is_region = re.compile(r"[a-z]+(-[a-z]+)+-[0-9]+").fullmatch
_is_account = re.compile(r"[0-9]{12}").fullmatch
_log = logging.getLogger("hashrange.init")

FileKind = Literal["requests", "lines", "template"]


class InitError(SettingUnusable):
    """The init folder cannot be applied, and nothing of it was.
    The message names the file, the place in it, the reason and the remedy.
    """

    def __init__(self, path: str, reason: str) -> None:
        remedy = "Nothing of the folder was applied; mend the file and try again."
        super().__init__(escape_controls(f"the init file {path} cannot be applied: {reason} {remedy}"))


class InitFile(NamedTuple):
    """One file of an init folder."""

    path: str
    name: str
    """Path below the folder, with `/` between its parts."""
    account: str
    region: str
    kind: FileKind

    @property
    def stem(self) -> str:
        """Name of the file without folders and ending."""
        name = self.name.rpartition("/")[2]
        endings = (REQUESTS_ENDING,) if self.kind == "requests" else LINES_ENDINGS
        return next(name[: -len(ending)] for ending in endings if name.endswith(ending))


def list_init_files(folder: str) -> list[InitFile]:
    """The files of the folder, in order of names. Names with a dot in front are left out;
    other endings too, with a warning.

    A folder of the CDK is one file. Raises SettingUnusable for a folder that cannot be read, and for one in it that is
    neither a Region nor an account.
    """
    if _is_assembly(folder):
        return [_assembly(folder, os.path.basename(os.path.abspath(folder)), None, None)]
    return list(_files_in(folder, "", None, None))


def _files_in(folder: str, prefix: str, account: str | None, region: str | None) -> Iterator[InitFile]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError) as error:  # ValueError: the path holds a null byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingUnusable(
            f"the init folder {folder!r} cannot be read: {reason}. Mend --init, or the folder."
        ) from None
    for name in names:
        path = os.path.join(folder, name)
        if any("\ud800" <= one <= "\udfff" for one in name):  # so Python shows bytes that are not UTF-8
            raise SettingUnusable(
                f"the init folder {folder} has a file {name!r}, whose name is not UTF-8. Rename it;"
                " nothing was applied."
            )
        if name.startswith("."):  # such as the folders of a Kubernetes volume
            continue
        if os.path.isdir(path):
            yield from _files_of_folder(path, prefix, account, region)
            continue
        kind = _kind_of(name)
        if kind is None:
            _log.warning("%s is not applied: %s.", path, ENDINGS)
        elif not os.path.isfile(path):
            raise InitError(path, "it is no file, or a link to one that does not exist.")
        else:
            yield InitFile(path, f"{prefix}{name}", account or SHARED_ACCOUNT, region or SHARED_REGION, kind)


def _files_of_folder(path: str, prefix: str, account: str | None, region: str | None) -> Iterator[InitFile]:
    """The files of a folder of the init folder, or of one in it; a folder of the CDK is one."""
    folder, name = os.path.split(path)
    if _is_assembly(path):
        yield _assembly(path, f"{prefix}{name}", account, region)
    elif region is None and _is_region(name):
        yield from _files_in(path, f"{prefix}{name}/", account, name)
    elif account is None and region is None and _is_account(name):
        yield from _files_in(path, f"{prefix}{name}/", name, None)
    else:
        raise SettingUnusable(
            f"the init folder {folder} has a folder {name}, whose name is neither a Region, such as"
            " eu-west-1, nor the 12 digits of an account, in which there may be Regions."
            " Rename or remove it; nothing was applied."
        )


def _is_assembly(folder: str) -> bool:
    """True for a folder that the CDK has written, such as cdk.out."""
    manifest = os.path.join(folder, MANIFEST_NAME)
    try:
        if not os.path.isfile(manifest):  # to open a pipe would wait for whoever writes it
            return False
        with open(manifest, "rb") as opened:
            return ARTIFACTS in opened.read(BODY_BYTES_MAX)
    except (OSError, ValueError):  # ValueError: the path holds a null byte
        return False


def _assembly(path: str, name: str, account: str | None, region: str | None) -> InitFile:
    return InitFile(path, name, account or SHARED_ACCOUNT, region or SHARED_REGION, "template")


def _kind_of(name: str) -> FileKind | None:
    if any(name.endswith(ending) and name != ending for ending in LINES_ENDINGS):
        return "lines"
    if any(name.endswith(ending) for ending in TEMPLATE_ENDINGS):
        return "template"
    return "requests" if name.endswith(REQUESTS_ENDING) else None


async def hash_of(file: InitFile) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; takes about a second for 1 GB, in which other work
    has its turns. Raises InitError.
    """
    digest = hashlib.sha256()
    for piece in _pieces(file):
        digest.update(piece)
        await asyncio.sleep(0)
    return digest.hexdigest()


def _pieces(file: InitFile) -> Iterator[bytes]:
    with _reading(file):
        for path in _paths_of(file):
            with open(path, "rb") as opened:
                while piece := opened.read(PIECE_BYTES):
                    yield piece


def _paths_of(file: InitFile) -> Iterator[str]:
    """The file; of a folder of the CDK, the manifests and templates in it."""
    if not os.path.isdir(file.path):
        yield file.path
        return
    for folder, folders, names in os.walk(file.path):
        folders.sort()
        paths = [os.path.join(folder, name) for name in sorted(names) if name.endswith(REQUESTS_ENDING)]
        yield from filter(os.path.isfile, paths)  # to open a pipe would wait for whoever writes it


def read_body(file: InitFile) -> bytes:
    """The content of a file that is read as a whole, without a byte order mark;
    at most as long as a request. Raises InitError.
    """
    with _reading(file), open(file.path, "rb") as opened:
        body = opened.read(BODY_BYTES_MAX + 1)
    if len(body) > BODY_BYTES_MAX:
        raise InitError(
            file.path, f"it has more than {BODY_BYTES_MAX:,} bytes. Put items into a .jsonl file, one in each line."
        )
    return _beginning(file, body)


def read_lines(file: InitFile) -> Iterator[tuple[int, bytes]]:
    """Number and text of every line, one at a time. Raises InitError, also for a line longer than a request.
    Gives way in long lines.
    """
    number = 0
    with _reading(file), _opened(file) as opened:
        while line := _line(opened):
            number += 1
            if len(line) > BODY_BYTES_MAX:
                raise InitError(file.path, f"line {number} has more than {BODY_BYTES_MAX:,} bytes.")
            yield number, _beginning(file, line) if number == 1 else line


def _line(opened: IO[bytes] | gzip.GzipFile) -> bytes:
    """The next line, or more bytes of it than a request may have, piece by piece: to inflate 16 MB takes 60 ms."""
    pieces: list[bytes] = []
    left_bytes = BODY_BYTES_MAX + 1
    while left_bytes and (piece := opened.readline(min(left_bytes, PIECE_BYTES))):
        pieces.append(piece)
        left_bytes -= len(piece)
        if piece.endswith(b"\n"):
            break
        look()
    return b"".join(pieces)


def _beginning(file: InitFile, text: bytes) -> bytes:
    """The first bytes of a file without a byte order mark. Raises InitError if they are UTF-16,
    as some shells of Windows write.
    """
    if text.startswith(UTF_16_MARKS):
        raise InitError(file.path, "it is UTF-16; save it as UTF-8.")
    return text.removeprefix(BYTE_ORDER_MARK)


def _opened(file: InitFile) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(file.path, "rb") if file.path.endswith(GZIP_ENDING) else open(file.path, "rb")


@contextmanager
def _reading(file: InitFile) -> Iterator[None]:
    """A context in which a file that cannot be read raises InitError."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InitError(file.path, f"it cannot be read: {reason}.") from None


# --- which files have been applied ----------------------------------------------------------------

# Each file that a store has taken in has a document with the hash of the content that was applied:
#
#     init/{name of the file below the folder} → {"sha256": "…"}
#
# A store without the document of a file, or with another hash in it, has yet to apply the file.

PREFIX = "init/"


async def unapplied_files(files: Sequence[InitFile], documents: Documents) -> list[InitFile]:
    """The files that are new or have changed since they were applied to this store, in their order.
    Raises InitError, StorageError.

    Reads every file as a whole.
    """
    marks = dict(documents.below(PREFIX))
    return [file for file in files if marks.get(PREFIX + file.name) != _mark(await hash_of(file))]


def marks_of(hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The documents that say that these files have been applied. `hashes`: name of a file → hash of its content."""
    return {PREFIX + name: _mark(sha256) for name, sha256 in hashes.items()}


def _mark(sha256: str) -> bytes:
    return msgspec.json.encode({"sha256": sha256})
