"""Which files do people and coding agents get who want the toolkit in a folder? Those of `exported/`, the
template of `hashrange design --template`, and the JSON Schema of models. They are written as a whole, or not at all.
"""

import errno
import os
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.files import TEMPLATE_SCHEMA, schema_text

TEMPLATE = "table_template.yaml"
TEMPLATE_PLACE = "assets/cloudformation-table.yaml"
RUNNABLE_ENDING = ".sh"
RUNNABLE_MODE = 0o755
PART_ENDING = ".hashrange-part"
"""Ends the name of a file that is being written."""


def exported_files() -> dict[str, bytes]:
    """Path below the folder, with slashes → content."""
    package = files("hashrange.toolkit")
    found = dict(_files_below(package.joinpath("exported"), ""))
    found[TEMPLATE_PLACE] = package.joinpath(TEMPLATE).read_bytes()
    found[f"assets/{TEMPLATE_SCHEMA}"] = schema_text().encode()
    return dict(sorted(found.items()))


def _files_below(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files_below(each, f"{path}{each.name}/")
        else:
            yield f"{path}{each.name}", each.read_bytes()


def export_toolkit(folder: str, *, is_overwriting: bool) -> int:
    """Write the files into a folder, which is made if it is missing; returns how many. Other files there stay.

    Raises UsageFault if the folder holds anything, unless `is_overwriting`, or cannot be written; what has been made by
    then is removed.
    """
    if not folder:
        raise UsageFault("the name of the folder is empty. Name one, such as ./dynamodb-toolkit.")
    content, made = exported_files(), list[str]()
    try:
        if not is_overwriting and os.path.lexists(folder) and os.listdir(folder):
            raise UsageFault(
                f"the folder {folder} is not empty. Name another one, or say --force, which overwrites files of the"
                " toolkit and leaves all others."
            )
        try:
            _write_parts(folder, content, made)
            _put_in_place(folder, content, made)
        except BaseException:  # an interrupt, too
            _remove(made)
            raise
    except OSError as error:
        path = str(error.filename or folder).removesuffix(PART_ENDING)
        raise UsageFault(f"the toolkit cannot be written: {path}: {error.strerror}. Name another folder.") from error
    return len(content)


def _write_parts(folder: str, content: dict[str, bytes], made: list[str]) -> None:
    """Write each file under another name beside its place. `made` gets what has been made."""
    for name, data in content.items():
        path = _place_of(folder, name)
        _make_folders(os.path.dirname(path), made)
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        made.append(path + PART_ENDING)
        with open(path + PART_ENDING, "wb") as file:
            file.write(data)
        if name.endswith(RUNNABLE_ENDING):
            os.chmod(path + PART_ENDING, RUNNABLE_MODE)


def _put_in_place(folder: str, content: dict[str, bytes], made: list[str]) -> None:
    for path in [_place_of(folder, name) for name in content]:
        if not os.path.lexists(path):
            made.append(path)
        os.replace(path + PART_ENDING, path)


def _place_of(folder: str, name: str) -> str:
    return os.path.join(folder, *name.split("/"))


def _make_folders(path: str, made: list[str]) -> None:
    """Make a folder and those above it that are missing."""
    if not path or os.path.isdir(path):
        return
    _make_folders(os.path.dirname(path), made)
    os.mkdir(path)
    made.append(path)


def _remove(made: list[str]) -> None:
    """Remove files and empty folders, those made last first."""
    for path in reversed(made):
        try:
            (os.rmdir if os.path.isdir(path) and not os.path.islink(path) else os.remove)(path)
        except OSError:  # it has been renamed, or somebody has put a file into the folder
            pass
