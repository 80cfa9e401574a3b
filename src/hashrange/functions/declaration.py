"""Which functions are declared in the server's settings, and which of them does a caller see?
Tables `[functions.NAME]` of the server's TOML file declare them, or code does.

    [functions.resize]
    code = "./resize"            # a folder, used in place; or "package.module:function" on the import path
    handler = "app.handler"      # for a folder
    runtime = "python3.12"       # optional: by default the server's own Python
    timeout = 3                  # optional: seconds
    memory = 128                 # optional: MB
    environment = { TABLE = "orders" }

    [functions.bill]
    url = "http://localhost:9000/2015-03-31/functions/function/invocations"

A declared function lives as long as the server, is seen by all accounts and Regions unless it names one,
and cannot be changed over the API.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.code import CodeUnusable, find_code
from hashrange.functions.description import NO_TAGS, FunctionDescription, new_uuid
from hashrange.functions.http_client import UrlUnusable, read_target
from hashrange.functions.programs import is_supported
from hashrange.functions.variables import find_variables_fault
from hashrange.limits import FUNCTION_MEMORY_MB_MAX, FUNCTION_MEMORY_MB_MIN, FUNCTION_TIMEOUT_SECONDS_MAX
from hashrange.settings import SettingUnusable
from hashrange.written.values import ACCOUNT_IN_WORDS, REGION_IN_WORDS, fault_in

OWN_RUNTIME = f"python3.{sys.version_info.minor}"
NO_CODE_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of nothing: a declared function has no zip."""
_is_function_name = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII).fullmatch
_is_plain_handler = re.compile(r"[^\s\x00-\x1f]{1,128}").fullmatch


class FunctionsError(SettingUnusable):
    """A declared function cannot be used; the message says which, and why."""


class FunctionDeclaration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One declared function. It has either `code` or `url`."""

    code: str | None = None
    url: str | None = None
    handler: str | None = None
    runtime: str | None = None
    timeout: Annotated[float, Meta(gt=0, le=FUNCTION_TIMEOUT_SECONDS_MAX)] = 3
    """Seconds."""
    memory: Annotated[int, Meta(ge=FUNCTION_MEMORY_MB_MIN, le=FUNCTION_MEMORY_MB_MAX)] = 128
    """MB."""
    environment: Mapping[str, Annotated[str, Meta(extra={"is_secret": True})]] = NO_TAGS
    account: Annotated[str, Meta(pattern="^[0-9]{12}$", description=ACCOUNT_IN_WORDS)] | None = None
    """None: every account sees the function."""
    region: (
        Annotated[str, Meta(min_length=1, max_length=63, pattern="^[a-zA-Z0-9_-]+$", description=REGION_IN_WORDS)]
        | None
    ) = None
    """None: every Region sees the function."""

    def is_seen_by(self, caller: Caller) -> bool:
        """True if the caller's account and Region see the function."""
        return self.account in {None, caller.account} and self.region in {None, caller.region}


def read_functions(tables: Mapping[str, Any]) -> dict[str, FunctionDeclaration]:
    """Read the TOML tables below `functions`: name → table. Raises FunctionsError for the first that cannot be used."""
    declarations = {}
    for name, table in tables.items():
        try:
            declarations[name] = msgspec.convert(table, FunctionDeclaration)
        except msgspec.ValidationError:
            raise FunctionsError(
                f'the function "{name}" cannot be used: {fault_in(table, FunctionDeclaration)}'
            ) from None
        check_declaration(name, declarations[name])
    return declarations


def check_declaration(name: str, declaration: FunctionDeclaration) -> None:
    """Raise FunctionsError unless the function can be used. Its code is looked for, and not run."""
    try:
        fault = _find_fault(name, declaration)
    except (CodeUnusable, UrlUnusable) as error:
        fault = str(error)
    if fault is not None:
        raise FunctionsError(f'the function "{name}" cannot be used: {fault}')


