#!/usr/bin/env bash
# Node 20 needs better-sqlite3 12, whose binary npm downloads or compiles, which takes over a minute. This packs the binary of this checkout into FOLDER;
# npm takes it from there if npm_config_better_sqlite3_local_prebuilds names the folder. Does nothing on other versions of Node.
# keep-binary.sh FOLDER
set -euo pipefail
package=$(dirname "$0")/../../node_modules/better-sqlite3-12
binary=build/Release/better_sqlite3.node
{ [ -e "$package/$binary" ] && [ "$(node -p process.versions.modules)" = 115 ]; } || exit 0
version=$(node -p 'require(process.argv[1]).version' "$(realpath "$package/package.json")")
tar -czf "$1/better-sqlite3-v$version-node-v115-$(node -p 'process.platform + "-" + process.arch').tar.gz" -C "$package" "$binary"
