#!/usr/bin/env bash
# Installs packages that only some tests need, if this user may and the registry has them. Prints what is still missing and why. Tests of
# missing packages are skipped. Fails if the registry has a package but installing it failed.
set -uo pipefail

# Most packages have a command of the same name.
packages=(blender strace chromium fish zsh groff zstd ffmpeg logrotate podman runc openssl nginx caddy ceph-mon ceph-osd radosgw slurmctld slurmd
  python3-numpy libimage-exiftool-perl postgresql)

has() {
  case $1 in
    # Blender's importer of glTF needs numpy in the system's Python, whichever Python is first in PATH.
    python3-numpy) /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
    libimage-exiftool-perl) command -v exiftool >/dev/null ;;
    # The commands of PostgreSQL are outside of PATH.
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

# Installing all packages at once is faster. Then each missing one is tried alone, so that one unavailable package does not prevent the
# others. chromium takes about 200 MB.
install 900 "${here[@]}" >/dev/null
for package in "${here[@]}"; do
  has "$package" && continue
  said=$(install 400 "$package")
  has "$package" && continue
  status=1
  echo "FAILED system package $package: the registry has it, but it was not installed: $(tail -n 1 <<<"$said")"
done
exit $status
