import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  encodeRecord,
  hex,
  ipfix,
  ipfixTemplates,
  packetSet,
  uint,
  type PacketField,
  type PacketTemplate,
  ethernet,
  ipv4Packet,
  ipv6Packet,
  tcp,
  udp,
} from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { runs } from "../support/runs.ts";
import { udmEntry } from "../support/udm-entry.ts";

const vxlan = (inner: Buffer): Buffer => Buffer.concat([hex("0800000000002a00"), inner]);
const frames: readonly Buffer[] = [
  ethernet(0x0800, ipv4Packet(tcp(0x12))),
  ethernet(0x0800, ipv4Packet(tcp(0))),
  ethernet(0x0800, ipv4Packet(udp(53)), "8100a064"),
  ethernet(0x0800, ipv4Packet(udp(53)), "88a82064810060c8"),
  ethernet(0x86dd, ipv6Packet(6, tcp(0x18))),
  ethernet(0x0800, ipv4Packet(udp(4789, vxlan(ethernet(0x0800, ipv4Packet(tcp(2))))))),
  ethernet(0x0800, ipv4Packet(udp(4789, vxlan(ethernet(0x86dd, ipv6Packet(17, udp(1))))))),
  ethernet(0x8847, Buffer.concat([hex("0001203f0002313f"), ipv4Packet(tcp(16))])),
  ethernet(0x0806, hex("0001080006040001")),
  ipv4Packet(tcp(0x12)),
  ipv6Packet(58, hex("800012340000")),
  hex("0001203f0002313f"),
  hex("45"),
  hex("00"),
];
const packet = fc
  .record({ frame: fc.constantFrom(...frames), cut: fc.constantFrom(0, 0, 0, 1, 12, 30), flip: fc.option(fc.nat(400)) })
  .map(({ frame, cut, flip }) => {
    const bytes = Buffer.from(frame.subarray(0, Math.max(0, frame.length - cut)));
    if (flip !== null && flip >> 3 < bytes.length) bytes[flip >> 3] = (bytes[flip >> 3] as number) ^ (1 << (flip & 7));
    return bytes;
  });

/** Elements that packets say something of, too, and others, each with a usual length. */
const elements: readonly (readonly [id: number, length: number])[] = [
  ...[1, 2, 8, 12, 10, 14, 16, 17, 15, 21, 22, 31, 312, 408, 224].map((id) => [id, 4] as const),
  ...[4, 5, 6, 60, 61, 89, 136, 139, 192, 195, 176, 177, 64, 196].map((id) => [id, 1] as const),
  ...[7, 11, 32, 58, 59, 243, 244, 245, 256, 312, 204, 54, 88, 408].map((id) => [id, 2] as const),
  ...[27, 28].map((id) => [id, 16] as const),
  ...[56, 80, 57, 81].map((id) => [id, 6] as const),
  ...[70, 71].map((id) => [id, 3] as const),
  ...[152, 154, 156, 323].map((id) => [id, 8] as const),
  ...[82, 83, 371].map((id) => [id, 5] as const),
];
const value = (length: number): fc.Arbitrary<Buffer> =>
  fc.oneof(
    { weight: 1, arbitrary: fc.constant(Buffer.alloc(length)) },
    {
      weight: 2,
      arbitrary: fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => Buffer.from(bytes)),
    },
    { weight: 2, arbitrary: fc.nat(300).map((number) => uint(BigInt(number) % 256n ** BigInt(length), length)) },
    { weight: 1, arbitrary: fc.constant(Buffer.from("0a000001", "hex")).map((bytes) => padded(bytes, length)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("Zürich", 'a"b', "lan\0\0", "\xff").map((text) => padded(Buffer.from(text), length)),
    },
  );
const padded = (bytes: Buffer, length: number): Buffer =>
  Buffer.concat([bytes.subarray(0, length), Buffer.alloc(Math.max(0, length - bytes.length))]);

type Part = readonly [field: PacketField, value: fc.Arbitrary<Buffer>];

const usual: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom(...elements), fc.constantFrom(0, 0, 0, 0, 1, 2))
  .map(([[id, length], more]) => (more === 2 ? [{ id, length: 3 }, value(3)] : [{ id, length }, value(length)]));
