import assert from "node:assert/strict";
import { test } from "node:test";
import { icmpNamesOf } from "../../src/flow/kernel/icmp-names.gen.ts";
import { icmpName } from "./model/model-completion.ts";
import {
  dataSet,
  fields,
  netflow5,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createFlowTwins } from "../support/flow-twins.ts";
import { createFlowRig, parseLines, type Json } from "../support/flow-rig.ts";

const icmp: PacketTemplate = { id: 300, fields: fields([8, 4], [12, 4], [4, 1], [176, 1], [177, 1]) };
const tcp: PacketTemplate = { id: 301, fields: fields([8, 4], [12, 4], [4, 1], [6, 1]) };

test("types and codes of ICMP have IANA's names, by the kernel as by the model", async () => {
  const twins = await createFlowTwins({ communityId: false });
  const sent = (protocol: number): Json[] => {
    const records = Array.from({ length: 256 }, (_, type) =>
      Array.from({ length: 20 }, (_unused, code) => [
        uint(1, 4),
        uint(2, 4),
        uint(protocol, 1),
        uint(type, 1),
        uint(code === 19 ? 255 : code, 1),
      ]),
    );
    return records.flatMap((some) =>
      parseLines(Buffer.from(twins.send(netflow9([netflow9Templates(icmp), dataSet(icmp, ...some)])))),
    );
  };
  for (const protocol of icmpNamesOf.keys()) {
    for (const record of sent(protocol)) {
      const known = icmpName(protocol, record["icmp.type.id"] as number);
      assert.equal(record["icmp.type.name"], known?.name);
      assert.equal(record["icmp.code.name"], known?.codes.get(record["icmp.code.id"] as number));
    }
  }
  assert.ok(sent(6).every((record) => !("icmp.type.name" in record)));
  assert.equal(icmpName(1, 3)?.codes.get(3), "Port Unreachable");
  assert.equal(icmpName(58, 1)?.codes.get(4), "Port Unreachable");
});

test("whether a session was established follows from the flags of TCP alone", () => {
  const rig = createFlowRig();
  const established = (flags: number, protocol = 6): unknown => {
    const record = [uint(1, 4), uint(2, 4), uint(protocol, 1), uint(flags, 1)];
    return rig.send(netflow9([netflow9Templates(tcp), dataSet(tcp, record)]))[0]?.["l4.session.established"];
  };
  const [fin, syn, rst, psh, ack] = [1, 2, 4, 8, 16] as const;
  for (const flags of [syn, rst, syn | rst, fin, fin | psh]) assert.equal(established(flags), false, `${flags}`);
  for (const flags of [ack, ack | psh, ack | fin, syn | ack | psh, syn | ack | fin | rst]) {
    assert.equal(established(flags), true, `${flags}`);
  }
  for (const flags of [0, syn | ack, rst | ack]) assert.equal(established(flags), undefined, `${flags}`);
  assert.equal(established(syn, 17), undefined);
});

test("the version of the protocol has a name", () => {
  const rig = createFlowRig();
  const [record] = rig.send(netflow5([{}]));
  assert.equal(record?.["flow.export.version.name"], "NetFlow v5");
});

/** The first record of a template, by the kernel, which agrees with the model. */
async function read(template: PacketTemplate, ...values: Buffer[]): Promise<Json> {
  const twins = await createFlowTwins({ communityId: false });
  const bytes = netflow9([netflow9Templates(template), dataSet(template, values)]);
  return parseLines(Buffer.from(twins.send(bytes)))[0] ?? {};
}

const start = 1_700_000_000_000;
const ntp = (milliseconds: number): Buffer =>
  uint((BigInt(Math.floor(milliseconds / 1000) + 2_208_988_800) << 32n) + 0x8000_0000n, 8);

for (const [name, fieldsOf, values, expected] of [
  [
    "start in milliseconds before",
    [
      [152, 8],
      [161, 4],
    ],
    [uint(start, 8), uint(1500, 4)],
    "2023-11-14T22:13:21.500Z",
  ],
  [
    "start in milliseconds behind",
    [
      [161, 4],
      [1, 4],
      [152, 8],
    ],
    [uint(1500, 4), uint(7, 4), uint(start, 8)],
    "2023-11-14T22:13:21.500Z",
  ],
  [
    "start in seconds, duration in microseconds",
    [
      [150, 4],
      [162, 8],
    ],
    [uint(start / 1000, 4), uint(2_500_000, 8)],
    "2023-11-14T22:13:22.500Z",
  ],
  [
    "start as NTP has it",
    [
      [154, 8],
      [161, 4],
    ],
    [ntp(start), uint(500, 4)],
    "2023-11-14T22:13:21.000Z",
  ],
  [
    "an uptime",
    [
      [22, 4],
      [161, 4],
    ],
    [uint(99_000, 4), uint(250, 4)],
    "2023-11-14T22:13:19.250Z",
  ],
  [
    "a field of varying length between",
    [
      [152, 8],
      [96, "variable"],
      [161, 4],
    ],
    [uint(start, 8), Buffer.from("dns"), uint(1, 4)],
    undefined,
  ],
  [
    "a start that is not known",
    [
      [154, 8],
      [161, 4],
    ],
    [uint(0, 8), uint(500, 4)],
    undefined,
  ],
] as const satisfies readonly (readonly [
  string,
  readonly (readonly [number, number | "variable"])[],
  readonly Buffer[],
  string | undefined,
])[]) {
  test(`the end of a flow by its duration: ${name}`, async () => {
    const record = await read({ id: 310, fields: fields(...fieldsOf) }, ...values);
    assert.equal(record["flow.end.timestamp"], expected);
  });
}

