"""Can other users of this machine read what holds data or secrets?
Looks at the modes of the files that the settings name.
"""

import os
import shlex
import stat
from collections.abc import Iterator

from hashrange.cli.checkup.finding import Finding, surprising
from hashrange.settings import Settings

OTHERS = 0o077
"""The rights of all users but the owner, in the mode of a file."""


def look_at_modes(settings: Settings) -> Iterator[Finding]:
    """A hint, with the command that mends it, for each folder or file that others have rights to; none on Windows."""
    if os.name == "nt":
        return
    named = {
        "data folder": settings.data_dir,
        "snapshot": settings.snapshot,
        "credentials file": settings.credentials,
        "TLS key": settings.tls_key,
    }
    for what, path in named.items():
        if path is None:
            continue
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue  # what is missing or unusable is reported elsewhere
        if mode & OTHERS:
            whole = "-R " if stat.S_ISDIR(mode) else ""
            yield surprising(
                "modes",
                f"Other users of this machine have rights to the {what} {path} (mode {stat.S_IMODE(mode):04o})."
                f" Take them away: chmod {whole}go= {shlex.quote(path)}",
            )
