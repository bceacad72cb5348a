import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { netflow9, netflow9Templates, dataSet, uint, type PacketField } from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { allRuns } from "../support/runs.ts";

interface Header {
  /** Whether it has addresses that are not zero. */
  readonly isThere: boolean;
  readonly last: number;
  readonly protocol: number;
  readonly port: number;
}

const header: fc.Arbitrary<Header> = fc.record({
  isThere: fc.boolean(),
  last: fc.integer({ min: 1, max: 255 }),
  protocol: fc.constantFrom(4, 6, 17, 41, 47),
  port: fc.integer({ min: 1, max: 65_535 }),
});

type Row = readonly [field: PacketField, value: Buffer];

function rowsOf({ isThere, last, protocol, port }: Header, isIpv6: boolean): Row[] {
  const value = (number: number, length: number): Buffer => uint(isThere ? number : 0, length);
  const length = isIpv6 ? 16 : 4;
  return [
    [{ id: isIpv6 ? 27 : 8, length }, value(last, length)],
    [{ id: isIpv6 ? 28 : 12, length }, value(last, length)],
    [{ id: 4, length: 1 }, value(protocol, 1)],
    [{ id: 7, length: 2 }, value(port, 2)],
    [{ id: 192, length: 1 }, value(last, 1)],
  ];
}

function addressOf({ last }: Header, isIpv6: boolean): string {
  return isIpv6 ? `::${last.toString(16)}` : `0.0.0.${last}`;
}

/** What the record has to say, by the rules of docs/reference/records.md. */
function expectedOf(headers: readonly Header[], isIpv6: boolean): Record<string, unknown> {
  const there = headers.map((each, level) => ({ ...each, level })).filter(({ isThere }) => isThere);
  const flow = there.at(-1);
  if (flow === undefined) return {};
  const prefixes = ["flow.outer.", "flow.middle."];
  const around = there.filter(({ level }) => level < flow.level);
  const fieldsOf = (each: Header, prefix: string): [string, unknown][] => [
    [`${prefix}src.ip.addr`, addressOf(each, isIpv6)],
    [`${prefix}dst.ip.addr`, addressOf(each, isIpv6)],
    [`${prefix === "flow." ? "" : prefix}l4.proto.id`, each.protocol],
    [`${prefix}src.l4.port.id`, each.port],
    [`${prefix}ie.ipTTL`, each.last],
  ];
  return Object.fromEntries([
    ...fieldsOf(flow, "flow."),
    ...around.flatMap((each) => fieldsOf(each, prefixes[each.level] as string)),
  ]);
}

test("of the headers that a record has, the innermost is the flow, the outermost is outer, and no value is an array", async () => {
  const twins = await createFlowTwins();
  let domain = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(header, { minLength: 2, maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      async (headers, isIpv6, isByElement) => {
        const rows = headers.map((each) => rowsOf(each, isIpv6));
        const ordered = isByElement ? (rows[0] ?? []).flatMap((_, i) => rows.map((row) => row[i] as Row)) : rows.flat();
        const template = { id: 256, fields: ordered.map(([field]) => field) };
        const set = dataSet(
          template,
          ordered.map(([, value]) => value),
        );
        domain++;
        const line = twins.send(netflow9([netflow9Templates(template), set], { domain }));
        const record = JSON.parse(line) as Record<string, unknown>;
        const expected = expectedOf(headers, isIpv6);
        for (const [name, value] of Object.entries(expected)) assert.deepEqual(record[name], value, name);
        const surplus = Object.keys(record).filter((name) => /^flow\.(outer|middle)\.(src|dst|ie)/.test(name));
        assert.deepEqual(
          surplus.filter((name) => !(name in expected)),
          [],
        );
        for (const [name, value] of Object.entries(record)) assert.ok(name.endsWith(".tags") || !Array.isArray(value));
      },
    ),
    allRuns(200),
  );
  const { records, slow } = await twins.finish();
  assert.deepEqual([records, slow], [200, {}], "the kernel writes such records by itself");
});
