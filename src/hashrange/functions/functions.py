"""Which functions does a server have, and how are they created, changed and invoked?
The object that operations and triggers work on.

A function is stored (created over the API) or declared (in the server's settings).
Before a stored one is created or its code or configuration changes, an environment is started with it; a handler that
cannot be loaded is refused, and nothing changes. The environment that was started runs the first invocation.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.declaration import DeclaredFunctions, FunctionDeclaration
from hashrange.functions.description import (
    FunctionDescription,
    FunctionOptions,
    HandlerCredentials,
    new_uuid,
    state_of_function,
    update_status_of,
)
from hashrange.functions.events import EventQueue, JobInvocations
from hashrange.functions.handler_errors import logged_text
from hashrange.functions.invocation import ConcurrencyExceeded, Invocation
from hashrange.functions.load_refusals import load_refusal, warn_of_missing_programs
from hashrange.functions.loaded import LoadedFunction, LoadedFunctions
from hashrange.functions.names import LATEST, FunctionKey, FunctionReference, parse_arn, read_reference
from hashrange.functions.refusals import (
    FunctionMissing,
    FunctionsSwitchedOff,
    conflict_refusal,
    parameter_refusal,
    throttling_refusal,
)
from hashrange.functions.stored import ChangedT, ChangeFunction, StoredFunctions
from hashrange.functions.variables import variables_of_server
from hashrange.jobs.chains import IsAwaited
from hashrange.limits import CODE_LINK_SECONDS, CODE_STORAGE_BYTES_MAX
from hashrange.messages import functions_api as messages
from hashrange.store.documents import Documents
from hashrange.wire.http import CODE_PATH

ChangeExisting = Callable[[FunctionDescription], FunctionDescription]
"""The new description of a function. Raises LambdaError to refuse; pure."""
_TRIED = frozenset({"runtime", "handler", "variables", "memory_mb"})
"""Members whose change may keep the handler from being loaded."""
_SEEN = frozenset({"timeout_seconds", "log_group"})
"""Members that environments get when they start, and whose change needs no trial of the handler."""

_log = logging.getLogger("hashrange.functions")


class Functions:
    """All functions of a server. Use it on one event loop; `close` ends all processes."""

    def __init__(
        self,
        documents: Documents,
        clock: Clock,
        options: FunctionOptions = FunctionOptions(),  # noqa: B008 - frozen
        wake: Callable[[], None] = lambda: None,
        is_awaited: IsAwaited = lambda: 0,
    ) -> None:
        """`wake` is called when there is an asynchronous invocation to run; `is_awaited`: see `IsAwaited`."""
        self.clock = clock
        self._documents = documents
        self.options = options
        self.stored = StoredFunctions(documents, clock, options.state_delay_seconds)
        self._loaded = LoadedFunctions(clock, options)
        self._links = CodeLinks(clock)
        self.for_jobs = JobInvocations(self.invoke, is_awaited)
        self.events = EventQueue(documents, clock, self.find_key, self.for_jobs.invoke, wake, is_awaited)
        """The job that runs asynchronous invocations."""
        self._declared = DeclaredFunctions()
        self._changing: set[FunctionKey] = set()
        """Functions that are being created or updated."""
        self.concurrency_followers: list[Callable[[FunctionKey], None]] = [self.events.concurrency_changed]
        self._generation = documents.generation

    def reach(self, endpoint: str, credentials_of: Callable[[Caller], HandlerCredentials] | None = None) -> None:
        """Let handlers find this server at its endpoint, and clients fetch zips from it. `credentials_of`: None:
        handlers get those that were set before.
        """
        options = self.options
        self.options = msgspec.structs.replace(
            options,
            endpoints=variables_of_server(endpoint, options.certificate_path, serves_s3=options.serves_s3),
            credentials_of=credentials_of or options.credentials_of,
            code_url=endpoint + CODE_PATH.decode(),
        )
        self._loaded.reach(self.options)

    # --- declared functions ---------------------------------------------------------------------

    def declare(self, name: str, declaration: FunctionDeclaration) -> None:
        """Add a function, or replace a declared one.
        A stored function of this name is hidden. Raises FunctionsError.
        """
        self._declared.declare(name, declaration, self.clock.service_time())

    async def start(self) -> None:
        """Start an environment for each declared function with code, and log which handlers cannot be loaded, and which
        runtimes of stored functions are not there.

        Each invocation tries them again, so a repaired handler needs no restart.
        """
        for description in self._declared.all():
            if description.url is not None:
                continue
            try:
                self._require_code_runs(description)
                generation = self._documents.generation
                loaded = await self._started(description, b"")
                is_current = self._documents.generation == generation
                (self._loaded.install if is_current else self._loaded.retire)(loaded)
            except LambdaError as error:
                _log.warning("The function %s cannot be run: %s", description.name, logged_text(error.message))
        if self.options.runs_code:
            await warn_of_missing_programs(self._documents)

    # --- reading --------------------------------------------------------------------------------

    def find(self, text: str, caller: Caller, qualifier: str | None = None) -> FunctionDescription:
        """The function that a request names. Raises what `read_reference` raises, FunctionMissing and StorageError."""
        return self._find_reference(read_reference(text, caller, qualifier))

    def find_arn(self, arn: str) -> FunctionDescription:
        """The function of an ARN, whoever asks. Raises FunctionMissing and StorageError."""
        reference = parse_arn(arn)
        if reference is None:
            raise FunctionMissing(messages.function_missing(arn))
        return self._find_reference(reference)

    def _find_reference(self, reference: FunctionReference) -> FunctionDescription:
        if reference.qualifier not in {None, LATEST}:
            raise FunctionMissing(messages.function_missing(reference.arn))
        return self.find_key(reference.key)

    def find_key(self, key: FunctionKey) -> FunctionDescription:
        """The function of this account, Region and name. Raises FunctionMissing and StorageError."""
        description = self._declared.find(key.name, key.caller) or self.stored.get(key)
        if description is None:
            raise FunctionMissing(messages.function_missing(key.arn))
        return description

    def list_after(self, caller: Caller, after: str, count: int) -> tuple[Sequence[FunctionDescription], bool]:
        """At most `count` functions of a caller whose names follow `after`, in order; True if there are more."""
        stored = (one.name for one in self.stored.all_of(caller) if one.name > after)
        names = sorted({*self._declared.names_after(after, caller), *stored})
        return [self.find_key(FunctionKey(*caller, name)) for name in names[:count]], len(names) > count

    def code_url_of(self, description: FunctionDescription) -> str | None:
        """The URL of a stored function's zip; None if it cannot be fetched."""
        if description.is_declared or self.options.code_url is None:
            return None
        return self.options.code_url + self._links.make(description)

    def linked_zip(self, link: str) -> bytes | None:
        """The zip of a URL that `code_url_of` has returned; `link`: what follows CODE_PATH in it.
        None if the link is not valid. Raises StorageError.
        """
        linked = self._links.read(link)
        description = None if linked is None else self.stored.get(linked.key)
        if linked is None or description is None or description.code_sha256 != linked.code_sha256:
            return None
        try:
            return self.stored.zip_of(description)
        except LambdaError:  # it was changed or deleted while its zip was read
            return None

    # --- changes --------------------------------------------------------------------------------

    async def create(self, description: FunctionDescription, zipped: bytes) -> FunctionDescription:
        """Create a function; the members for its code, times and ids are set here. Returns it as stored.

        Raises LambdaError: the function exists, code does not run here, cannot be unpacked or
        cannot be loaded; StorageError.
        """
        key = description.key
        if key in self._changing or self._declared.find(key.name, key.caller) or self.stored.get(key):
            raise conflict_refusal(messages.FUNCTION_EXISTS.format(name=key.name))
        with self._changes(key):
            self._require_code_runs(description)
            ids = {"run_id": new_uuid(), "revision_id": new_uuid()}
            new = msgspec.structs.replace(description, **await self._code_members(key, zipped), **ids)

            def create(old: FunctionDescription | None) -> FunctionDescription:
                if old is not None:
                    raise conflict_refusal(messages.FUNCTION_EXISTS.format(name=key.name))
                now_seconds = self.clock.service_time()
                return msgspec.structs.replace(
                    new,
                    modified_seconds=now_seconds,
                    active_at_seconds=now_seconds + self.options.state_delay_seconds,
                )

            return await self._try_and_change(new, zipped, create, zipped)

    async def update(
        self,
        old: FunctionDescription,
        members: Mapping[str, Any],
        zipped: bytes | None = None,
        *,
        is_dry_run: bool = False,
    ) -> FunctionDescription:
        """Change code or configuration of a function: `members` of its description, and its zip unless None.

        Raises LambdaError: the function is declared, is being changed, or could not be loaded
        after the change; StorageError.
        """
        self._require_changeable(old)
        with self._changes(old.key):
            changed: dict[str, Any] = {**members, "revision_id": new_uuid()}
            others = {name for name, value in members.items() if value != getattr(old, name)}
            is_tried = zipped is not None or not others.isdisjoint(_TRIED)
            if is_tried or not others.isdisjoint(_SEEN):
                changed["run_id"] = new_uuid()
            if zipped is not None:
                changed |= await self._code_members(old.key, zipped)

            def update(current: FunctionDescription | None) -> FunctionDescription:
                if current is None or current.run_id != old.run_id:
                    raise FunctionMissing(messages.function_missing(old.arn))
                now_seconds = self.clock.service_time()
                until_seconds = now_seconds + self.options.state_delay_seconds
                return msgspec.structs.replace(
                    current, **changed, modified_seconds=now_seconds, updated_until_seconds=until_seconds
                )

            if not is_tried:
                return update(old) if is_dry_run else await self.stored.change(old.key, update)
            self._require_code_runs(old)
            new, code = update(old), self.stored.zip_of(old) if zipped is None else zipped
            if is_dry_run:
                self._loaded.retire(await self._started(new, code))
                return new
            return await self._try_and_change(new, code, update, zipped)

    async def change(self, old: FunctionDescription, change: Callable[[FunctionDescription], ChangedT]) -> ChangedT:
        """Change what does not concern how a function runs: tags, policy; reserved executions by `reserve`.

        `change` is called with the description at the time of the commit. Raises LambdaError, also if the function is
        declared or has been deleted meanwhile, and StorageError.
        """
        if old.is_declared:
            raise parameter_refusal(messages.DECLARED_FUNCTION.format(name=old.name))

        def change_existing(current: FunctionDescription | None) -> ChangedT:
            if current is None:
                raise FunctionMissing(messages.function_missing(old.arn))
            return change(current)

        return await self.stored.change(old.key, change_existing)

    async def reserve(self, old: FunctionDescription, change: ChangeExisting) -> None:
        """Change the reserved executions of a function, as `change` does."""
        await self.change(old, change)
        for see in self.concurrency_followers:
            see(old.key)

    async def delete(self, old: FunctionDescription) -> None:
        """Delete a function; invocations that run go on to their end. Raises LambdaError and StorageError."""
        await self.change(old, lambda current: None)
        self._loaded.unload(old.key)

    @contextmanager
    def _changes(self, key: FunctionKey) -> Iterator[None]:
        """A context in which a function is being created or updated, and cannot be by others."""
        self._changing.add(key)
        try:
            yield
        finally:
            self._changing.discard(key)

    def _require_changeable(self, description: FunctionDescription) -> None:
        now_seconds = self.clock.service_time()
        if description.is_declared:
            raise parameter_refusal(messages.DECLARED_FUNCTION.format(name=description.name))
        if state_of_function(description, now_seconds) == "Pending":
            raise conflict_refusal(messages.PENDING)
        if description.key in self._changing or update_status_of(description, now_seconds) == "InProgress":
            raise conflict_refusal(messages.UPDATE_IN_PROGRESS.format(arn=description.arn))

    async def _code_members(self, key: FunctionKey, zipped: bytes) -> dict[str, Any]:
        """The members of a description that follow from a new zip."""
        stored_bytes = sum(one.code_size_bytes for one in self.stored.all_of(key.caller))
        if stored_bytes + len(zipped) > CODE_STORAGE_BYTES_MAX:
            raise LambdaError(400, "CodeStorageExceededException", messages.CODE_STORAGE_EXCEEDED)
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(zipped).hexdigest())
        return {"code_sha256": sha256, "code_size_bytes": len(zipped)}

    async def _try_and_change(
        self, new: FunctionDescription, code: bytes, change: ChangeFunction[FunctionDescription], zipped: bytes | None
    ) -> FunctionDescription:
        """Start an environment of the function after a change; if it starts, make the change,
        and keep the environment.
        """
        loaded = await self._started(new, code)
        try:
            stored = await self.stored.change(new.key, change, zipped)
        except BaseException:
            self._loaded.retire(loaded)
            raise
        self._loaded.install(loaded)
        return stored

    async def _started(self, description: FunctionDescription, zipped: bytes) -> LoadedFunction:
        """The function, loaded, with an environment. Raises LambdaError if its handler cannot be loaded."""
        self.see_content()
        try:
            with self._loaded.counted(description.key):
                loaded = await self._loaded.load(description, zipped)
                try:
                    request_id = new_uuid()
                    outcome = await loaded.start(request_id)
                    if outcome is not None:
                        raise await load_refusal(description, zipped, request_id, outcome)
                except BaseException:
                    self._loaded.retire(loaded)
                    raise
                return loaded
        except ConcurrencyExceeded:
            raise throttling_refusal("ConcurrentInvocationLimitExceeded") from None

    # --- invocations ----------------------------------------------------------------------------

    async def invoke(
        self, function: str | FunctionDescription, payload: bytes, request_id: str, client_context: str | None = None
    ) -> Invocation:
        """Run an invocation: what the function returns, or its error. `function`: an ARN or a description.

        `payload`: JSON of at most 6 MB; `client_context`: JSON for the handler's context.
        Raises ConcurrencyExceeded at once if as many invocations run as may; FunctionMissing; FunctionsSwitchedOff;
        LambdaError if the function is Pending or its code cannot be used; StorageError.
        """
        self.see_content()
        while True:
            description = self.find_arn(function) if isinstance(function, str) else self.find_key(function.key)
            self.require_invocable(description)
            with self._loaded.counted(description.key, description.reserved_executions):
                loaded = await self._loaded.current(description, self.stored.read_zip)
                if loaded is not None:
                    try:
                        return await loaded.invoke(payload, request_id, client_context)
                    finally:
                        self._loaded.retire_surplus()

    def require_invocable(self, description: FunctionDescription) -> None:
        """Raise LambdaError if the function's code does not run here, or the function is Pending."""
        self._require_code_runs(description)
        if state_of_function(description, self.clock.service_time()) == "Pending":
            raise conflict_refusal(messages.PENDING)

    def _require_code_runs(self, description: FunctionDescription) -> None:
        if description.url is None and not self.options.runs_code:
            raise FunctionsSwitchedOff

    def see_content(self) -> None:
        """If the content of the store has been replaced, end all environments, with the invocations that run.

        They belong to the former content, and must not write into this one.
        """
        if self._generation != self._documents.generation:
            self._generation = self._documents.generation
            self._loaded.end_all()

    async def close(self) -> None:
        """End all environments and invocations, complete the changes that have begun, and remove all unpacked code."""
        await self.events.close()
        await self._loaded.close()
        await self.stored.settle()


