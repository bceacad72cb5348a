import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Delivery, createLineRenamer, type RecordBatch, allAccepted } from "../../../src/output/index.ts";
import { ecsLowered, ecsNames } from "../../../src/record/index.ts";
import { runs } from "../../support/runs.ts";
import { until } from "../../support/until.ts";
import { deliveryOptions } from "./delivery-fixture.ts";

/** What lines become in an output whose fields have the names of ECS. */
async function renamed(lines: readonly string[], dropFields: readonly string[] = []): Promise<string[]> {
  const sent: string[] = [];
  const delivery = new Delivery({
    ...deliveryOptions({ ECS_ENABLE: true, DROP_FIELDS: dropFields, BATCH_DEADLINE: 1, BATCH_MAX_BYTES: 1 << 20 }),
    adapter: {
      open: async () => [],
      async send({ chunks }: RecordBatch) {
        sent.push(...Buffer.concat(chunks).toString().split("\n").slice(0, -1));
        return allAccepted;
      },
      close: async () => {},
    },
    instance: "abcdefghijkl",
  });
  delivery.start();
  let isDone = false;
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  delivery.add(bytes, lines.length, () => (isDone = true));
  assert.ok(isDone, "the lines are copied");
  bytes.fill(0);
  await until("all are sent", () => sent.length === lines.length);
  await delivery.stop(1000);
  return sent;
}

/** The slow way. */
function model(line: string): string {
  const used = new Set<string>();
  const pairs = Object.entries(JSON.parse(line) as object).map(([name, value]) => {
    const other = ecsNames.get(name);
    if (other === undefined || used.has(other)) return [name, value] as const;
    used.add(other);
    return [other, value] as const;
  });
  const lowered = (name: string, text: string): string =>
    ecsLowered.has(name) ? text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) : text;
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${lowered(name, JSON.stringify(value))}`).join(",")}}`;
}

test("any line has the names that the table gives, and the values that it had", async () => {
  const ownName = fc.oneof(
    fc.constantFrom(...ecsNames.keys(), "flow.src.ip.subnet.name", "flow.src.ip.addr2", "low.src.ip.addr", "n"),
    fc.string({ maxLength: 30 }),
  );
  const scalar = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom('"', "\\", '\\"', "}\n{", ",[", "Büro"),
  );
  const value = fc.oneof(
    scalar,
    fc.array(scalar, { maxLength: 3 }),
    fc.array(fc.array(scalar, { maxLength: 2 }), { maxLength: 2 }),
  );
  const line = fc
    .uniqueArray(fc.tuple(ownName, value), { maxLength: 40, selector: ([name]) => name })
    // JSON of JavaScript orders names that are numbers.
    .map(
      (pairs) =>
        `{${pairs
          .filter(([name]) => !/^\d+$/.test(name) && name !== "__proto__")
          .map(([name, of]) => `${JSON.stringify(name)}:${JSON.stringify(of)}`)
          .join(",")}}`,
    );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), async (lines) => {
      assert.deepEqual(await renamed(lines), lines.map(model));
    }),
    runs(60),
  );
});

test("fields are left out by their own names, and renamed after", async () => {
  const line =
    '{"flow.export.ip.addr":"192.0.2.1","flow.bytes":1,"flow.src.ip.addr":"192.0.2.2","system.ip.addr":"192.0.2.3"}';
  assert.deepEqual(await renamed([line], ["flow.bytes"]), [
    '{"host.ip":"192.0.2.1","source.ip":"192.0.2.2","system.ip.addr":"192.0.2.3"}',
  ]);
});

test("values are in small letters where the Elastic Common Schema wants them so", async () => {
  const line =
    '{"ip.version.name":"IPv4","l4.proto.name":"UDP","app.name":"Web \\u00C4 Ärger","flow.src.host.name":"Core-1","l4.proto.id":17}';
  assert.deepEqual(await renamed([line]), [
    '{"network.type":"ipv4","network.transport":"udp","network.application":"web \\u00c4 Ärger","source.domain":"Core-1","l4.proto.id":17}',
  ]);
});

test("names beyond those that are remembered stay, and do not disturb others", () => {
  const rename = createLineRenamer(new Map([["own", "other"]]));
  const lines = Array.from({ length: 9000 }, (_, n) => `{"of${n}":"own","own":${n}}\n`).join("");
  for (let i = 0; i < 2; i++) {
    assert.equal(Buffer.from(rename(Buffer.from(lines))).toString(), lines.replaceAll('"own":', '"other":'));
  }
});
