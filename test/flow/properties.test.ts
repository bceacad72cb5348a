import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fieldNames } from "../../src/flow/elements/mapping/element-names.ts";
import type { DataType, InformationElement } from "../../src/flow/elements/registry/information-element.ts";
import { knownElements } from "../../src/flow/elements/registry/registry.ts";
import { formatAddress } from "../../src/base/ip/index.ts";
import {
  dataSet,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketField,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowRig, type Json } from "../support/flow-rig.ts";
import { goldenCases } from "./golden-cases.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

/** A value as bytes on the wire and as it has to come out. */
interface Sample {
  readonly bytes: Buffer;
  readonly value: unknown;
}

const unsigned = fc
  .integer({ min: 1, max: 8 })
  .chain((length) =>
    fc.bigInt({ min: 0n, max: 2n ** BigInt(8 * length) - 1n }).map((value) => [value, length] as const),
  )
  .map(([value, length]): Sample => ({ bytes: uint(value, length), value: exact(value) }));

const signed = fc
  .integer({ min: 1, max: 8 })
  .chain((length) =>
    fc
      .bigInt({ min: -(2n ** BigInt(8 * length - 1)), max: 2n ** BigInt(8 * length - 1) - 1n })
      .map((value) => [value, length] as const),
  )
  .map(([value, length]): Sample => ({ bytes: uint(BigInt.asUintN(8 * length, value), length), value: exact(value) }));

const time = (unit: number, digits: number, length: number): fc.Arbitrary<Sample> =>
  fc.integer({ min: 0, max: 4_000_000_000 }).chain((seconds) =>
    fc.integer({ min: 0, max: unit - 1 }).map((rest) => ({
      bytes: uint(BigInt(seconds) * BigInt(unit) + BigInt(rest), length),
      value: rfc3339(seconds, rest, digits),
    })),
  );

const ntp = (digits: number): fc.Arbitrary<Sample> =>
  fc.integer({ min: 0, max: 2_000_000_000 }).chain((seconds) =>
    fc.integer({ min: 0, max: 10 ** digits - 1 }).map((rest) => {
      // Rounded up, so that a decoder that rounds to the nearest finds the same digits again.
      const fraction = (BigInt(rest) * 2n ** 32n + BigInt(10 ** digits) - 1n) / BigInt(10 ** digits);
      const bytes = Buffer.concat([uint((BigInt(seconds) + 2_208_988_800n) % 2n ** 32n, 4), uint(fraction, 4)]);
      return { bytes, value: rfc3339(seconds, rest, digits) };
    }),
  );

const address = (family: 4 | 6): fc.Arbitrary<Sample> =>
  fc.bigInt({ min: 0n, max: 2n ** (family === 4 ? 32n : 128n) - 1n }).map((value) => ({
    bytes: uint(value, family === 4 ? 4 : 16),
    value: formatAddress({ family, value }),
  }));

const octets = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((array): Sample => {
  const bytes = Buffer.from(array);
  return { bytes, value: `0x${bytes.toString("hex")}` };
});

const text = fc
  .string({ unit: anyCharacter, maxLength: 80 })
  .filter((value) => !value.endsWith("\0"))
  .map((value): Sample => ({ bytes: Buffer.from(value), value }));

/** Samples of the types that have one form only; the wide ones are read as bytes. */
const samples: Readonly<Partial<Record<DataType, fc.Arbitrary<Sample>>>> = {
  octetArray: octets,
  unsigned8: unsigned,
  unsigned16: unsigned,
  unsigned32: unsigned,
  unsigned64: unsigned,
  signed32: signed,
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    // JSON has no negative zero.
    return { bytes, value: shown(value === 0 ? 0 : value) };
  }),
  boolean: fc.boolean().map((value) => ({ bytes: uint(value ? 1 : 2, 1), value })),
  macAddress: fc.uint8Array({ minLength: 6, maxLength: 6 }).map((array) => {
    const bytes = Buffer.from(array);
    return { bytes, value: bytes.toString("hex").replaceAll(/..(?=.)/g, "$&:") };
  }),
  string: text,
  dateTimeSeconds: time(1, 0, 4),
  dateTimeMilliseconds: time(1000, 3, 8),
  dateTimeMicroseconds: ntp(6),
  dateTimeNanoseconds: ntp(9),
  ipv4Address: address(4),
  ipv6Address: address(6),
};

