// What encoders search of a batch, counted in bytes: fields that lines have not must not cost more with each line that follows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdapter, type StoreConfig } from "../../../src/output/index.ts";
import { systemClock } from "../../../src/base/report/index.ts";
import { postConfig, startHttpServer } from "../http/http-fixture.ts";
import { batchOf } from "./batch-fixture.ts";
import { numberedFlow } from "./output-contract.ts";

const signal = new AbortController().signal;
const absent = ["system.ip.addr", "flow.src.ip.subnet.name"];

const configs = (url: string): StoreConfig[] => [
  { kind: "otlp", ...postConfig(url), attributeFields: absent },
  { kind: "loki", ...postConfig(url), labelFields: absent },
  {
    kind: "splunk",
    ...postConfig(url),
    format: "event",
    index: "",
    source: "",
    sourcetype: "netgloss",
    hasCimFields: true,
  },
];

/** Bytes that are searched while a batch of flows is sent, for each byte of it. */
async function searchedBy(config: StoreConfig, records: number, count: { bytes: number }): Promise<number> {
  const adapter = createAdapter(config, { clock: systemClock });
  await adapter.open(signal);
  const batch = batchOf(Array.from({ length: records }, (_, n) => numberedFlow(n)));
  count.bytes = 0;
  await adapter.send(batch, signal);
  const searched = count.bytes / batch.byteLength;
  await adapter.close();
  return searched;
}

test("what a record costs an encoder does not grow with its batch", async (t) => {
  const server = await startHttpServer(t);
  server.answer = (_, response) => response.end('{"text":"Success","code":0}');
  const count = { bytes: 0 };
  // eslint-disable-next-line typescript/unbound-method -- it is called with its own object below
  const { indexOf } = Buffer.prototype;
  t.mock.method(Buffer.prototype, "indexOf", function (this: Buffer, ...args: Parameters<typeof indexOf>) {
    const found = indexOf.apply(this, args);
    const from = typeof args[1] === "number" ? args[1] : 0;
    count.bytes += (found < 0 ? this.length : found) - from;
    return found;
  });
  for (const config of configs(`http://127.0.0.1:${server.port}`)) {
    const [few, many] = [await searchedBy(config, 10, count), await searchedBy(config, 1000, count)];
    assert.ok(many > 1, `${config.kind} searches by this function`);
    assert.ok(many < 1.5 * few, `${config.kind}: ${few} bytes for each byte of 10 records, ${many} for 1000`);
  }
});
