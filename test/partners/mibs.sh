#!/usr/bin/env bash
# MIB modules for tests: no server. `mibs.sh --install` fills $CACHE/mibs-$VERSION with one file for each module of the IETF (out of the RFCs), IANA and keepalived (VRRPv3).
. "$(dirname "$0")/lib.sh"
VERSION=1
need apt-get
deb smistrip smistrip
deb snmptranslate snmp

# The RFCs are in Debian's part non-free; its list is kept apart from that of this machine.
fetch() {
  local work=$1 apt=$1/.apt rfcs=$1/.rfcs config
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$rfcs" "$work/.deb"
  local suite
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
  echo "deb http://deb.debian.org/debian $suite non-free" >"$apt/sources.list"
  local options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache")
  apt-get "${options[@]}" update
  (cd "$work/.deb" && apt-get "${options[@]}" download snmp-mibs-downloader && apt-get -q download keepalived)
  local package
  for package in "$work"/.deb/*.deb; do dpkg -x "$package" "$rfcs"; done
  config=$rfcs/etc/snmp-mibs-downloader
  extract() { # LIST SUFFIX FOLDER
    local file modules
    while read -r file modules; do
      [ "$file" = "#" ] && continue
      gzip -dc "$rfcs/usr/share/snmp/mibs-downloader/$3/${4:-}$file$2.gz" | tr -d '\r' | smistrip -a -d "$work" -m "$modules" -
    done <"$config/$1"
  }
  extract rfclist .txt mibrfcs rfc
  extract ianarfclist .txt mibrfcs rfc
  extract ianalist '' mibiana
  patch -d "$work" <"$config/rfcmibs.diff"
  local module
  for module in "$rfcs"/usr/share/snmp/mibs/*.txt; do cp "$module" "$work/$(basename "$module" .txt)"; done
  rm -rf "$apt" "$rfcs" "$work/.deb" "$work"/*.orig
  [ "$(ls "$work" | wc -l)" -gt 250 ]
}
once "mibs-$VERSION" fetch
say "$(ls "$CACHE/mibs-$VERSION" | wc -l) modules in $CACHE/mibs-$VERSION"
