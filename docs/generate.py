"""Writes the generated pages, or with `--check` says which of them are stale.

docs/settings.md comes from the Settings struct, docs/commands.md from each command's help, the table of operations
in docs/compatibility.md from the registry, and docs/cluster-refusals.md from what servers of a cluster refuse.
"""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

from hashrange.aws_services.operation import Operation

DOCS = Path(__file__).parent
START, END = "<!-- generated: operations -->\n", "<!-- end of generated -->\n"
STATUSES = SERVED, READ_BACK, NOT_YET = "served", "read back", "not yet"
MODULES_READ_BACK = {"tables.list_global_tables"}
"""The modules of operations whose feature is not built yet; one leaves the set when it is."""

SETTINGS_HEAD = """# Settings

<!-- Written by `make docs` from src/hashrange/settings.py; do not edit. -->

Options of `hashrange serve`. Each can be given in four places; later ones win:

1. the default,
2. a TOML file, named by `--config FILE` or the environment variable `HASHRANGE_CONFIG`,
3. the environment,
4. a flag.

A switch takes `true` or `false` in the file and the environment; as a flag it stands alone, and `--no-…` turns it off.
An empty variable counts as not set. An option that is unknown or has a bad value stops the start with a sentence that
names it; an unknown `HASHRANGE_…` variable is only reported, because other programs may have set it.

| flag | variable | TOML key | takes | default | |
|---|---|---|---|---|---|
"""

SETTINGS_TAIL = """
## A settings file

```toml
port = 8001
data_dir = "/var/lib/hashrange"
credentials = "/etc/hashrange/credentials.toml"
access_log = true
```

## The access log

With `access_log`, every request leaves one line on standard error. Behind time, level and name of the log \
stand client, method, path,
target, status, bytes of the reply, request id, table, read units, write units and, of a request that \
was refused, the exception:

```
2026-10-05 12:00:00,000 INFO hashrange.access: 127.0.0.1 POST / DynamoDB_20120810.GetItem 200 \
512 <request id> music 0.5 0
2026-10-05 12:00:00,001 INFO hashrange.access: 127.0.0.1 POST / DynamoDB_20120810.PutItem 400 128 <request id> music \
0 1 ConditionalCheckFailedException
2026-10-05 12:00:00,002 INFO hashrange.access: 127.0.0.1 GET / - 200 42 <request id> - - -
```

A log that is not read as quickly as it comes, such as that of a paused terminal, holds up no request: \
once 1 MB waits, messages are left out, and
one message says how many.

Units are those of the request's tables and indexes together, asked for or not, of refused writes and of \
cancelled transactions too. Of
several tables the line names the first one and how many others there are: `music+2`. \
`-` stands for what a request has none of. The
units that each table has used:

```
awk '{{ read[$12] += $13; written[$12] += $14 }} END {{ for (table in read) print table, read[table], written[table] }}'
```

## A credentials file

Without one, any access key is let in. Its form: [credentials.md](credentials.md).

## DynamoDB Local's flags

`hashrange -port 8001 -inMemory` works like `hashrange serve --port 8001 --in-memory`:

| DynamoDB Local | Hashrange |
|---|---|
| `-port N` | `--port N` |
| `-inMemory` | `--in-memory` |
| `-dbPath DIR` | `--data-dir DIR` |
| `-sharedDb` | `--shared-db` |
| `-delayTransientStatuses` | `--table-state-delay {delay}` |
| `-cors ORIGINS` | nothing to do: every origin is answered, whatever the list |
| `-disableTelemetry`, `-optimizeDbBeforeStartup` | nothing to do |
| `-jar FILE`, `-D…`, `-Xmx…` | skipped, so that a compose file's command may stay as it is |

Any other flag in that style is refused. Data of DynamoDB Local is not read. Once the server is ready, \
it prints its own line and then,
only if started with such a flag, the lines that DynamoDB Local prints: `Initializing DynamoDB Local with the \
following configuration:`,
`Port:`, `InMemory:` and so on. Tools that wait for them find a server that answers.
"""


def settings_page() -> str:
    """docs/settings.md."""
    from hashrange.cli.dynamodb_local import DELAY_SECONDS
    from hashrange.settings import options

    rows = []
    for option in options():
        default = (
            "" if option.default is None else str(option.default).lower() if option.kind == "switch" else option.default
        )
        cells = [
            f"`{option.flag}`",
            f"`{option.variable}`",
            f"`{option.key}`",
            option.expected,
            f"`{default}`" if default != "" else "none",
            option.help,
        ]
        rows.append("| " + " | ".join(cells) + " |\n")
    return SETTINGS_HEAD + "".join(rows) + SETTINGS_TAIL.format(delay=DELAY_SECONDS)


