#!/usr/bin/env bash
# Two BGP speakers (GoBGP) in session with each other: A, AS 64512, on PORT, and B, AS 64513, on PORT+1. Their APIs are on PORT+2 (A) and PORT+3 (B).
. "$(dirname "$0")/lib.sh"
deb gobgpd gobgpd
begin
ports 4
speaker() { # file, AS, router id, own port, other AS, other port, passive
  cat >"$1" <<END
[global.config]
  as = $2
  router-id = "$3"
  port = $4
  local-address-list = ["127.0.0.1"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "127.0.0.1"
    peer-as = $5
  [neighbors.transport.config]
    remote-port = $6
    passive-mode = $7
  [neighbors.timers.config]
    connect-retry = 1
END
  local family
  for family in ipv4-unicast ipv6-unicast ipv4-flowspec ipv6-flowspec; do
    printf '  [[neighbors.afi-safis]]\n    [neighbors.afi-safis.config]\n      afi-safi-name = "%s"\n' $family >>"$1"
  done
}
speaker "$DIR/a.toml" 64512 192.0.2.1 "$PORT" 64513 $((PORT + 1)) false
speaker "$DIR/b.toml" 64513 192.0.2.2 $((PORT + 1)) 64512 "$PORT" true
run gobgpd -f "$DIR/b.toml" --api-hosts "127.0.0.1:$((PORT + 3))" --pprof-disable
await 20 gobgp -p $((PORT + 3)) global
run gobgpd -f "$DIR/a.toml" --api-hosts "127.0.0.1:$((PORT + 2))" --pprof-disable
await 20 gobgp -p $((PORT + 2)) global
established() { gobgp -p $((PORT + 2)) neighbor 127.0.0.1 | grep -q 'BGP state = ESTABLISHED'; }
await 60 established
ready "$(gobgpd --version | awk '{print $NF}')" api "http://127.0.0.1:$((PORT + 2))" receiver "$((PORT + 3))"
