// Sends traps of version 2c from many sockets, as a storm of many devices does, at a rate; answers how many were sent.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { encodeCommunityMessage } from "../../src/snmp/session/message-codec.ts";
import { oidOf } from "../../test/support/snmp-agent/index.ts";

export interface StormOrder {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
}

const trap = (index: number): Uint8Array =>
  encodeCommunityMessage(1, Buffer.from("public"), {
    type: "trap",
    requestId: index,
    errorStatus: 0,
    errorIndex: 0,
    varbinds: [
      { oid: oidOf("1.3.6.1.2.1.1.3.0"), type: "TimeTicks", value: 1234 },
      { oid: oidOf("1.3.6.1.6.3.1.1.4.1.0"), type: "ObjectIdentifier", value: oidOf("1.3.6.1.6.3.1.1.5.3") },
      { oid: oidOf(`1.3.6.1.2.1.2.2.1.1.${index}`), type: "Integer32", value: index },
      { oid: oidOf(`1.3.6.1.2.1.2.2.1.7.${index}`), type: "Integer32", value: 1 },
      { oid: oidOf(`1.3.6.1.2.1.2.2.1.8.${index}`), type: "Integer32", value: 2 },
    ],
  });
const traps = Array.from({ length: 48 }, (_, i) => trap(i + 1));
const sockets = await Promise.all(
  Array.from({ length: 200 }, async (_, i) => {
    const socket = createSocket("udp4");
    socket.bind(0, `127.17.0.${i + 1}`);
    await once(socket, "listening");
    return socket;
  }),
);

process.on("message", ({ port, perSecond, seconds }: StormOrder) => {
  const start = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const elapsed = Math.min(seconds, (performance.now() - start) / 1000);
    for (const due = elapsed * perSecond; sent < due; sent++)
      sockets[sent % sockets.length]?.send(traps[sent % traps.length] as Uint8Array, port, "127.0.0.1");
    if (elapsed < seconds) return;
    clearInterval(timer);
    setTimeout(() => process.send?.({ sent }), 500);
  }, 1);
});
process.on("disconnect", () => process.exit());