test("the start of a flow by its end and duration; an end of its own is not derived", async () => {
  const backwards = await read({ id: 311, fields: fields([153, 8], [161, 4]) }, uint(start, 8), uint(1500, 4));
  assert.equal(backwards["flow.start.timestamp"], "2023-11-14T22:13:18.500Z");
  const both = fields([152, 8], [153, 8], [161, 4]);
  const own = await read({ id: 312, fields: both }, uint(start, 8), uint(start + 9000, 8), uint(1500, 4));
  assert.equal(own["flow.end.timestamp"], "2023-11-14T22:13:29.000Z");
});

test("an uptime of eight bytes is in the last four, or in the first where the last are zero", async () => {
  const template: PacketTemplate = { id: 313, fields: fields([22, 8], [21, 8]) };
  const record = await read(template, uint(99_000, 8), uint(99_500n << 32n, 8));
  assert.deepEqual(
    [record["flow.start.timestamp"], record["flow.end.timestamp"]],
    ["2023-11-14T22:13:19.000Z", "2023-11-14T22:13:19.500Z"],
  );
});

const usual = [1, 2, 3, 4, 8].reduce((bits, kind) => bits | (1n << BigInt(kind)), 0n);
const turned = (bits: bigint, width: number): bigint =>
  BigInt(`0b${Array.from(bits.toString(2).padStart(width, "0")).toReversed().join("")}`);
for (const [name, element, bits, length, expected] of [
  ["the lowest bit first", 209, usual, 8, ["NOP", "MSS", "WSOPT", "SACKPERM", "TSOPT"]],
  ["the highest bit first", 209, turned(usual, 64), 8, ["NOP", "MSS", "WSOPT", "SACKPERM", "TSOPT"]],
  ["the highest bit of four bytes first", 209, turned(1n << 2n, 32), 4, ["MSS"]],
  ["no order that is clear", 209, (1n << 2n) | (1n << 61n), 8, undefined],
  ["none of the usual options", 209, 1n << 30n, 8, undefined],
  ["tcpOptionsFull", 520, usual | (1n << 34n), 8, ["NOP", "MSS", "WSOPT", "SACKPERM", "TSOPT", "TFO"]],
  ["tcpOptionsFull of 32 bytes", 520, 1n << 253n, 32, ["OPT-253"]],
] as const) {
  test(`names of TCP's options: ${name}`, async () => {
    const bytes = Buffer.from(bits.toString(16).padStart(2 * length, "0"), "hex");
    const record = await read({ id: 314, fields: fields([element, length]) }, bytes);
    assert.deepEqual(record["tcp.options.tags"], expected);
  });
}

test("one name of an interface for two interfaces is of neither", async () => {
  const template: PacketTemplate = { id: 315, fields: fields([10, 4], [14, 4], [82, 4]) };
  const record = await read(template, uint(1, 4), uint(2, 4), Buffer.from("eth1"));
  assert.deepEqual(
    ["flow.ie.interfaceName", "flow.in.netif.name", "flow.out.netif.name"].map((name) => record[name]),
    ["eth1", undefined, undefined],
  );
});

test("totals of a firewall: only of flows that were reported before, and of a counter that has begun again", () => {
  const rig = createFlowRig();
  const template: PacketTemplate = { id: 316, fields: fields([148, 4], [8, 4], [12, 4], [233, 1], [231, 4], [232, 4]) };
  const event = (id: number, code: number, forth: number, back: number): Buffer[] => [
    uint(id, 4),
    uint(1, 4),
    uint(2, 4),
    uint(code, 1),
    uint(forth, 4),
    uint(back, 4),
  ];
  const send = (...events: Buffer[][]): unknown[][] =>
    rig
      .send(netflow9([netflow9Templates(template), dataSet(template, ...events)]))
      .map((record) => ["flow.bytes", "flow.reverse.bytes", "flow.ie.initiatorOctets"].map((name) => record[name]));
  assert.deepEqual(send(event(1, 2, 100, 10)), [[100, 10, undefined]], "nothing was reported before");
  const ofOneSet = send(event(2, 5, 60, 6), event(3, 5, 1, 1), event(2, 2, 100, 10), event(2, 2, 100, 10));
  assert.deepEqual(
    ofOneSet.toSorted(([a], [b]) => Number(a) - Number(b)),
    [
      [1, 1, undefined],
      [40, 4, 100],
      [60, 6, undefined],
      [100, 10, undefined],
    ],
  );
  assert.deepEqual(
    send(event(3, 1, 0, 0), event(3, 2, 50, 5)).at(-1),
    [50, 5, undefined],
    "the number is another flow's",
  );
  const half = 0xc000_0000;
  const wrapped = send(event(4, 5, half, 0), event(4, 5, half, 0), event(4, 2, (2 * half + 5) % 2 ** 32, 0));
  assert.deepEqual(wrapped.at(-1), [5, 0, (2 * half + 5) % 2 ** 32]);
});
