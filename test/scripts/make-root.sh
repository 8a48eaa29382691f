#!/usr/bin/env bash
# make-root.sh FOLDER PROGRAM…
# Makes a folder that can be the root of a container: these programs of this machine and their libraries.
set -euo pipefail
root=$1
shift
mkdir -p "$root"/{bin,dev,etc,proc,sys,tmp}
for program in "$@"; do
  path=$(command -v "$program")
  cp -L "$path" "$root/bin/"
  # ldd fails for programs without libraries.
  { ldd "$path" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
