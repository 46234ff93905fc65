# SPDX-License-Identifier: Apache-2.0
# Shared by scripts/run and scripts/test: packages and builds. Sourced, POSIX shell. Everything said here goes to stderr, so
# that stdout stays the program's.

root=$(cd "$(dirname "$0")/.." && pwd)
build_root=${SHARDFIT_BUILD_ROOT:-$root/build}

# What a fresh Debian 12 lacks.
packages="cmake g++ ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev libboost-graph-dev libtbb-dev
doctest-dev libbenchmark-dev"

say() { echo "shardfit: $*" >&2; }

# Prints the packages that are not installed; nothing, and quickly, if all are.
missing_packages() {
  for package in $packages; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) || state=
    [ "$state" = installed ] || echo "$package"
  done
}

# Installs what is missing, as root or by sudo; explains itself where it may not.
need_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "no dpkg here: taking it that these are installed by other means:" $packages
    return 0
  fi
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" = 0 ]; then as_root=
  elif command -v sudo >/dev/null 2>&1; then as_root=sudo
  else
    say "these packages are missing, and this is neither root nor is there sudo:" $missing
    say "install them (apt-get install" $missing") and start again"
    exit 2
  fi
  say "installing" $missing
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2 || say "apt-get update failed; trying with the lists at hand"
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
}

# Compiler processes at once: one a core, but no more than memory holds (about 1.5 GiB each at worst).
jobs_that_fit() {
  cores=$(nproc 2>/dev/null || echo 1)
  kib=$(awk '/MemAvailable/ {print $2}' /proc/meminfo 2>/dev/null || echo 0)
  by_memory=$((${kib:-0} / 1572864))
  [ "$by_memory" -ge 1 ] || by_memory=1
  [ "$by_memory" -lt "$cores" ] && cores=$by_memory
  echo "$cores"
}

# configure NAME CMAKE_ARGUMENT...: build/NAME, once. Ninja runs CMake again by itself when a list changes.
configure() {
  name=$1
  shift
  dir=$build_root/$name
  if [ -f "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    say "$dir was configured for another place: starting it afresh"
    rm -rf "$dir"
  fi
  [ -f "$dir/build.ninja" ] && return 0
  launcher=
  if command -v ccache >/dev/null 2>&1; then launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  # shellcheck disable=SC2086
  cmake -S "$root" -B "$dir" -G Ninja $launcher "$@" >&2
}

# build NAME TARGET...
build() {
  name=$1
  shift
  cmake --build "$build_root/$name" -j "$(jobs_that_fit)" --target "$@" >&2
}
