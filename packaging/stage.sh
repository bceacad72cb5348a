#!/usr/bin/env bash
# stage.sh DIRECTORY: puts the program as it is installed into DIRECTORY: the npm package of this tree, and in node_modules what it runs with.
# The Debian and RPM packages and the container image are made of it.
#
#   NETGLOSS_CPU        x64 or arm64: whose native parts are put in (that of this host)
#   NETGLOSS_VERSION    the version, in place of that of package.json
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
target=$(mkdir -p "$1" && cd "$1" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

cd "$root"
npm pack --silent --pack-destination "$temp" >/dev/null
tar -xzf "$temp"/netgloss-*.tgz -C "$target" --strip-components=1 --no-same-owner
cd "$target"
if [ -n "${NETGLOSS_VERSION:-}" ]; then
  sed -i "0,/\"version\": \"[^\"]*\"/s//\"version\": \"$NETGLOSS_VERSION\"/" package.json
fi
# The lock of a package is without what only development needs.
npm pkg delete devDependencies scripts
cpu=${NETGLOSS_CPU:-$(node -p process.arch)}
npm ci --loglevel=error --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline --os=linux --libc=glibc --cpu="$cpu"
# Nothing that the program loads: types, maps, tests, documents and tools of the packages. Licences stay.
find node_modules -mindepth 1 \( -name '.*' -o -type d \( -name test -o -name tests -o -name examples -o -name benchmarks -o -name docs \) \) -prune -exec rm -rf {} +
find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.html' -o -name '*.sh' -o -iname '*.md' ! -iname 'licen*' \) -delete
rm -rf node_modules/js-yaml/bin node_modules/pino/bin.js
find node_modules -type d -empty -delete
rm npm-shrinkwrap.json
chmod -R u=rwX,go=rX .
find . -path ./bin -prune -o -type f -exec chmod a-x {} +
