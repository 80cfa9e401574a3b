"""What is told of a handler that cannot be loaded, to the client that creates or changes its function,
and to the log at the start? The client is also told what it may have meant: a handler with a dot, or a file that lies
elsewhere in the zip.
"""

import asyncio
import io
import logging
import posixpath
import zipfile
from collections.abc import Sequence

import msgspec

from hashrange.errors import StorageError
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.code import thread_for
from hashrange.functions.description import FUNCTION_PREFIX, FunctionDescription
from hashrange.functions.handler_errors import HandlerError, described, read_handler_error
from hashrange.functions.invocation import InvocationOutcome
from hashrange.functions.programs import Language, ProgramMissing, find_program, is_supported, language_of
from hashrange.functions.refusals import parameter_refusal
from hashrange.messages import functions as program_messages
from hashrange.messages import functions_api as messages
from hashrange.store.documents import Documents

_NAMES_SHOWN_MAX = 5
_log = logging.getLogger("hashrange.functions")


async def load_refusal(
    description: FunctionDescription, zipped: bytes, request_id: str, outcome: InvocationOutcome
) -> LambdaError:
    """The refusal of a function whose start had this outcome. `zipped`: empty for code that is used in place."""
    error = read_handler_error(outcome.payload) or HandlerError(outcome.error_type, "")
    message = error.message.removeprefix(program_messages.of_request(request_id, ""))
    names = await thread_for(zipped).run(names_in_zip, zipped) if zipped else None
    hint = hint_on_handler(description.handler, language_of(description.runtime), names)
    return parameter_refusal(messages.handler_broken(described(error._replace(message=message)), hint))


class _Runtime(msgspec.Struct, frozen=True, gc=False):
    """The members of a stored function that are looked at."""

    name: str
    runtime: str


_decode = msgspec.json.Decoder(_Runtime).decode


async def warn_of_missing_programs(documents: Documents) -> None:
    """Log which runtimes of stored functions have no program on this machine, or another version of it."""
    try:
        stored = documents.below(FUNCTION_PREFIX)
    except StorageError:
        return  # whoever uses the functions hears of it
    for runtime, names in (await asyncio.to_thread(_names_by_runtime, stored)).items():
        try:
            await find_program(runtime)
        except ProgramMissing as error:
            shown = ", ".join(names[:_NAMES_SHOWN_MAX]) + (", …" if len(names) > _NAMES_SHOWN_MAX else "")
            missing = program_messages.RUNTIME_MISSING.format(functions=shown, runtime=runtime, reason=error)
            _log.warning("%s", missing)


def _names_by_runtime(stored: Sequence[tuple[str, bytes]]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for _, document in stored:
        try:
            one = _decode(document)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # whoever uses the function hears of it
        if is_supported(one.runtime):
            names.setdefault(one.runtime, []).append(one.name)
    return names


# --- hints on the handler -------------------------------------------------------------------------

_EXTENSIONS: dict[Language, tuple[str, ...]] = {"python": (".py",), "node": (".js", ".mjs", ".cjs")}


def names_in_zip(zipped: bytes) -> list[str]:
    """The paths of the files in a zip that could be unpacked. Blocks; call it in a thread."""
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        names = [one.replace("\\", "/") for one in archive.namelist()]
    return [one for one in names if not one.endswith("/")]


def hint_on_handler(handler: str, language: Language, names: Sequence[str] | None) -> str | None:
    """A sentence that names the way out; None if neither the form of Handler nor the place of its file is at fault.

    Only Handler and the names in the zip are looked at; what the code does is the runtime's to say.
    `names`: the paths of the files of the zip; None if the code is no zip.
    """
    module, function = _parts(handler, language)
    if not module or not function or f".{function}" in _EXTENSIONS[language]:
        return messages.HANDLER_FORM.format(extension=_EXTENSIONS[language][0])
    if names is None:
        return None
    files = _module_files(module, language)
    if not names or not files.isdisjoint(names) or any(one.startswith(f"{module}/") for one in names):
        return None
    found = min((one for one in names if any(one.endswith(f"/{file}") for file in files)), key=len, default=None)
    if found is None:
        return messages.module_not_in_zip(module + _EXTENSIONS[language][0], names[:_NAMES_SHOWN_MAX], len(names))
    folder = next(found.removesuffix(f"/{file}") for file in sorted(files) if found.endswith(f"/{file}"))
    return messages.module_in_folder(found, folder, None if "." in folder else f"{folder}/{handler}")


def _parts(handler: str, language: Language) -> tuple[str, str]:
    """Path of the handler's module in the zip without its extension, and the function;
    both empty if there is no dot.
    """
    if language == "python":
        module, _, function = handler.rpartition(".")
        return module.replace(".", "/"), function if module else ""
    folder, last = posixpath.split(handler)
    name, _, function = last.partition(".")
    return (posixpath.join(folder, name), function) if name and function else ("", "")


def _module_files(module: str, language: Language) -> set[str]:
    files = {module + extension for extension in _EXTENSIONS[language]}
    return files | {f"{module}/__init__.py"} if language == "python" else files