function exact(value: bigint): unknown {
  const isSafe = value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);
  return isSafe ? shown(Number(value)) : `${value}n`;
}

/** As the rig reads it back: long numbers as text. */
function shown(value: number): unknown {
  return /^-?[0-9]{16,}$/.test(String(value)) ? `${value}n` : value;
}

function rfc3339(seconds: number, rest: number, digits: number): string {
  const whole = new Date(seconds * 1000).toISOString().slice(0, 19);
  return digits === 0 ? `${whole}Z` : `${whole}.${String(rest).padStart(digits, "0")}Z`;
}

/** MPLS labels and packets. */
const slow = (id: number): boolean => (id >= 70 && id <= 79) || [104, 313, 315, 316, 317].includes(id);
const named = new Set(fieldNames.map(([id]) => id));
/** Elements that come out under IANA's name with their plain value, padding and sampling aside. */
const plainElements = [...knownElements()].filter(
  ({ pen, id, type }) =>
    pen === 0 && id < 0x8000 && !named.has(id) && !slow(id) && id !== 210 && samples[type] !== undefined,
);

interface SampleField {
  readonly element: InformationElement;
  readonly isVariable: boolean;
  readonly records: readonly Sample[];
}

/** The first field of every record: longer than the padding of a set, which else could look like a record. */
const lead = plainElements.find(({ type }) => type === "macAddress") as InformationElement;

/** A template of some elements, and for each this many values of one length. */
const layout = fc
  .uniqueArray(fc.constantFrom(...plainElements.filter((element) => element !== lead)), {
    minLength: 1,
    maxLength: 20,
    selector: ({ id }) => id,
  })
  .chain((elements) =>
    fc
      .integer({ min: 1, max: 4 })
      .chain((count) => fc.tuple(...[lead, ...elements].map((element) => sampleField(element, count)))),
  );

function sampleField(element: InformationElement, count: number): fc.Arbitrary<SampleField> {
  const sample = samples[element.type] as fc.Arbitrary<Sample>;
  const isVariable = element.type === "string" || element.type === "octetArray" || element.type === "basicList";
  return fc.array(sample, { minLength: count, maxLength: count }).map((records) => {
    const [first] = records as [Sample];
    // A template gives one length to all values of a field.
    const fitting = records.map((record) => (record.bytes.length === first.bytes.length ? record : first));
    return { element, isVariable, records: isVariable ? records : fitting };
  });
}

for (const protocol of ["netflow9", "ipfix"] as const) {
  test(`${protocol}: what a random template and its values encode to decodes to the values`, () => {
    fc.assert(
      fc.property(layout, (columns) => {
        const template: PacketTemplate = {
          id: 256,
          fields: columns.map(({ element, isVariable, records }): PacketField => {
            return { id: element.id, length: isVariable ? "variable" : (records[0]?.bytes.length ?? 0) };
          }),
        };
        const count = columns[0]?.records.length ?? 0;
        const rows = Array.from({ length: count }, (_, i) => columns.map(({ records }) => records[i] as Sample));
        const data = dataSet(template, ...rows.map((row) => row.map(({ bytes }) => bytes)));
        const datagram =
          protocol === "ipfix"
            ? ipfix([ipfixTemplates(template), data])
            : netflow9([netflow9Templates(template), data]);
        const decoded = createFlowRig().send(datagram);
        assert.equal(decoded.length, count);
        rows.forEach((row, r) => {
          row.forEach(({ value }, c) => {
            const name = `flow.ie.${columns[c]?.element.name ?? ""}`;
            assert.deepEqual((decoded[r] as Json)[name], value, name);
          });
        });
      }),
      runs(120),
    );
  });
}

