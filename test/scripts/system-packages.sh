#!/usr/bin/env bash
# Installs what only some tests need, where this user may and the packages can be had. Tests that miss one say so and are skipped.
set -uo pipefail

# Each is a command of the same name.
packages=(blender strace chromium fish zsh groff zstd logrotate podman runc openssl nginx ceph-mon ceph-osd radosgw slurmctld slurmd)

missing=()
for package in "${packages[@]}"; do
  command -v "$package" >/dev/null || missing+=("$package")
done
# Blender's importer of glTF needs it, in the Python of the system, whichever comes first in PATH.
/usr/bin/python3 -c 'import numpy' 2>/dev/null || missing+=(python3-numpy)
command -v exiftool >/dev/null || missing+=(libimage-exiftool-perl)
# Its commands lie outside PATH.
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || exit 0

export DEBIAN_FRONTEND=noninteractive
# One at a time, so that the one that is not to be had does not keep the others out; chromium is some 200 MB.
install() { timeout 400 apt-get install -y -qq --no-install-recommends "$1"; }
{
  timeout 120 apt-get update -qq
  for package in "${missing[@]}"; do install "$package"; done
} >/dev/null 2>&1 </dev/null
exit 0