def _find_fault(name: str, declaration: FunctionDeclaration) -> str | None:
    """What is wrong with a declaration, as a sentence. Raises CodeUnusable and UrlUnusable."""
    if not _is_function_name(name):
        return "a name has 1 to 64 letters, digits, hyphens and underscores."
    if (declaration.code is None) == (declaration.url is None):
        return 'it needs either code = "…", a folder or package.module:function, or url = "http://…".'
    if declaration.url is not None:
        for member in ("handler", "runtime", "environment"):
            if getattr(declaration, member):
                return f"{member} is for functions with code; one with a url runs elsewhere."
        read_target(declaration.url)
        return None
    assert declaration.code is not None
    runtime = declaration.runtime or OWN_RUNTIME
    if not is_supported(runtime):
        return f'the runtime "{runtime}" is not supported; python3.8 and later and nodejs18.x and later are.'
    return _find_code_fault(declaration.code, runtime, declaration.handler) or find_variables_fault(
        declaration.environment
    )


def _find_code_fault(code: str, runtime: str, handler: str | None) -> str | None:
    found = find_code(code)
    if found.handler is None:
        if handler is None or not _is_plain_handler(handler):
            return 'code that is a folder needs handler = "module.function".'
    elif handler is not None:
        return "code of the form module:function names its handler already."
    elif not runtime.startswith("python"):
        return "code of the form module:function runs under Python; for other runtimes, code is a folder."
    return None


def describe_declared(
    name: str, declaration: FunctionDeclaration, declared_at_seconds: float, run_id: str, caller: Caller
) -> FunctionDescription:
    """The description of a declared function, as its caller sees it. It has no role, and no size of code."""
    handler = declaration.handler
    if declaration.code is not None and handler is None:
        handler = declaration.code.replace(":", ".")
    return FunctionDescription(
        account=caller.account,
        region=caller.region,
        name=name,
        runtime=declaration.runtime or OWN_RUNTIME,
        handler=handler or "",
        role=f"arn:aws:iam::{caller.account}:role/hashrange",
        description=f"declared in the server's settings: {declaration.url or declaration.code}"[:256],
        timeout_seconds=declaration.timeout,
        memory_mb=declaration.memory,
        variables=declaration.environment or None,
        code_sha256=NO_CODE_SHA256,
        code_size_bytes=0,
        modified_seconds=declared_at_seconds,
        revision_id=run_id,
        run_id=run_id,
        active_at_seconds=declared_at_seconds,
        url=declaration.url,
        code_in_place=declaration.code,
    )


# --- which of them a caller sees ------------------------------------------------------------------

DECLARED_CALLER = Caller("000000000000", "us-east-1")
"""For whom the code of a declared function is tried at start, unless it names an account and a Region."""


class DeclaredFunctions:
    """The declared functions of a server, by name. A caller sees all of them, except those that name another account
    or Region.
    """

    def __init__(self) -> None:
        self._declared: dict[str, tuple[FunctionDeclaration, Callable[[Caller], FunctionDescription]]] = {}
        """Name → declaration, and its description as a caller sees it."""

    def declare(self, name: str, declaration: FunctionDeclaration, now_seconds: float) -> None:
        """Add a function, or replace one. Raises FunctionsError."""
        check_declaration(name, declaration)
        describe = partial(describe_declared, name, declaration, now_seconds, new_uuid())
        self._declared[name] = declaration, describe

    def find(self, name: str, caller: Caller) -> FunctionDescription | None:
        """The function of this name that the caller sees; None if there is none."""
        found = self._declared.get(name)
        if found is None or not found[0].is_seen_by(caller):
            return None
        return found[1](caller)

    def names_after(self, after: str, caller: Caller) -> list[str]:
        """The names that follow `after` of the functions that the caller sees, in no order."""
        return [name for name, (one, _) in self._declared.items() if name > after and one.is_seen_by(caller)]

    def all(self) -> Sequence[FunctionDescription]:
        """A description of each declared function, for a caller that may see the function."""
        return [
            describe(Caller(one.account or DECLARED_CALLER.account, one.region or DECLARED_CALLER.region))
            for one, describe in self._declared.values()
        ]
