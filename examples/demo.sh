#!/bin/sh
# Runs a task with the embedded model in a new scratch folder and shows the result.
#   examples/demo.sh SUREFOOT ["a task of your own"]
set -eu
surefoot=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
task=${2:-}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# llama.cpp needs the OpenMP runtime, which a minimal Debian does not have.
python=$(dirname -- "$surefoot")/python
if ! "$python" -c "import xllamacpp" 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq libgomp1
fi

"$surefoot" model pull
folder=$(mktemp -d "${TMPDIR:-/tmp}/surefoot-demo.XXXXXX")
echo "Working in $folder"
if [ -n "$task" ]; then
    exec "$surefoot" run "$task" -C "$folder" -m local
fi
cp "$here"/stats/* "$folder"
"$surefoot" run "Write stats.py as SPEC.md says." -C "$folder" -m local --check "python3 -m unittest -q"
echo
echo "It wrote $folder/stats.py:"
cat "$folder/stats.py"
id=$(cd "$folder" && "$surefoot" list --json -n 1 | sed 's/.*"run_id": "\([^"]*\)".*/\1/')
page=$here/../src/surefoot/server/static/index.html
echo
echo "The page of this run: $([ -e "$page" ] || printf 'make web && ')$surefoot serve --run $id"
