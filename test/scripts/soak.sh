#!/usr/bin/env bash
# Runs everything that takes hours: thousands of nights and damages, hundreds of kills, load, and the tests on other versions of Node.
# Continues after a step that fails, and names the failed steps at the end.
set -uo pipefail
cd "$(dirname "$0")/../.."

failed=()
step() {
  local name=$1 begun=$SECONDS
  shift
  echo && echo "== $name"
  "$@" || failed+=("$name")
  echo "== $name: $((SECONDS - begun)) s"
}

on_node() { npm exec --yes --package "node@$1" -- bash test/scripts/smoke.sh test; }

# A kill at every call, a failure at every call of a disk, kills while a disk comes and goes, and kills of runs that share a checkpoint.
deaths() {
  NIGHTRENDER_TEST_SOAK=1 npm run --silent test:rest -- edited-back disk-faults mount-kills shared-kills shared-cuts
}

step 'nights' npm run --silent simulate -- --nights "${SOAK_NIGHTS:-20000}" --seed "${SOAK_SEED:-100001}"
step 'damages' npm run --silent simulate -- --sweep
step 'kills' npm run --silent chaos -- --kills "${SOAK_KILLS:-300}"
step 'deaths' deaths
step 'benchmarks' npm run --silent bench
step 'load' npm run --silent bench:serve
for version in ${SOAK_NODES:-22 24 26}; do step "Node $version" on_node "$version"; done

echo
if [ ${#failed[@]} -eq 0 ]; then echo 'soak: all passed'; else printf 'soak: failed: %s\n' "${failed[@]}"; fi
[ ${#failed[@]} -eq 0 ]
