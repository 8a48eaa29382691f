#!/usr/bin/env bash
# What takes hours: nights and damages in the thousands, kills in the hundreds, load, and the tests on other versions of
# Node. Goes on after a step that fails, and says at the end which those were.
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

# A whole Node with its headers, for the native packages.
on_node() {
  local folder
  folder=$(mktemp -d)
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$folder"
  (
    npm install --silent --prefix "$folder/.node" "node@$1" || exit 1
    cd "$folder" || exit 1
    export PATH="$folder/.node/node_modules/.bin:$PATH"
    npm_config_nodedir=$(dirname "$(find "$folder/.node/node_modules" -type d -name include -path '*node-linux*' | head -1)")
    export npm_config_nodedir
    node --version && npm ci && npm test
  )
  local status=$?
  rm -rf "$folder"
  return $status
}

# Deaths at every call, every call of a disk that fails, kills with one that comes and goes, and of runs that share a checkpoint.
deaths() {
  NIGHTRENDER_TEST_SOAK=1 npm run --silent test:rest -- edited-back disk-faults mount-kills shared-kills shared-cuts
}

step 'nights' npm run --silent simulate -- --nights "${SOAK_NIGHTS:-20000}" --seed "${SOAK_SEED:-100001}"
step 'damages' npm run --silent simulate -- --sweep
step 'kills' npm run --silent chaos -- --kills "${SOAK_KILLS:-300}"
step 'deaths' deaths
step 'benchmarks' npm run --silent bench
step 'load' npm run --silent bench:serve
for version in ${SOAK_NODES:-22 24}; do step "Node $version" on_node "$version"; done

echo
if [ ${#failed[@]} -eq 0 ]; then echo 'soak: all passed'; else printf 'soak: failed: %s\n' "${failed[@]}"; fi
[ ${#failed[@]} -eq 0 ]