# --- links to zips --------------------------------------------------------------------------------


class LinkedCode(NamedTuple):
    """What a link leads to: the zip that a function had when the link was made."""

    key: FunctionKey
    code_sha256: str
    expires_at_seconds: float
    """Wall time."""


class CodeLinks:
    """Makes and reads the last part of the URLs under which GetFunction offers zips, for ten minutes, as the service's
    presigned URLs do. There is a secret in them: links of another server, or of one before a restart, are not valid.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)

    def make(self, description: FunctionDescription) -> str:
        """The last part of the URL of a function's zip: letters, digits, `-`, `_` and `=`."""
        expires_at_seconds = self._clock.wall_time() + CODE_LINK_SECONDS
        linked = msgspec.json.encode(LinkedCode(description.key, description.code_sha256, expires_at_seconds))
        return base64.urlsafe_b64encode(self._sign(linked) + linked).decode()

    def read(self, link: str) -> LinkedCode | None:
        """What a link leads to; None if it was not made here, or has expired."""
        try:
            decoded = base64.urlsafe_b64decode(link)
        except (binascii.Error, ValueError):
            return None
        signature, linked = decoded[:32], decoded[32:]
        if not hmac.compare_digest(signature, self._sign(linked)):
            return None
        found = msgspec.json.decode(linked, type=LinkedCode)
        return found if self._clock.wall_time() < found.expires_at_seconds else None

    def _sign(self, linked: bytes) -> bytes:
        return hmac.new(self._secret, linked, hashlib.sha256).digest()
