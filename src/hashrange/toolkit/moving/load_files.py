"""Which files are loaded? One, those of a folder, or the data files of a table's export, which its manifest lists."""

import json
import os
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.compressed import without_compression
from hashrange.toolkit.moving.item_forms import ENDINGS, FormName

LIST_NAME, SUMMARY_NAME = "manifest-files.json", "manifest-summary.json"
DATA_FOLDER = "data"
EXPORT_FORM = "DYNAMODB_JSON"


class LoadFile(NamedTuple):
    """A file that is loaded."""

    path: str
    form: FormName


def load_files(path: str, form: FormName | None) -> list[LoadFile]:
    """The files that a path means, in an order that stays the same. `-`: standard input. Raises UsageFault.

    `form`: None for that of each file's name, which is `jsonl` for unknown names.
    """
    if path == "-":
        return [LoadFile(path, form or "jsonl")]
    if not os.path.exists(path):
        raise UsageFault(f"there is no file {path}.")
    if os.path.basename(path) in {LIST_NAME, SUMMARY_NAME}:
        return _exported(os.path.dirname(path))
    if not os.path.isdir(path):
        return [LoadFile(path, form or form_of_name(path) or "jsonl")]
    manifests = list(_manifest_folders(path))
    if len(manifests) == 1:
        return _exported(manifests[0])
    if manifests:
        raise UsageFault(f"the folder {path} holds {len(manifests)} exports: {', '.join(manifests)}. Name one of them.")
    names = sorted(name for name in os.listdir(path) if form_of_name(name) is not None)
    if not names:
        raise UsageFault(f"the folder {path} holds no file whose name ends in {', '.join(ENDINGS)}, .gz or .zst.")
    return [LoadFile(os.path.join(path, name), form or form_of_name(name) or "jsonl") for name in names]


def form_of_name(name: str) -> FormName | None:
    """The form that a file's name tells."""
    return ENDINGS.get(os.path.splitext(without_compression(name))[1].lower())


def _manifest_folders(path: str) -> Iterator[str]:
    """The folders of exports in a folder, which may be that of one export, or a copy of a bucket."""
    for folder, folders, names in os.walk(path):
        folders.sort()
        if LIST_NAME in names:
            yield folder


def _exported(folder: str) -> list[LoadFile]:
    """The data files of an export."""
    try:
        with open(os.path.join(folder, SUMMARY_NAME), encoding="utf-8") as opened:
            form = json.load(opened)["outputFormat"]
        with open(os.path.join(folder, LIST_NAME), encoding="utf-8") as opened:
            keys = [json.loads(line)["dataFileS3Key"] for line in opened if line.strip()]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageFault(f"the manifest in {folder} cannot be read: {error}.") from None
    if form != EXPORT_FORM:
        raise UsageFault(f"the export in {folder} has the form {form}; export the table as {EXPORT_FORM}.")
    paths = [os.path.join(folder, DATA_FOLDER, key.rsplit("/", 1)[-1]) for key in sorted(keys)]
    missing = [one for one in paths if not os.path.exists(one)]
    if missing:
        raise UsageFault(f"the export in {folder} is not whole: {missing[0]} is missing. Fetch it, too.")
    return [LoadFile(one, "jsonl") for one in paths]
