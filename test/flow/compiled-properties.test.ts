import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fieldNames } from "../../src/flow/elements/mapping/element-names.ts";
import { knownElements } from "../../src/flow/elements/registry/registry.ts";
import { renderFields, type Enricher } from "../../src/record/index.ts";
import {
  encodeRecord,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  type PacketField,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { allRuns } from "../support/runs.ts";

const natural: Readonly<Record<string, number>> = {
  unsigned8: 1,
  unsigned16: 2,
  unsigned32: 4,
  unsigned64: 8,
  ipv4Address: 4,
  ipv6Address: 16,
  macAddress: 6,
  dateTimeSeconds: 4,
  dateTimeMilliseconds: 8,
  dateTimeMicroseconds: 8,
  dateTimeNanoseconds: 8,
  float64: 8,
  boolean: 1,
};
const elements = [...knownElements()];
const named = new Set(fieldNames.map(([id]) => id));
const naturalLength = (id: number, pen: number): number =>
  natural[elements.find((element) => element.id === id && element.pen === pen)?.type ?? ""] ?? 5;

const anyElement = fc.oneof(
  // What traffic has: our own names, each in its natural length.
  { weight: 12, arbitrary: fc.constantFrom(...named).map((id) => ({ id, pen: 0, length: naturalLength(id, 0) })) },
  {
    weight: 5,
    arbitrary: fc
      .constantFrom(1, 2, 4, 6, 7, 8, 10, 11, 12, 14, 21, 22, 27, 28, 32, 58, 60, 61, 152, 176)
      .map((id) => ({
        id,
        pen: 0,
        length: naturalLength(id, 0),
      })),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(34, 48, 50, 302, 305, 306, 309, 310, 311, 160, 210).map((id) => ({
      id,
      pen: 0,
      length: naturalLength(id, 0),
    })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...elements).map(({ id, pen }) => ({ id, pen, length: naturalLength(id, pen) })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      id: fc.integer({ min: 1, max: 32_767 }),
      pen: fc.constantFrom(0, 9, 29_305, 65_000),
      length: fc.constant(3),
    }),
  },
);

const field = (dialect: "netflow9" | "ipfix"): fc.Arbitrary<PacketField> =>
  fc
    .tuple(
      anyElement,
      fc.oneof(
        { weight: 12, arbitrary: fc.constant(undefined) },
        { weight: 2, arbitrary: fc.integer({ min: 0, max: 20 }) },
        { weight: 1, arbitrary: fc.constant("variable" as const) },
      ),
    )
    .map(([{ id, pen, length }, other]) => {
      const own = other ?? length;
      return pen === 0 || dialect === "netflow9" ? { id, length: own } : { id: id % 0x8000, length: own, pen };
    });

/** Bytes that are often those of ordinary values, and often zero. */
const value = (length: number): fc.Arbitrary<Buffer> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(Buffer.alloc(length)) },
    {
      weight: 3,
      arbitrary: fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes)),
    },
    {
      weight: 3,
      arbitrary: fc
        .oneof(fc.nat(300), fc.nat(0xffff), fc.nat(), fc.integer({ min: 1_699_990_000_000, max: 1_700_000_500_000 }))
        .map((number) => (length === 0 ? Buffer.alloc(0) : uint(BigInt(number) % 256n ** BigInt(length), length))),
    },
    { weight: 1, arbitrary: fc.constant(Buffer.from("GigabitEthernet0/1".padEnd(length, "\0").slice(0, length))) },
    {
      weight: 1,
      arbitrary: fc
        .constant(
          Buffer.from("::ffff".length > length ? "" : "00000000000000000000ffff0a000001", "hex").subarray(0, length),
        )
        .map((bytes) => Buffer.concat([bytes, Buffer.alloc(length - bytes.length)])),
    },
    {
      weight: 1,
      arbitrary: fc
        .constant(Buffer.from([10, 0, 0, 1].slice(0, length)))
        .map((bytes) => Buffer.concat([bytes, Buffer.alloc(length - bytes.length)])),
    },
  );

interface Sent {
  readonly dialect: "netflow9" | "ipfix";
  readonly template: PacketTemplate;
  readonly records: readonly (readonly Buffer[])[];
  readonly cut: number;
  readonly padding: number;
  readonly header: {
    readonly seconds: number;
    readonly uptime: number;
    readonly sequence: number;
    readonly domain: number;
  };
}

const sent = fc.constantFrom("netflow9" as const, "ipfix" as const).chain((dialect) =>
  fc.array(field(dialect), { minLength: 1, maxLength: 24 }).chain((fields) =>
    fc.record<Sent>({
      dialect: fc.constant(dialect),
      template: fc.constant({ id: 300, fields }),
      records: fc.array(
        fc.tuple(
          ...fields.map(({ length }) =>
            length === "variable" ? fc.oneof(fc.nat(8), fc.constantFrom(0, 254, 255, 300)).chain(value) : value(length),
          ),
        ),
        { maxLength: 4 },
      ),
      cut: fc.constantFrom(0, 0, 0, 1, 5),
      padding: fc.constantFrom(0, 0, 1, 3),
      header: fc.record({
        seconds: fc.oneof(fc.constant(1_700_000_000), fc.nat(0xffff_ffff)),
        uptime: fc.nat(0xffff_ffff),
        sequence: fc.nat(0xffff_ffff),
        domain: fc.nat(2),
      }),
    }),
  ),
);

