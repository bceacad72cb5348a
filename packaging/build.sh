#!/usr/bin/env bash
# build.sh DIRECTORY: writes the Debian and the RPM package into DIRECTORY. Needs nfpm:
#   go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
#
#   NETGLOSS_CPU, NETGLOSS_VERSION   as for stage.sh
#   NETGLOSS_COMPRESSION             of the Debian package: xz, gzip or zstd
#   NETGLOSS_STAGED                  a directory that stage.sh has filled, to make packages of
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
target=$(mkdir -p "$1" && cd "$1" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

staged=${NETGLOSS_STAGED:-$temp/lib}
[ -n "${NETGLOSS_STAGED:-}" ] || "$here/stage.sh" "$staged"
cpu=${NETGLOSS_CPU:-$(node -p process.arch)}
case $cpu in
  x64) export ARCH=amd64 ;;
  arm64) export ARCH=arm64 ;;
  *) echo "build.sh: there are no packages for $cpu: x64 or arm64" >&2; exit 1 ;;
esac
VERSION=$(node -p 'require(process.argv[1]).version' "$staged/package.json")
export VERSION
date=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%dT%H:%M:%SZ)

# Documents have their own place; what says who wrote the parts is with them.
cp -a "$staged" "$temp/tree"
mkdir "$temp/doc"
for name in README.md docs; do mv "$temp/tree/$name" "$temp/doc/"; done
rm "$temp/tree/CHANGELOG.md" "$temp/tree/LICENSE"
mv "$temp/tree/THIRD-PARTY-LICENCES.txt" "$temp/doc/"
# The Node.js that the package depends on, not the first one of somebody's PATH.
sed -i '1s,.*,#!/usr/bin/node,' "$temp/tree/bin/netgloss.js"
cp "$here/linux/copyright" "$temp/doc/copyright"
gzip -9nc "$staged/CHANGELOG.md" >"$temp/doc/changelog.gz"
cat >"$temp/changelog.yaml" <<END
- semver: $VERSION-1
  date: $date
  packager: netgloss authors <netgloss@netgloss.example>
  deb:
    urgency: medium
    distributions: [stable]
  changes:
    - note: "Release $VERSION: changelog.gz has what a user notices."
END
gzip -9nc "$temp/doc/docs/netgloss.1" >"$temp/netgloss.1.gz"
rm "$temp/doc/docs/netgloss.1"
mkdir "$temp/completion"
for shell in bash zsh fish; do node "$staged/bin/netgloss.js" completion $shell >"$temp/completion/$shell"; done
find "$temp/doc" -type f -exec chmod 644 {} +

export TREE=$temp/tree DOC=$temp/doc MAN=$temp/netgloss.1.gz COMPLETION=$temp/completion CHANGES=$temp/changelog.yaml
cd "$here"
# nfpm takes these as they are.
sed "s,@CHANGES@,$CHANGES,; s,@COMPRESSION@,${NETGLOSS_COMPRESSION:-xz}," nfpm.yaml >"$temp/nfpm.yaml"
for format in deb rpm; do
  nfpm package --config "$temp/nfpm.yaml" --packager $format --target "$target"
done
