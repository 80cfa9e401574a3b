#!/bin/sh
# Computes read and write units, and what a table costs in a month.
#
#   sh scripts/capacity-calculator.sh --item-size 2.5 --reads 500 --writes 200 --consistency eventual
#   sh scripts/capacity-calculator.sh --item-size 4 --reads 1000 --writes 100 --gsi-count 3
#
# The options are those of `hashrange capacity`; --help lists them.
set -eu

if ! command -v hashrange >/dev/null; then
  echo "capacity-calculator.sh: there is no hashrange here. Install it, with its extra toolkit." >&2
  exit 2
fi
exec hashrange capacity "$@"
