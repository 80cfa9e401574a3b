"""Which bytes are a function's code? The zip file beside a template, or a zip of the folder, the file, or the text.

The same code gives the same bytes, so that its hash tells whether the function has it already.
"""

import base64
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hashrange.toolkit.failures import UsageFault

UNZIPPED_BYTES_MAX = 250 * 1024 * 1024
"""Lambda's quota for the code of a function."""
NOT_CODE = {"__pycache__", ".git"}
INLINE_NAMES = {"nodejs": "index.js"}
READABLE, EXECUTABLE = 0o644, 0o755


def packed_code(members: dict[str, Any], folder: str) -> dict[str, Any]:
    """The `Code` of a function with its bytes and their hash: `{"ZipFile": …, "Sha256": …}`. Raises UsageFault.

    `folder`: that to which its path is relative.
    """
    code = members["Code"]
    if "ZipFile" in code:
        runtime = str(members.get("Runtime", ""))
        name = next((name for begin, name in INLINE_NAMES.items() if runtime.startswith(begin)), "index.py")
        packed = _zip_of([(name, code["ZipFile"].encode(), READABLE)])
    else:
        path = os.path.join(folder, code["LocalPath"])
        try:
            packed = _packed(path)
        except OSError as error:
            name, place = members["FunctionName"], error.filename or path
            raise UsageFault(f"the code of {name}, {place}, cannot be read: {error.strerror or error}.") from None
    return {"ZipFile": packed, "Sha256": base64.b64encode(hashlib.sha256(packed).digest()).decode()}


def _packed(path: str) -> bytes:
    if os.path.isdir(path):
        return _zip_of(_files_below(path))
    content = _content(path, UNZIPPED_BYTES_MAX)
    return content if path.endswith((".zip", ".jar")) else _zip_of([(os.path.basename(path), content, READABLE)])


def _files_below(folder: str) -> Iterator[tuple[str, bytes, int]]:
    """Name, content and mode of each file, in order of names."""
    left_bytes = UNZIPPED_BYTES_MAX
    for inner, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - NOT_CODE)
        for name in sorted(names):
            path = os.path.join(inner, name)
            content = _content(path, left_bytes)
            left_bytes -= len(content)
            mode = EXECUTABLE if os.access(path, os.X_OK) else READABLE
            yield os.path.relpath(path, folder).replace(os.sep, "/"), content, mode


def _content(path: str, bytes_max: int) -> bytes:
    """The content of a file. Others are not opened: a pipe would let the command wait for whoever writes it."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is no file", path)
    if found.st_size > bytes_max:
        raise UsageFault(f"the code with {path} has more than {UNZIPPED_BYTES_MAX:,} bytes, Lambda's quota.")
    with open(path, "rb") as opened:
        return opened.read(found.st_size)


def _zip_of(files: Any) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as zipped:
        for name, content, mode in files:
            info = ZipInfo(name)  # with the oldest date that a zip has
            info.external_attr, info.compress_type = mode << 16, ZIP_DEFLATED
            zipped.writestr(info, content)
    return buffer.getvalue()
