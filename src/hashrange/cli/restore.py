"""`hashrange restore TARGET DIR`: how does a copy become a data folder again? And which copies are there?"""

from datetime import UTC, datetime

from hashrange.cli.backup import add_no_check, progress, shown_size
from hashrange.cli.inspect import say_columns
from hashrange.cli.main import DONE, FAILED, count, refuse
from hashrange.cli.output import say
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse

EXAMPLE = """example:
  hashrange restore /backups/shop --list
  hashrange restore /backups/shop ./hashrange-data
  hashrange serve --data-dir ./hashrange-data

TARGET is what `hashrange backup` has written to. Every file is compared with its digest. DIR appears whole or not \
at all.
"""


def run(words: list[str]) -> int:
    """Restore a copy, or list all of them; returns the exit code. Raises UsageError, StorageError."""
    options = parse(build_parser(), words)
    if options.is_listed:
        if options.data_dir is not None or options.copy is not None:
            raise UsageError("--list shows all copies: it takes no DIR and no --copy.")
        return list_copies(options.target)
    if options.data_dir is None:
        raise UsageError("`hashrange restore` needs DIR, the folder to restore to; --list shows the copies.")
    from hashrange.store.repository.folder import Repository
    from hashrange.store.repository.restores import find_copy, restore_copy

    repository = Repository(options.target)
    manifest = find_copy(repository, options.copy)
    restore_copy(repository, manifest, options.data_dir, progress(), is_checked=options.is_checked)
    files, size = count(len(manifest.files), "file"), shown_size(manifest.size_bytes)
    say(f"{options.data_dir}: the copy {manifest.name}, {files} in {size}.")
    return DONE


def build_parser() -> CommandParser:
    """The parser of `hashrange restore`."""
    parser = command_parser("restore", "Make a data folder of a copy that `hashrange backup` has made.", EXAMPLE)
    parser.add_argument("target", metavar="TARGET", help="Folder of the copies.")
    parser.add_argument("data_dir", metavar="DIR", nargs="?", help="The data folder; it must be missing or empty.")
    parser.add_argument("--copy", metavar="NAME", help="Restore this copy instead of the newest one.")
    parser.add_argument("--list", dest="is_listed", action="store_true", help="List the copies with time and size.")
    add_no_check(parser)
    return parser


def list_copies(target: str) -> int:
    """Print name, time, size and source of each copy, the newest last; returns the exit code, which is FAILED if a
    manifest is damaged.
    """
    from hashrange.store.repository.folder import Repository

    manifests = Repository(target).manifests()
    rows: list[tuple[str, ...]] = [("copy", "taken at (UTC)", "source", "checked", "files", "bytes", "added")]
    for name, manifest in manifests.sound.items():
        taken_at = datetime.fromtimestamp(manifest.taken_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
        numbers = (len(manifest.files), manifest.size_bytes, manifest.added_bytes)
        is_checked = "yes" if manifest.is_checked else "no"
        rows.append((name, taken_at, manifest.copied_from, is_checked, *(f"{number:,}" for number in numbers)))
    if len(rows) > 1:
        say_columns(rows, 4)
    else:
        say(f"{target} holds no copy that can be read.")
    if not manifests.damaged:
        return DONE
    told = "; ".join(f"{name}: {error}" for name, error in manifests.damaged.items())
    return refuse(f"manifests in {target} are damaged: {told}.", FAILED)