/** Templates of options: a rate by sampler, by interface, of the domain; the name of an interface; the exporter's start. */
const options = fc
  .record({
    kind: fc.constantFrom("sampler", "netif", "domain", "name", "app", "boot"),
    key: fc.nat(3),
    rate: fc.constantFrom(0, 1, 100, 1000, 0xffff_ffff),
    domain: fc.nat(2),
  })
  .map(({ kind, key, rate, domain }) => {
    const scope = { id: 144, length: 4 };
    const [fields, values]: [PacketField[], Buffer[]] =
      kind === "sampler"
        ? [
            [scope, { id: 302, length: 2 }, { id: 34, length: 4 }],
            [uint(1, 4), uint(key, 2), uint(rate, 4)],
          ]
        : kind === "netif"
          ? [
              [scope, { id: 10, length: 2 }, { id: 34, length: 4 }],
              [uint(1, 4), uint(key, 2), uint(rate, 4)],
            ]
          : kind === "name"
            ? [
                [scope, { id: 10, length: 2 }, { id: 82, length: 8 }],
                [uint(1, 4), uint(key, 2), Buffer.from("eth0/ü\0")],
              ]
            : kind === "app"
              ? [
                  [scope, { id: 95, length: 4 }, { id: 96, length: 8 }],
                  [uint(1, 4), uint(key, 4), Buffer.from("app name")],
                ]
              : kind === "boot"
                ? [
                    [scope, { id: 160, length: 8 }],
                    [uint(1, 4), uint(1_699_999_000_000 + rate, 8)],
                  ]
                : [
                    [scope, { id: 34, length: 4 }],
                    [uint(1, 4), uint(rate, 4)],
                  ];
    const template: PacketTemplate = { id: 400, fields, scopeCount: 1 };
    const set = packetSet(400, encodeRecord(template, values));
    return ipfix([ipfixTemplates(template), set], { domain });
  });

const metadata = fc
  .uniqueArray(
    fc.record({
      key: fc.constantFrom("10.0.0.1", "0.0.0.0/0", "::/0", "0.0.0.0", "192.0.2.254", "10.0.0.0/8"),
      name: fc.constantFrom("", "net", 'a"ü'),
      vlan: fc.constantFrom(0n, 7n),
      metadata: fc.constantFrom({}, { ".site": "x" }, { tenant: "t" }, { ".ip.addr": "no" }),
    }),
    { selector: ({ key }) => key, maxLength: 3 },
  )
  .map((entries) => entries.map(({ key, ...values }) => udmEntry(key, values)));

function encode({ dialect, template, records, cut, padding, header }: Sent): Buffer {
  const content = Buffer.concat(records.map((record) => encodeRecord(template, record)));
  const body = Buffer.concat([content.subarray(0, Math.max(0, content.length - cut)), Buffer.alloc(padding)]);
  const data = packetSet(template.id, body, { pad: false });
  return dialect === "ipfix"
    ? ipfix([ipfixTemplates(template), data], header)
    : netflow9([netflow9Templates(template), data], header);
}

/** Names of two interfaces, as SNMP gives them. */
function netifNames(): Enricher {
  const names = new Map([
    [1, "lan"],
    [2, "x".repeat(1100)],
  ]);
  const fields = (["flow.in.netif", "flow.out.netif"] as const).map(
    (object) => [`${object}.index`, `${object}.name`] as const,
  );
  return {
    enrich(record) {
      for (const [index, name] of fields) {
        const number = record.get(index);
        const text = typeof number === "number" ? names.get(number) : undefined;
        if (text !== undefined && !record.has(name)) record.set(name, text);
      }
    },
    lines: {
      begin() {},
      numbers: fields.map(([index, name]) => ({
        field: index,
        adds: [name],
        tableFor: () => new Map(Array.from(names, ([number, text]) => [number, renderFields([[name, text]])] as const)),
        added() {},
      })),
      addresses: [],
    },
  };
}

test("whatever the templates, bytes, options and metadata: the kernel writes what the model says", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          { weight: 6, arbitrary: sent },
          { weight: 1, arbitrary: options },
          { weight: 1, arbitrary: fc.record({ metadata }) },
        ),
        { minLength: 1, maxLength: 6 },
      ),
      fc.constantFrom(undefined, 7, 1.5),
      fc.boolean(),
      async (steps, manualRate, hasNames) => {
        const twins = await createFlowTwins({
          samplingRates: new Map(manualRate === undefined ? [] : [["192.0.2.254", manualRate]]),
          ...(hasNames && { more: () => [netifNames()] }),
        });
        for (const step of steps) {
          if (Buffer.isBuffer(step)) twins.send(step);
          else if ("metadata" in step) twins.setMetadata(step.metadata);
          else twins.send(encode(step));
        }
        const { slow } = await twins.finish();
        for (const [reason, count] of Object.entries(slow)) seen.set(reason, (seen.get(reason) ?? 0) + count);
      },
    ),
    allRuns(50),
  );
  const missing = ["value", "repeated", "estimate", "enrichment"].filter((reason) => !seen.has(reason));
  assert.deepEqual(missing, []);
});
