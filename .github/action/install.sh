#!/usr/bin/env bash
# How does the action install Hashrange? Into an environment of its own below RUNNER_TEMP, so that the job's Python stays as it is.
# Reads ACTION_FOLDER and ACTION_VERSION (empty: the sources in ACTION_FOLDER, with the locked dependencies).
# Writes `command`, the path of the installed command, to GITHUB_OUTPUT.
set -euo pipefail

python=
for name in python3.13 python3.12 python3.11 python3 python; do
  if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    python=$name
    break
  fi
done
if [ -z "$python" ]; then
  echo "::error title=Hashrange::Python 3.11 or later was not found; let the step actions/setup-python run before this one."
  exit 1
fi

environment=$(mktemp -d "${RUNNER_TEMP:?}/hashrange-environment-XXXXXX")
"$python" -m venv "$environment"
scripts=$environment/bin
[ -d "$scripts" ] || scripts=$environment/Scripts

pip() {
  "$scripts/python" -m pip --quiet --disable-pip-version-check "$@"
}
if [ -n "${ACTION_VERSION:-}" ]; then
  if ! pip install --only-binary :all: "hashrange==$ACTION_VERSION"; then
    echo "::error title=Hashrange::Version $ACTION_VERSION of hashrange could not be installed from PyPI; the input \`version\` names one, such as 0.1.0."
    exit 1
  fi
else
  pip install --only-binary :all: --require-hashes -r "$ACTION_FOLDER/requirements.txt"
  pip install --no-deps "$ACTION_FOLDER"
fi

"$scripts/hashrange" version
echo "command=$scripts/hashrange" >>"$GITHUB_OUTPUT"
