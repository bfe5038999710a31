#!/usr/bin/env bash
# The libraries that a wheel has linked in, as archives: Graphviz's layout, fmt and simdjson, from Debian's sources, whose
# packages have shared libraries only. The rest (zlib, SQLite, ncurses, expat) has archives in its packages.
#   tools/wheel/libraries.sh PREFIX      leaves PREFIX/{include,lib,licences}; does nothing where that is done
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(realpath -m "$1")
[[ -f $prefix/done && $(<"$prefix/done") == "$(sha256sum <"$here/CMakeLists.txt")" ]] && exit 0

say() { printf '%s\n' "$*" >&2; }

sources=$prefix/sources
rm -rf "$prefix"
mkdir -p "$sources/apt/parts" "$sources/apt/lists/partial" "$sources/apt/cache/archives/partial" "$prefix/licences"

# Debian 12's, whatever the machine's own list is; signed by Debian's key.
cat >"$sources/apt/parts/debian.sources" <<'LIST'
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
LIST
apt=(-qq -o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$sources/apt/parts"
     -o "Dir::State::Lists=$sources/apt/lists" -o "Dir::Cache=$sources/apt/cache" -o "APT::Sandbox::User=root")
say "fetching the sources of Graphviz, fmt and simdjson"
cd "$sources"
apt-get "${apt[@]}" update
apt-get "${apt[@]}" source graphviz fmtlib simdjson >"$sources/unpacking.log" 2>&1

build() {
  local source=$1
  shift
  say "building ${source##*/}"
  cmake -G Ninja -S "$source" -B "$sources/build-${source##*/}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden "$@" >>"$sources/build.log" 2>&1
  cmake --build "$sources/build-${source##*/}" >>"$sources/build.log" 2>&1
  cmake --install "$sources/build-${source##*/}" >>"$sources/build.log" 2>&1
}
trap 'say "failed; all that was said is in $sources/build.log"' ERR
build "$here" -DGRAPHVIZ_SOURCE="$(echo "$sources"/graphviz-*/)"
build "$(echo "$sources"/fmtlib-*)" -DFMT_TEST=OFF -DFMT_DOC=OFF
build "$(echo "$sources"/simdjson-*)" -DSIMDJSON_DEVELOPER_MODE=OFF

# What is linked in, in the words of those who wrote it.
for package in libfmt-dev:fmt libsimdjson-dev:simdjson zlib1g-dev:zlib libsqlite3-dev:SQLite libncurses-dev:ncurses \
               libexpat1-dev:expat libtomlplusplus-dev:tomlplusplus libcli11-dev:CLI11; do
  cp "/usr/share/doc/${package%%:*}/copyright" "$prefix/licences/${package#*:}.txt"
done
# The packages' headers are the same.
rm -rf "$sources" "$prefix"/include/{fmt,simdjson*}
sha256sum <"$here/CMakeLists.txt" >"$prefix/done"
