#!/bin/sh
# Reads a whole table in parallel segments, into a file or to standard output.
#
#   sh scripts/scan-table.sh --table Orders --segments 4 --output results.json
#   sh scripts/scan-table.sh --table Orders --filter 'total > :t' --values '{":t":{"N":"10"}}'
#   sh scripts/scan-table.sh --table Orders --filter 'status = :s' --values '{":s":{"S":"active"}}'
#
# The options are those of `hashrange scan`; --help lists them.
set -eu

if ! command -v hashrange >/dev/null; then
  echo "scan-table.sh: there is no hashrange here. Install it, with its extra toolkit." >&2
  exit 2
fi
exec hashrange scan "$@"
