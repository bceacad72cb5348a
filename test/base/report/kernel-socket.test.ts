import assert from "node:assert/strict";
import { test } from "node:test";
import { readKernelSockets } from "../../../src/base/report/index.ts";

const header =
  "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops";
const line = (address: string, queued: string, drops: number): string =>
  `  123: ${address} 00000000:0000 07 00000000:${queued} 00:00000000 00000000     0        0 12345 2 0000000000000000 ${drops}`;

test("drops and queues by port, of both families together", () => {
  const tables: Readonly<Record<string, string>> = {
    "/proc/net/udp": [header, line("0100007F:0807", "00000300", 7), line("00000000:0035", "00000000", 0), ""].join(
      "\n",
    ),
    "/proc/net/udp6": [
      header.replace("local_address", "local_address                        "),
      line("00000000000000000000000000000000:0807", "00000010", 5),
      "garbage",
      "",
    ].join("\n"),
  };
  const sockets = readKernelSockets((path) => tables[path]);
  assert.deepEqual(sockets && [...sockets], [
    [0x0807, { drops: 12, queued: 0x310 }],
    [0x35, { drops: 0, queued: 0 }],
  ]);
});

test("a host without such tables has no figures", () => {
  assert.equal(
    readKernelSockets(() => undefined),
    undefined,
  );
});
