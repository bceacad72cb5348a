import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  compileFilter,
  parseFilter,
  recordVocabulary,
  readLine,
  type Enricher,
  type RecordFields,
} from "../../src/record/index.ts";
import { createFlowRig } from "../support/flow-rig.ts";
import { runs } from "../support/runs.ts";
import { goldenCases } from "./golden-cases.ts";

/** Every datagram of the golden cases, each case from an exporter of its own. */
const datagrams = goldenCases.flatMap(([, sent], position) =>
  sent.map((one) => ({
    bytes: Buffer.isBuffer(one) ? one : one.bytes,
    address: `10.9.${position >> 8}.${position & 255}`,
  })),
);

interface Outcome {
  readonly lines: readonly string[];
  /** The metrics that filters change and must not change. */
  readonly dropped: number;
  readonly records: number;
}

async function outcomeOf(filter: string | undefined, enricher?: Enricher): Promise<Outcome> {
  const lines: string[] = [];
  const rig = createFlowRig({
    ...(enricher !== undefined && { enricher }),
    ...(filter !== undefined && { filter: parseFilter(filter, "test", recordVocabulary) }),
    sink: {
      write(bytes, count) {
        const pieces = Buffer.from(bytes).toString().trimEnd().split("\n");
        assert.equal(pieces.length, count);
        lines.push(...pieces);
      },
    },
  });
  for (const { bytes, address } of datagrams) rig.pipeline.process(bytes, address, 50_000);
  const counts = await rig.counts();
  const records = Object.entries(counts).filter(([name]) => /^(?:|options_|counters_)records_total/.test(name));
  return {
    lines,
    dropped: counts["filtered_records_total"] ?? 0,
    records: records.reduce((sum, [, count]) => sum + count, 0),
  };
}

const recordOf = (line: string): RecordFields => {
  const bytes = Buffer.from(line);
  return readLine(bytes, 0, bytes.length - 1);
};

/** Holds a filter in the pipeline against the same filter over the records of a pipeline without one. */
async function check(filter: string, all: Outcome, enricher?: Enricher): Promise<void> {
  const matches = compileFilter(parseFilter(filter, "test", recordVocabulary));
  const got = await outcomeOf(filter, enricher);
  assert.deepEqual(
    got.lines,
    all.lines.filter((line) => matches(recordOf(line))),
    filter,
  );
  assert.deepEqual([got.dropped, got.records], [all.lines.length - got.lines.length, all.records], filter);
}

const term = fc.oneof(
  fc
    .constantFrom("src", "dst", "addr")
    .chain((name) =>
      fc
        .uniqueArray(
          fc.constantFrom(
            "192.0.2.0/24",
            "198.51.100.2",
            "10.0.0.0-10.0.0.255",
            "2001:db8::/32",
            "2001:db8::2-2001:db8::9",
            "::ffff:192.0.2.1",
            "0.0.0.0/0",
            "::/0",
            "203.0.113.0/24",
          ),
          { minLength: 1, maxLength: 5 },
        )
        .map((keys) => `${name} in (${keys.join(", ")})`),
    ),
  fc
    .tuple(
      fc.constantFrom("port", "dst.port", "bytes", "packets", "proto", "in.if", "out.if", "tcp.flags.bits"),
      fc.constantFrom("=", "!=", "<", "<=", ">", ">="),
      fc.constantFrom(
        "0",
        "1",
        "6",
        "17",
        "24",
        "53",
        "443",
        "1500",
        "1.5",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
      ),
    )
    .map((parts) => parts.join(" ")),
  fc.constantFrom(
    "port in (53, 443, 1000-50000)",
    "bytes in (0-10, 5-1500, 9000)",
    "proto in (tcp, udp)",
    "in.if exists",
    "src not exists",
  ),
  // What the kernel does not keep, so that the line decides.
  fc.constantFrom(
    "l4.proto.name = TCP",
    "src.mac exists",
    "type = counters",
    "flow.sampling.assumed = true",
    "dst.vlan > 1",
  ),
);

const { filter: anyFilter } = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    term,
    tie("filter").map((inner) => `not (${inner})`),
    fc.array(tie("filter"), { minLength: 2, maxLength: 3 }).map((all) => all.map((one) => `(${one})`).join(" and ")),
    fc.array(tie("filter"), { minLength: 2, maxLength: 3 }).map((all) => all.map((one) => `(${one})`).join(" or ")),
  ),
}));

test("a filter drops the same records before their lines are written as it does of written lines", async () => {
  const all = await outcomeOf(undefined);
  assert.ok(all.lines.length > 300, `${all.lines.length} lines`);
  await fc.assert(
    fc.asyncProperty(anyFilter, (filter) => check(filter, all)),
    runs(12),
  );
});

test("a filter drops records that become fields, with what enrichment adds to them", async () => {
  const enricher: Enricher = {
    enrich(record) {
      if (record.get("flow.dst.l4.port.id") === 443) record.set("flow.dst.ip.subnet.tags", ["web"]);
    },
  };
  const all = await outcomeOf(undefined, enricher);
  assert.ok(all.lines.some((line) => line.includes('"web"')));
  await check("dst.tag = web and bytes > 0", all, enricher);
  await check("dst.tag != web", all, enricher);
  await check("port = 443 or type exists", all, enricher);
});

test("a filter of many addresses, and one of more terms than the kernel has memory for, drop the same records", async () => {
  const all = await outcomeOf(undefined);
  const many = Array.from({ length: 3000 }, (_, i) => `172.${16 + (i >> 12)}.${(i >> 4) & 255}.${(i & 15) * 16}`);
  await check(`not addr in (${many.join(", ")}, 192.0.2.0/24)`, all);
  await check(`${"port=1||".repeat(8000)}dst in 198.51.100.0/24`, all);
});
