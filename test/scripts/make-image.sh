#!/usr/bin/env bash
# make-image.sh FOLDER TAG PODMAN…
# Builds the image of .containers/Containerfile without a registry of images, from packages of this Debian, Node 24 from npm, and npm's
# cache. The variable LIMITS has limits for its containers.
set -euo pipefail
folder=$1 tag=$2
shift 2
root=$folder/base
packages=(base-files coreutils dash libacl1 libattr1 libc6 libgcc-s1 libgmp10 libpcre2-8-0 libselinux1 libstdc++6)

mkdir -p "$root"/{root,tmp} "$root"/usr/{bin,lib,lib64,sbin,local/{bin,etc,lib/node_modules}}
{ dpkg -L "${packages[@]}" && echo /bin/sh; } | grep -E '^/(bin|etc|lib|lib64|sbin|usr)(/|$)' | grep -v '^/usr/share/' | sort -u |
  tar -cP --no-recursion -T - | tar -x --keep-directory-symlink -C "$root"
npm install --silent --prefix "$folder/node" node@24
cp "$folder/node/node_modules/node/bin/node" "$root/usr/local/bin/node"
cp -R "$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
printf 'cache=/cache\nprefer-offline=true\n' >"$root/usr/local/etc/npmrc"
tar -C "$root" -c . | "$@" import - "$tag-base"

# Installing this checkout has put the packages of the lock file into the cache. Packages that npm finds by name and range may be missing,
# so they are added here.
node -p 'const { dependencies: all } = require("./package.json"); Object.keys(all).map((name) => `${name}@${all[name]}`).join("\n")' |
  PATH="$root/usr/local/bin:$PATH" xargs -d '\n' npm install --silent --ignore-scripts --prefix "$folder/warm" pg@8 aws4fetch@1

read -ra limits <<<"$LIMITS"
"$@" build --isolation=chroot --layers=false --network=host --format=docker "${limits[@]}" --volume="$(npm config get cache):/cache" \
  --build-arg="BASE=$tag-base" --file=.containers/Containerfile --tag="$tag" .