const section: fc.Arbitrary<Part> = fc
  .tuple(fc.constantFrom(315, 315, 315, 313, 316, 317), fc.boolean())
  .map(([id, isFixed]) =>
    isFixed ? [{ id, length: 60 }, packet.map((bytes) => padded(bytes, 60))] : [{ id, length: "variable" }, packet],
  );

const listTemplates: readonly PacketTemplate[] = [
  {
    id: 310,
    fields: [
      { id: 8, length: 4 },
      { id: 7, length: 2 },
      { id: 4, length: 1 },
      { id: 6, length: 1 },
    ],
  },
  {
    id: 311,
    fields: [
      { id: 82, length: "variable" },
      { id: 10, length: 4 },
    ],
  },
  {
    id: 312,
    fields: [
      { id: 8, length: 4 },
      { id: 27, length: 16 },
      { id: 156, length: 8 },
    ],
  },
  {
    id: 313,
    fields: [
      { id: 22, length: 4 },
      { id: 434, length: 4 },
    ],
  },
];
const semantic = fc.constantFrom(0, 1, 2, 3, 4, 255).map((code) => uint(code, 1));
const basicList = fc
  .tuple(semantic, fc.constantFrom(...elements), fc.constantFrom(0, 0, 0, 1), fc.nat(4), fc.constantFrom(0, 0, 0, 0, 1))
  .chain(([code, [id, natural], other, count, cut]) => {
    const length = natural + other;
    return fc
      .array(value(length), { minLength: count, maxLength: count })
      .map((values) =>
        Buffer.concat([code, uint(id, 2), uint(length, 2), ...values.map((each) => each.subarray(cut))]),
      );
  });
const subTemplateList = fc
  .tuple(semantic, fc.constantFrom(...listTemplates), fc.nat(3), fc.constantFrom(0, 0, 0, 1))
  .chain(([code, template, count, cut]) => {
    const record = fc
      .tuple(...template.fields.map(({ length }) => (length === "variable" ? value(6) : value(length))))
      .map((values) => encodeRecord(template, values));
    return fc.array(record, { minLength: count, maxLength: count }).map((records) => {
      const all = Buffer.concat(records);
      return Buffer.concat([code, uint(template.id, 2), all.subarray(0, Math.max(0, all.length - cut))]);
    });
  });
/** Some of these elements' lists have a name of their own (RFC 6759, IANA's bgp communities). */
const list: fc.Arbitrary<Part> = fc.oneof(
  fc.constantFrom(291, 291, 484, 487).map((id): Part => [{ id, length: "variable" }, basicList]),
  fc.constant<Part>([{ id: 292, length: "variable" }, subTemplateList]),
);

const parts = fc
  .tuple(
    fc.array(usual, { maxLength: 14 }),
    fc.array(fc.oneof({ weight: 3, arbitrary: section }, { weight: 3, arbitrary: list }), {
      minLength: 1,
      maxLength: 2,
    }),
    fc.array(usual, { maxLength: 4 }),
  )
  .map((all) => all.flat());

const sent = parts.chain((all) => {
  const template: PacketTemplate = { id: 300, fields: all.map(([field]) => field) };
  return fc
    .array(fc.tuple(...all.map(([, values]) => values)), { minLength: 1, maxLength: 4 })
    .map((records) =>
      ipfix([
        ipfixTemplates(template, ...listTemplates),
        packetSet(300, Buffer.concat(records.map((record) => encodeRecord(template, record))), { pad: false }),
      ]),
    );
});

test("whatever lists and packets in records hold: the line is that of the model", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(sent, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.boolean(),
      async (datagrams, splitBiflows, communityId) => {
        const twins = await createFlowTwins({ splitBiflows, communityId });
        twins.setMetadata([udmEntry("10.0.0.0/8", { name: "ten", metadata: { ".site": "x" } })]);
        for (const datagram of datagrams) twins.send(datagram);
        const { slow } = await twins.finish();
        for (const [reason, count] of Object.entries(slow)) seen.set(reason, (seen.get(reason) ?? 0) + count);
      },
    ),
    runs(120),
  );
  assert.ok((seen.get("packet") ?? 0) > 0 && (seen.get("list") ?? 0) > 0, JSON.stringify([...seen]));
});
