#!/usr/bin/env bash
# Installs the rendering worker's optional packages for the tests into a cache of their own, where the registry can be
# reached. Tests that miss them say so and are skipped.
set -uo pipefail
cd "$(dirname "$0")/../.."

dir="${NIGHTRENDER_RENDERER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/nightrender-tests/renderer}"
[ -d "$dir/node_modules/three" ] && [ -d "$dir/node_modules/webgpu" ] && exit 0
read -r three webgpu < <(node -p "const p = require('./package.json').peerDependencies; p.three + ' ' + p.webgpu")
mkdir -p "$dir" && timeout 300 npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --loglevel=error \
  "three@$three" "webgpu@$webgpu" >/dev/null 2>&1 </dev/null
exit 0
