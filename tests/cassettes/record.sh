#!/bin/sh
# Records the cassettes anew with the embedded model. Needed when prompts change: a replay notices that.
#   tests/cassettes/record.sh SUREFOOT
set -eu
surefoot=$1
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$here"/../../examples/stats/*.* "$folder"
rm -f "$here/stats.cassette"
"$surefoot" run "Write stats.py as SPEC.md says." -C "$folder" -m local --check "python3 -m unittest -q" \
    --record "$here/stats.cassette"
