"""Which functions harm a server that runs them? Handlers that print without end, and functions with a large zip.

A large function exists only while its client runs: it is created and deleted over and over,
so that the control has none.
"""

import base64
import io
import random
import zipfile
from collections.abc import Iterator
from functools import partial

import msgspec

from torture.kinds.kind import Conditions, Hostile, Kind, Probe, web

FUNCTIONS = "/2015-03-31/functions"
RUNS_FUNCTIONS = Conditions(flags=("--functions",))
JSON = (("Content-Type", "application/json"),)
ROLE = "arn:aws:iam::000000000000:role/torture"
TIMEOUT_SECONDS = 60
LINES = 300_000
NEWLINES = 900_000
HANDLERS = f"""
import os

def short_lines(event, context):
    for number in range({LINES}):
        print(number)

def newlines(event, context):
    os.write(1, b"\\n" * {NEWLINES})

def one_line(event, context):
    os.write(1, b"x" * {NEWLINES})

def escapes(event, context):
    os.write(1, b"\\x1b" * {NEWLINES})

def errors(event, context):
    raise ValueError("\\x1b" * {NEWLINES})
"""
PRINTING = ("short_lines", "newlines", "one_line", "escapes", "errors")
HANDLER = b"def handler(event, context): pass\n"
LARGE_ZIP_BYTES = 48_000_000
"""Together with base64 nearly the longest request of CreateFunction."""
READS = 200
"""Reads of a large function's configuration, between its creation and its deletion."""
SEED = 48
UPDATED = "updated"
LARGE: tuple[tuple[str, Probe], ...] = (("large-functions", "item"), ("stream-beside-large-functions", "stream"))


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip of these files, not compressed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def creation(name: str, handler: str, files: dict[str, bytes]) -> Hostile:
    """A CreateFunction."""
    members = {
        "FunctionName": name,
        "Role": ROLE,
        "Runtime": "python3.13",
        "Handler": handler,
        "Timeout": TIMEOUT_SECONDS,
    }
    code = {"ZipFile": base64.b64encode(zipped(files)).decode()}
    return web("POST", FUNCTIONS, msgspec.json.encode(members | {"Code": code}), JSON, "lambda")


def printing_functions() -> Iterator[Hostile]:
    """Create all functions that print."""
    for name in PRINTING:
        yield creation(name, f"printing.{name}", {"printing.py": HANDLERS.encode()})


def invocation(name: str) -> Hostile:
    """An Invoke."""
    return web("POST", f"{FUNCTIONS}/{name}/invocations", b"{}", JSON, "lambda")


DELETE_LARGE = web("DELETE", f"{FUNCTIONS}/large", service="lambda")


def large_files() -> dict[str, bytes]:
    """The files of a large zip."""
    return {"handler.py": HANDLER, "data": random.Random(SEED).randbytes(LARGE_ZIP_BYTES)}


def create_large() -> Hostile:
    """A CreateFunction with a large zip; the function is read for a while, then deleted."""
    read = web("GET", f"{FUNCTIONS}/large/configuration", service="lambda")
    return creation("large", "handler.handler", large_files())._replace(then=(*[read] * READS, DELETE_LARGE))


def updated_function() -> Iterator[Hostile]:
    """Create the function whose code is updated."""
    yield creation(UPDATED, "handler.handler", {"handler.py": HANDLER})


def update_code() -> Hostile:
    """An UpdateFunctionCode with a large zip."""
    body = msgspec.json.encode({"ZipFile": base64.b64encode(zipped(large_files())).decode()})
    return web("PUT", f"{FUNCTIONS}/{UPDATED}/code", body, JSON, "lambda")


KINDS = (
    *(
        Kind(
            f"printing-{name.replace('_', '-')}",
            partial(invocation, name),
            ("200",),
            conditions=RUNS_FUNCTIONS,
            preparation=printing_functions,
        )
        for name in PRINTING
    ),
    *(
        Kind(
            name,
            create_large,
            ("200", "201", "204"),
            clients=1,
            conditions=RUNS_FUNCTIONS,
            tidying=(DELETE_LARGE,),
            probe=probe,
        )
        for name, probe in LARGE
    ),
    Kind(
        "large-code-updates",
        update_code,
        ("200",),
        clients=1,
        conditions=RUNS_FUNCTIONS,
        preparation=updated_function,
    ),
)
