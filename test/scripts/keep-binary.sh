#!/usr/bin/env bash
# keep-binary.sh FOLDER
# Packs the binary of better-sqlite3 12 from this checkout into FOLDER. Node 20 needs it, and npm would download or compile it, which takes
# over a minute. npm takes it from FOLDER if npm_config_better_sqlite3_local_prebuilds names the folder. Does nothing on other versions of
# Node.
set -euo pipefail
package=$(dirname "$0")/../../node_modules/better-sqlite3-12
binary=build/Release/better_sqlite3.node
{ [ -e "$package/$binary" ] && [ "$(node -p process.versions.modules)" = 115 ]; } || exit 0
version=$(node -p 'require(process.argv[1]).version' "$(realpath "$package/package.json")")
tar -czf "$1/better-sqlite3-v$version-node-v115-$(node -p 'process.platform + "-" + process.arch').tar.gz" -C "$package" "$binary"
