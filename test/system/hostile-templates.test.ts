import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess } from "../support/collector-process.ts";
import { ipfix, ipfixTemplates, type PacketField } from "../../packages/testkit/index.ts";
import { until } from "../support/until.ts";

/** How much has to be freed, so that old garbage is sure to have been made. */
const freedMib = 384;
const senders = 16;
const templatesEach = 4;
const fieldsEach = 50;
const domains = 5000;
const round = 2000;
/** A busy host drops most of what is sent. */
const patienceMs = 240_000;
/** What a receive buffer of an ordinary host takes. */
const burst = 40;
const mib = 1024 * 1024;

const fieldBytes = 8;
const form: PacketField[] = Array.from({ length: fieldsEach }, (_, k) => ({ pen: 99, id: k + 1, length: 4 }));
const datagram = ipfix([
  ipfixTemplates(...Array.from({ length: templatesEach }, (_, j) => ({ id: 256 + j, fields: form }))),
]);

/** No two templates are alike, for the collector shares the plans of those that are. */
function hostile(i: number): Buffer {
  const bytes = Buffer.from(datagram);
  bytes.writeUInt32BE((i * 13) % domains, 12);
  for (let j = 0; j < templatesEach; j++) {
    const at = 20 + j * (4 + fieldsEach * fieldBytes);
    const n = i * templatesEach + j;
    bytes.writeUInt16BE(256 + (n % 60_000), at);
    bytes.writeUInt16BE(0x8000 + (n % 0x7fff), at + 4);
    bytes.writeUInt16BE(0x8000 + Math.floor(n / 0x7fff), at + 4 + fieldBytes);
  }
  return bytes;
}

test("a flood of templates takes little more memory than the bound of what exporters make the collector remember", async (t) => {
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_PROCESSOR_POOL_SIZE: "1",
      SVC_FLOW_DECODER_MEMORY_MAX_SIZE: "128MiB",
    },
  });
  cleanUp(t, () => collector.end("SIGKILL"));
  const sockets = await Promise.all(
    Array.from({ length: senders }, async (_, i) => {
      const socket = createSocket("udp4");
      cleanUp(t, () => socket.close());
      await new Promise<void>((resolve) => socket.bind(0, `127.0.8.${i + 1}`, resolve));
      return socket;
    }),
  );
  const resident = async (): Promise<number> => ((await collector.metric("process_resident_memory_bytes")) ?? 0) / mib;
  const before = await resident();
  const freed = async (): Promise<number> =>
    ((await collector.metric("netgloss_flow_memory_freed_bytes_total")) ?? 0) / mib;
  let sent = 0;
  await until(
    "much more was remembered than there is room for",
    async () => {
      for (const end = sent + round; sent < end; sent++) {
        sockets[sent % senders]?.send(hostile(sent), collector.flowPort, "127.0.0.1");
        if (sent % burst === 0) await setTimeout(1);
      }
      return (await freed()) > freedMib;
    },
    patienceMs,
  );
  const [held = 0, most = 0] = await collector.metrics([
    "netgloss_flow_memory_bytes",
    "netgloss_flow_memory_max_bytes",
  ]);
  assert.ok(held > 0.9 * most && held <= 1.01 * most, `${held} of ${most} bytes`);
  const grown = (await resident()) - before;
  t.diagnostic(`the collector grew by ${grown.toFixed(0)} MiB`);
  assert.ok(grown < 420, `the collector grew by ${grown.toFixed(0)} MiB`);
});
