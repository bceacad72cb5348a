#!/usr/bin/env bash
# Apache Kafka, one KRaft node. Ports from PORT on: 0 plaintext, 1 SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, and
# OAUTHBEARER with tokens that are not signed), 2 TLS, 3 TLS + SASL, 4 TLS that demands a client certificate,
# 5 the controller (not for clients).
# SASL user netgloss, password secret. KAFKA_PLAIN_PORT: what clients of port 0 are sent to, such as a proxy.
# KAFKA_EXTRA: a file of further broker settings (they win).
. "$(dirname "$0")/lib.sh"
VERSION=4.4.0
java_at_least 17
maven kafka-$VERSION "$HERE/kafka/pom.xml"
JARS=$CACHE/kafka-$VERSION
compile() { "$JAVA_HOME_USED/bin/javac" -cp "$JARS/*" -d "$1" "$HERE/kafka/Start.java"; }
once kafka-start-$VERSION-$(md5sum <"$HERE/kafka/Start.java" | cut -c1-8) compile
START=$CACHE/kafka-start-$VERSION-$(md5sum <"$HERE/kafka/Start.java" | cut -c1-8)
begin
ports 6
certificates
cat "$DIR/tls/server.key" "$DIR/tls/server.pem" >"$DIR/tls/server-both.pem"
L() { echo "$1://127.0.0.1:$((PORT + $2))"; }
CLIENTS=$(L PLAIN 0),$(L SASL 1),$(L TLS 2),$(L TLSSASL 3),$(L MTLS 4)
cat >"$DIR/server.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$((PORT + 5))
listeners=$CLIENTS,$(L CONTROLLER 5)
advertised.listeners=${CLIENTS/PLAIN:\/\/127.0.0.1:$PORT/PLAIN:\/\/127.0.0.1:${KAFKA_PLAIN_PORT:-$PORT}},$(L CONTROLLER 5)
listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,TLSSASL:SASL_SSL,MTLS:SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
controller.listener.names=CONTROLLER
log.dirs=$DIR/data
num.partitions=3
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.segment.bytes=67108864
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=2
background.threads=2
ssl.keystore.type=PEM
ssl.keystore.location=$DIR/tls/server-both.pem
ssl.truststore.type=PEM
ssl.truststore.location=$DIR/tls/ca.pem
listener.name.mtls.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
END
for listener in sasl tlssasl; do
  echo "listener.name.$listener.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_netgloss=\"secret\";"
  echo "listener.name.$listener.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"
  for n in 256 512; do
    echo "listener.name.$listener.scram-sha-$n.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;"
  done
done >>"$DIR/server.properties"
[ -z "${KAFKA_EXTRA:-}" ] || cat "$KAFKA_EXTRA" >>"$DIR/server.properties"
keep_running "$JAVA_HOME_USED/bin/java" -Xms128m -Xmx384m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
  -Dorg.slf4j.simpleLogger.showDateTime=true -cp "$START:$JARS/*" Start "$DIR/server.properties"
await 90 tcp "$PORT"
await 60 grep -q 'Kafka Server started' "$LOG"
ready $VERSION bootstrap 127.0.0.1:$PORT sasl 127.0.0.1:$((PORT + 1)) tls 127.0.0.1:$((PORT + 2)) \
  tlsSasl 127.0.0.1:$((PORT + 3)) mtls 127.0.0.1:$((PORT + 4)) user netgloss password secret ca "$DIR/tls/ca.pem"
