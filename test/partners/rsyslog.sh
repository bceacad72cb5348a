#!/usr/bin/env bash
# rsyslog: RFC 5424 on PORT (TCP and UDP) and PORT+1 (TLS). Messages are lines of the file named in the line printed.
. "$(dirname "$0")/lib.sh"
deb rsyslogd rsyslog
deb '/usr/lib/*/rsyslog/lmnsd_ossl.so' rsyslog-openssl
VERSION=$(rsyslogd -v | sed -n '1s/^rsyslogd *\([^ ]*\).*/\1/p')
begin
ports 2
certificates
cat >"$DIR/rsyslog.conf" <<END
global(workDirectory="$DIR" maxMessageSize="64k"
  defaultNetstreamDriverCAFile="$DIR/tls/ca.pem"
  defaultNetstreamDriverCertFile="$DIR/tls/server.pem"
  defaultNetstreamDriverKeyFile="$DIR/tls/server.key")
module(load="imudp")
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon")
module(load="imptcp")
input(type="imudp" address="127.0.0.1" port="$PORT")
input(type="imptcp" address="127.0.0.1" port="$PORT")
input(type="imtcp" address="127.0.0.1" port="$((PORT + 1))")
template(name="whole" type="string" string="%rawmsg%\n")
action(type="omfile" file="$DIR/messages" template="whole" flushOnTXEnd="on" asyncWriting="off")
END
run /usr/sbin/rsyslogd -n -f "$DIR/rsyslog.conf" -i "$DIR/pid"
await 20 tcp "$PORT"
await 20 tcp "$((PORT + 1))"
ready "$VERSION" tcp 127.0.0.1:$PORT tls 127.0.0.1:$((PORT + 1)) ca "$DIR/tls/ca.pem" file "$DIR/messages"
