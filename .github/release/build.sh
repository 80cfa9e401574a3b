#!/usr/bin/env bash
# What does a release consist of? Builds the sdist and the wheel into a folder, checks them, and writes SHA256SUMS beside them.
# usage: build.sh TAG FOLDER, in an environment with hatchling; TAG is v and the version in src/hashrange/__init__.py
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "usage: build.sh TAG FOLDER" >&2
  exit 2
fi
tag=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.."

version=$(sed -n -E 's/^__version__ = "(.*)"$/\1/p' src/hashrange/__init__.py)
if [ "$tag" != "v$version" ]; then
  echo "The tag is $tag, but src/hashrange/__init__.py has version $version; tag this commit v$version, or change the version." >&2
  exit 1
fi
if [ -n "$(ls -A "$folder")" ]; then
  echo "The folder $folder is not empty; a release must hold nothing but what is built now." >&2
  exit 1
fi

# Archives made from the same commit are equal, byte by byte.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)
export SOURCE_DATE_EPOCH
python -m hatchling build -t sdist -t wheel -d "$folder"

cd "$folder"
for name in "hashrange-$version.tar.gz" "hashrange-$version-py3-none-any.whl"; do
  [ -f "$name" ] || { echo "$name was not built." >&2; exit 1; }
done
sha256sum -- *.tar.gz *.whl >SHA256SUMS
cat SHA256SUMS
