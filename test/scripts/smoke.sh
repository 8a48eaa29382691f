#!/usr/bin/env bash
# Does what a new user does first, in a copy of the project as git has it: `npm ci && npm start`, and once more. Then runs the given tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
export XDG_STATE_HOME="$copy/.state"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
cd "$copy"

npm ci
npm start | tee first.txt
grep -q 'Every scene is saved' first.txt
scenes=$(node -e 'console.log(require("csv-parse/sync").parse(require("fs").readFileSync("jobs/scenes.csv")).length - 1)')
pictures=$(find renders/scenes/images -name '*.png' | wc -l)
[ "$pictures" -eq "$scenes" ] || { echo "$pictures pictures for $scenes scenes"; exit 1; }
for file in results.csv results.jsonl summary.json; do [ -s "renders/scenes/report/$file" ]; done

# The second start must have nothing to do and change no picture.
before=$(sha256sum renders/scenes/images/*.png | sha256sum)
npm start | grep -q "$scenes of $scenes scenes"
[ "$before" = "$(sha256sum renders/scenes/images/*.png | sha256sum)" ]
echo "smoke: $pictures pictures on Node $(node --version)"

[ $# -eq 0 ] || npm test -- "$@"
