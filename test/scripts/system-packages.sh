#!/usr/bin/env bash
# Installs what only some tests need, where this user may and the packages can be had. Says what is still missing, and why; tests of it are
# skipped. Fails where the registry has a package and it was not installed.
set -uo pipefail

# Most are a command of the same name.
packages=(blender strace chromium fish zsh groff zstd logrotate podman runc openssl nginx caddy ceph-mon ceph-osd radosgw slurmctld slurmd
  python3-numpy libimage-exiftool-perl postgresql)

has() {
  case $1 in
    # Blender's importer of glTF needs it, in the Python of the system, whichever comes first in PATH.
    python3-numpy) /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
    libimage-exiftool-perl) command -v exiftool >/dev/null ;;
    # Its commands lie outside PATH.
    postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=()
for package in "${packages[@]}"; do has "$package" || missing+=("$package"); done
[ ${#missing[@]} -gt 0 ] || exit 0

leave() { echo "SKIPPED system packages ${missing[*]}: $1" && exit 0; }
command -v apt-get >/dev/null || leave 'there is no apt-get'
[ "$(id -u)" -eq 0 ] || leave 'only root may install them'
timeout 120 apt-get update -qq -o APT::Update::Error-Mode=any >/dev/null 2>&1 </dev/null || leave 'their registry does not answer'

export DEBIAN_FRONTEND=noninteractive
status=0
here=()
for package in "${missing[@]}"; do
  if apt-cache show "$package" >/dev/null 2>&1; then here+=("$package"); else echo "SKIPPED system package $package: the registry does not have it"; fi
done
[ ${#here[@]} -gt 0 ] || exit 0

install() { timeout "$1" apt-get install -y -qq --no-install-recommends "${@:2}" 2>&1 </dev/null; }

# All at once is quicker; then one at a time, so that the one that is not to be had does not keep the others out. chromium is some 200 MB.
install 900 "${here[@]}" >/dev/null
for package in "${here[@]}"; do
  has "$package" && continue
  said=$(install 400 "$package")
  has "$package" && continue
  status=1
  echo "FAILED system package $package: the registry has it, but it was not installed: $(tail -n 1 <<<"$said")"
done
exit $status
