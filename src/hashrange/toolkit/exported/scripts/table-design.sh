#!/bin/sh
# Designs a table, and writes it for CloudFormation, the CDK, Terraform or the AWS CLI.
#
#   sh scripts/table-design.sh Orders --partition-key customer --sort-key created:N --gsi by-status=status/created
#   sh scripts/table-design.sh Orders --partition-key customer --output terraform --file orders.tf
#
# Without a partition key it asks. The options are those of `hashrange design`; --help lists them.
set -eu

if ! command -v hashrange >/dev/null; then
  echo "table-design.sh: there is no hashrange here. Install it, with its extra toolkit." >&2
  exit 2
fi
exec hashrange design "$@"
