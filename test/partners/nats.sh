#!/usr/bin/env bash
# NATS server with JetStream. PORT: clients without a password; PORT+1: monitoring over HTTP.
# NATS_EXTRA: a file with further settings. NATS_TLS=1: TLS is demanded on PORT, and the user netgloss with the password secret. NATS_MTLS=1: also a client certificate.
. "$(dirname "$0")/lib.sh"
VERSION=2.15.2
need curl
go_tool nats-server-$VERSION github.com/nats-io/nats-server/v2@v$VERSION
begin
ports 2
{
  echo "listen: 127.0.0.1:$PORT"
  echo "http: 127.0.0.1:$((PORT + 1))"
  echo "jetstream { store_dir: \"$DIR/data\", max_memory_store: 256MB, max_file_store: 8GB }"
  if [ -n "${NATS_TLS:-}${NATS_MTLS:-}" ]; then
    certificates
    verify=false; [ -z "${NATS_MTLS:-}" ] || verify=true
    echo "tls { cert_file: \"$DIR/tls/server.pem\", key_file: \"$DIR/tls/server.key\", ca_file: \"$DIR/tls/ca.pem\", verify: $verify }"
    echo 'authorization { user: netgloss, password: secret }'
  fi
  [ -z "${NATS_EXTRA:-}" ] || cat "$NATS_EXTRA"
} >"$DIR/nats.conf"
keep_running "$CACHE/nats-server-$VERSION/nats-server" -c "$DIR/nats.conf"
await 20 http "http://127.0.0.1:$((PORT + 1))/healthz"
if [ -n "${NATS_TLS:-}${NATS_MTLS:-}" ]; then
  ready $VERSION url tls://127.0.0.1:$PORT user netgloss password secret ca "$DIR/tls/ca.pem" \
    cert "$DIR/tls/client.pem" key "$DIR/tls/client.key" monitor http://127.0.0.1:$((PORT + 1))
else ready $VERSION url nats://127.0.0.1:$PORT monitor http://127.0.0.1:$((PORT + 1)); fi