/** Datagrams of the golden cases, for those that follow to be broken. */
const real = goldenCases.flatMap(([, datagrams]) =>
  datagrams.map((datagram) => ("bytes" in datagram ? datagram.bytes : datagram)),
);

interface Mutation {
  readonly at: number;
  readonly bytes: Uint8Array;
}

function mutate(datagram: Buffer, mutations: readonly Mutation[], keep: number): Buffer {
  const broken = Buffer.from(datagram);
  for (const { at, bytes } of mutations)
    broken.set(bytes.subarray(0, Math.max(0, broken.length - at)), Math.min(at, broken.length));
  return broken.subarray(0, Math.max(0, broken.length - keep));
}

const mutatedDatagram = fc
  .tuple(
    fc.constantFrom(...real),
    fc.array(
      fc.record({
        at: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 300 })),
        bytes: fc.oneof(
          fc.uint8Array({ minLength: 1, maxLength: 4 }),
          fc.constant(Uint8Array.of(0xff, 0xff)),
          fc.constant(Uint8Array.of(0, 0)),
        ),
      }),
      { maxLength: 6 },
    ),
    fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 60 })),
  )
  .map(([datagram, mutations, cut]) => mutate(datagram, mutations, cut));

const randomDatagram = fc
  .tuple(fc.constantFrom("0001", "0005", "0007", "0009", "000a", "00000005", ""), fc.uint8Array({ maxLength: 200 }))
  .map(([version, rest]) => Buffer.concat([Buffer.from(version, "hex"), rest]));

test("whatever the bytes: no error, no more records than bytes, memory within its bounds, and others are not hurt", async () => {
  const limits = {
    exporters: 8,
    domains: 4,
    templates: 20,
    fields: 400,
    waitingBytes: 4096,
    waitingBytesInAll: 10_000,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(
          fc.oneof(mutatedDatagram, randomDatagram),
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 1, max: 3 }),
        ),
        { minLength: 1, maxLength: 40 },
      ),
      async (sent) => {
        const rig = createFlowRig({ limits, communityId: true });
        const template: PacketTemplate = { id: 256, fields: [{ id: 1, length: 4 }] };
        rig.send(netflow9([netflow9Templates(template)]), { address: "192.0.2.200" });
        for (const [datagram, host, port] of sent) {
          const records = rig.send(datagram, { address: `192.0.2.${host}`, port });
          assert.ok(records.length <= datagram.length + limits.waitingBytes);
        }
        rig.pipeline.tidy();
        assert.deepEqual(
          rig.log.filter(({ level }) => level === "error"),
          [],
        );
        assert.ok((await rig.value("netgloss_flow_waiting_bytes")) <= limits.waitingBytesInAll);
        assert.ok((await rig.value("netgloss_flow_templates")) <= limits.exporters * limits.templates);
        const good = rig.send(netflow9([dataSet(template, [uint(9, 4)])]), { address: "192.0.2.200" });
        assert.equal(good[0]?.["flow.bytes"], 9);
      },
    ),
    runs(60),
  );
});

test("every record has each name once and none that is also the group of another", () => {
  fc.assert(
    fc.property(fc.array(mutatedDatagram, { maxLength: 20 }), (datagrams) => {
      const rig = createFlowRig();
      for (const datagram of datagrams) {
        for (const record of rig.send(datagram)) {
          const names = Object.keys(record);
          const all = new Set(names);
          for (const name of names) {
            for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
              assert.ok(!all.has(name.slice(0, dot)), `${name.slice(0, dot)} and ${name}`);
            }
          }
        }
      }
    }),
    runs(100),
  );
});
