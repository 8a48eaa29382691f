#!/usr/bin/env bash
# Installs the published package as a stranger would: from its tarball, as a user without rights whose home is read-only, without git and
# compiler, from npm's cache alone, into a folder whose name breaks careless scripts, and by npx. The installed program must render. Uses
# the present Node. dist must be built.
set -euo pipefail
export LC_NUMERIC=C
cd "$(dirname "$0")/../.."
maxTarballKb=2000
maxInstalledMb=60
maxCpuSeconds=10
within() { [ "${2%.*}" -lt "$3" ] || { echo "install.sh: $1: $2, not less than $3" && exit 1; }; }

base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
folder="$base/it's a \"night\" für 夜"
mkdir -p "$base/bin" "$base/cache" "$base/home" "$base/warm" "$folder"

# Programs that the user has: Node, npm, and the programs with which npm starts scripts.
cp "$(readlink -f "$(command -v node)")" "$base/bin/node"
cp -R "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$base/npm"
for name in npm npx; do ln -s "../npm/bin/$name-cli.js" "$base/bin/$name"; done
for program in env sh; do ln -s "$(command -v "$program")" "$base/bin/$program"; done

npm pack --silent --ignore-scripts --pack-destination "$base" >/dev/null
tarball=$(ls "$base"/*.tgz)
within 'kB of the tarball' $(($(stat -c %s "$tarball") / 1000)) $maxTarballKb

settings=(PATH="$folder/node_modules/.bin:$base/bin" HOME="$base/home" npm_config_cache="$base/cache")
# Only Node 20 needs a binary that is not in the registry.
bash test/scripts/keep-binary.sh "$base/cache"
settings+=(npm_config_better_sqlite3_local_prebuilds="$base/cache")

echo '{"private": true}' | tee "$base/warm/package.json" >"$folder/package.json"
(cd "$base/warm" && npm install --silent --ignore-scripts --cache "$base/cache" "$tarball")
chmod 555 "$base/home"

as_user=()
if [ "$(id -u)" -eq 0 ]; then
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chown -R 65534:65534 "$base/cache" "$folder"
fi
user() { (cd "$folder" && "${as_user[@]}" env -i "${settings[@]}" "$@"); }

TIMEFORMAT='%R %U %S'
read -r real cpu system < <({ time user npm install --offline --no-audit --no-fund "$tarball" >"$base/npm.txt" 2>&1; } 2>&1)
cat "$base/npm.txt"
size=$(du -sm "$folder/node_modules" | cut -f1)
within 'MB installed' "$size" $maxInstalledMb
# CPU time, so that a busy machine makes no difference.
within 'seconds of an installation' $((${cpu%.*} + ${system%.*})) $maxCpuSeconds

user nightrender --version
user nightrender init batch
user nightrender run batch/pipeline.yaml | tee "$base/run.txt"
grep -q 'Every scene is saved' "$base/run.txt"
user nightrender help start >/dev/null
[ ! -e "$folder/node_modules/nightrender/dist/test" ]

# By npx, without an installation, in an empty folder.
rm -rf "$folder"/{*,.[!.]*}
user npx --offline --yes --package "$tarball" nightrender init
user npx --offline --yes --package "$tarball" nightrender run | tee "$base/run.txt"
grep -q 'Every scene is saved' "$base/run.txt"
echo "install.sh: Node $(node -p process.versions.node): $size MB in $real s ($cpu and $system s of the processor), and it renders"
