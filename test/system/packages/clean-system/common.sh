# Shared by the scripts next to it, which run as root inside a clean system that systemd has booted. /mnt/test has the packages.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
api=http://127.0.0.1:8080

say() { echo "== $*"; }
die() {
  echo "FAILED: $*"
  tail -n 2 /var/lib/netgloss/flows.ndjson || true
  systemctl status --no-pager netgloss.service || true
  journalctl --no-pager -u netgloss.service | tail -n 40 || true
  exit 1
}
expect() { # expect WHAT COMMAND...: waits for it
  local what=$1 try
  shift
  for try in $(seq 150); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.2
  done
  die "$what: $*"
}
active() { systemctl is-active --quiet netgloss.service; }
ready() { curl -sf "$api/readyz"; }
main_pid() { systemctl show -p MainPID --value netgloss.service; }
status_text() { systemctl show -p StatusText --value netgloss.service; }
has_status() { [[ $(status_text) == "$1"* ]]; }
# One flow of 10.1.2.3 by NetFlow v5.
send_flow() {
  node -e '
    const b = Buffer.alloc(72);
    b.writeUInt16BE(5, 0); b.writeUInt16BE(1, 2); b.writeUInt32BE(Date.now() / 1000, 8);
    b.set([10, 1, 2, 3], 24); b.set([192, 0, 2, 1], 28); b.writeUInt32BE(3, 40); b.writeUInt32BE(1500, 44); b[62] = 6;
    const s = require("dgram").createSocket("udp4");
    s.send(b, 2055, "127.0.0.1", () => s.close());'
}
