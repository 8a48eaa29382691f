#!/usr/bin/env bash
# Installs what only some tests need, where this user may and the packages can be had. Tests that miss one say so and are skipped.
set -uo pipefail

packages=(strace)

missing=()
for package in "${packages[@]}"; do
  command -v "$package" >/dev/null || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || exit 0

export DEBIAN_FRONTEND=noninteractive
install() { timeout 120 apt-get install -y -qq --no-install-recommends "${missing[@]}"; }
{ install || { timeout 120 apt-get update -qq && install; }; } >/dev/null 2>&1 </dev/null
exit 0