def commands_page() -> str:
    """docs/commands.md."""
    from hashrange.cli.main import COMMANDS, help_text

    os.environ["COLUMNS"] = "80"
    parts = [
        "# Commands\n\n<!-- Written by `make docs` from each command's help; do not edit. -->\n",
        fenced("hashrange --help", help_text()),
    ]
    parts += [fenced(f"hashrange {name} --help", help_of(name)) for name in COMMANDS]
    parts.append(
        "\nExit codes: 0 done; 1 it could not be done, or a check found faults; 2 the command line, a setting or a file"
        " or folder that one names is wrong; 129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM; 141 nobody reads the"
        " output.\n"
        "\nIn a terminal, lines are folded to its width, or to `COLUMNS` if that is set, and verdicts and events have"
        " colours, unless `NO_COLOR` is set or `TERM` is `dumb`. Files and pipes get a line for each record, without"
        " colours; only help is folded there too, to 80 columns. JSON, completions and the log"
        " are never folded.\n"
    )
    return "".join(parts)


def fenced(command: str, text: str) -> str:
    """One command and what it prints."""
    return f"\n## `{command}`\n\n```text\n{text.rstrip()}\n```\n"


def help_of(command: str) -> str:
    """What `hashrange COMMAND --help` prints."""
    from hashrange.cli.main import main

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([command, "--help"])
    return printed.getvalue()


def compatibility_page() -> str:
    """docs/compatibility.md with its table of operations renewed; the rest is written by hand."""
    from hashrange.operations.registry import ALL_OPERATIONS

    statuses = {name: status_of(operation) for name, operation in sorted(ALL_OPERATIONS.items())}
    counts = ", ".join(f"{list(statuses.values()).count(status)} {status}" for status in STATUSES)
    rows = "".join(f"| {name} | {status} |\n" for name, status in statuses.items())
    page = (DOCS / "compatibility.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    table = f"Of {len(statuses)} operations: {counts}.\n\n| operation | status |\n|---|---|\n{rows}"
    return f"{before}{START}{table}{END}{after}"


def status_of(operation: Operation[Any]) -> str:
    """One of STATUSES. What describes and lists features that cannot be turned on yet is only read back."""
    module = operation.run.__module__.removeprefix("hashrange.operations.")
    if module == "pending":
        return NOT_YET
    return READ_BACK if module in MODULES_READ_BACK else SERVED


REFUSALS_HEAD = """# What servers of a cluster refuse

<!-- Written by `make docs` from src/hashrange/service/cluster_refusals.py; do not edit. -->

Servers with `--store` share their content with others, and lack some of what a server by itself has. A server refuses
to start with one of these options. A request for what is lacking gets `UnsupportedOperationException`, one to the
[admin API](admin.md) status 409, and changes nothing. Of `GlobalSecondaryIndexUpdates`, only `Create` and `Delete` are
refused, of `StreamSpecification` a stream that is enabled. Whatever describes or lists these things is served, and
answers as for a table that never had any of them.

| lacking | options | operations and members of DynamoDB | operations of other services | of the admin API |
|---|---|---|---|---|
"""


def refusals_page() -> str:
    """docs/cluster-refusals.md."""
    from hashrange.service.cluster_refusals import LACKED_BY_CLUSTERS
    from hashrange.settings import options

    flags = {option.field: option.flag for option in options()}
    rows = []
    for lacked in LACKED_BY_CLUSTERS:
        cells = (
            [flags[field] for field in lacked.settings],
            [*lacked.operations, *lacked.members],
            [name for names in lacked.services.values() for name in names],
            lacked.endpoints,
        )
        shown = [", ".join(f"`{name}`" for name in names) for names in cells]
        rows.append(f"| {' | '.join([lacked.what, *shown])} |\n")
    return REFUSALS_HEAD + "".join(rows)


PAGES = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "compatibility.md": compatibility_page,
    "cluster-refusals.md": refusals_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or check them; returns the exit code."""
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    if "--check" in arguments and stale:
        print(f"stale: {', '.join(f'docs/{name}' for name in stale)}; run `make docs` and commit them", file=sys.stderr)
        return 1
    print("\n".join(f"wrote docs/{name}" for name in stale) or "generated pages are current")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
