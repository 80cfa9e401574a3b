"""What may a user have meant whose handler cannot be loaded?
A handler with a dot, or a file that lies elsewhere in the zip.

Only Handler and the names in the zip are looked at; what the code does is the runtime's to say.
"""

import io
import posixpath
import zipfile
from collections.abc import Sequence

from hashrange.functions.runnable import Language
from hashrange.messages import functions_api as messages

_EXTENSIONS: dict[Language, tuple[str, ...]] = {"python": (".py",), "node": (".js", ".mjs", ".cjs")}
_NAMES_SHOWN_MAX = 5


def names_in_zip(zipped: bytes) -> list[str]:
    """The paths of the files in a zip that could be unpacked. Blocks; call it in a thread."""
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        names = [one.replace("\\", "/") for one in archive.namelist()]
    return [one for one in names if not one.endswith("/")]


def hint_on_handler(handler: str, language: Language, names: Sequence[str] | None) -> str | None:
    """A sentence that names the way out; None if neither the form of Handler nor the place of its file is at fault.

    `names`: the paths of the files of the zip; None if the code is no zip.
    """
    module, function = _parts(handler, language)
    if not module or not function or f".{function}" in _EXTENSIONS[language]:
        return messages.handler_form(language)
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
