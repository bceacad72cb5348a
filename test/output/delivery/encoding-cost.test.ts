// What encoders search of a batch, counted in bytes: fields that lines have not must not cost more with each line that follows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { adapterOf } from "../adapter-fixture.ts";
import type { OutputAdapter } from "../../../src/output/index.ts";
import { startHttpServer } from "../http/http-fixture.ts";
import { batchOf } from "./batch-fixture.ts";
import { numberedFlow } from "./output-contract.ts";

const signal = new AbortController().signal;
const absent = ["system.ip.addr", "flow.src.ip.subnet.name"];

const adapters: Readonly<Record<string, (url: string) => OutputAdapter>> = {
  otlp: (url) => adapterOf("OTLP", { ADDRESSES: [url], ATTRIBUTE_FIELDS: absent }),
  loki: (url) => adapterOf("LOKI", { ADDRESSES: [url], LABEL_FIELDS: absent }),
  splunk: (url) => adapterOf("SPLUNK_HEC", { ADDRESSES: [url], CIM_ENABLE: true }),
};

/** Bytes that are searched while a batch of flows is sent, for each byte of it. */
async function searchedBy(adapter: OutputAdapter, records: number, count: { bytes: number }): Promise<number> {
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
  for (const [kind, adapterTo] of Object.entries(adapters)) {
    const url = `http://127.0.0.1:${server.port}`;
    const [few, many] = [await searchedBy(adapterTo(url), 10, count), await searchedBy(adapterTo(url), 1000, count)];
    assert.ok(many > 1, `${kind} searches by this function`);
    assert.ok(many < 1.5 * few, `${kind}: ${few} bytes for each byte of 10 records, ${many} for 1000`);
  }
});
