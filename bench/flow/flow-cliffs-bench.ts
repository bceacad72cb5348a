// What a record costs that has something odd, as a ratio to a plain NetFlow v9 record of the same run: an odd field is to cost that
// field, not the record.
import { AppEnds, readAppEnds } from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory, joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import {
  encodeRecord,
  exportSeconds,
  fields,
  ipfix,
  ipfixTemplates,
  ipv4,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  type PacketField,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { reportRow } from "../support/bench-report.ts";

type Part = readonly [field: PacketField, value: Buffer];
type Message = (template: PacketTemplate, set: Buffer) => Buffer;

/** What the records of all cases have. */
const plain: readonly Part[] = [
  ...fields([8, 4], [12, 4], [15, 4]).map((field, i): Part => [field, ipv4(`192.0.2.${i + 1}`)]),
  ...fields([7, 2], [11, 2], [16, 4], [17, 4], [10, 4], [14, 4], [1, 8], [2, 8]).map((field): Part => [
    field,
    uint(1000 + field.id, Number(field.length)),
  ]),
  ...fields([4, 1], [5, 1], [6, 1], [9, 1], [13, 1], [61, 1]).map((field): Part => [field, uint(1, 1)]),
  ...fields([136, 1], [58, 2], [59, 2], [89, 1]).map((field): Part => [field, uint(1, Number(field.length))]),
];
const part = (id: number, value: Buffer): Part => [{ id, length: value.length }, value];
const variable = (id: number, value: Buffer): Part => [{ id, length: "variable" }, value];
const milliseconds = [152, 153].map((id) => part(id, uint(exportSeconds * 1000 - 5000, 8)));
const uptimes = [22, 21].map((id) => part(id, uint(95_000, 4)));

const asNetflow9: Message = (template, set) => netflow9([netflow9Templates(template), set]);
const asIpfix: Message = (template, set) => ipfix([ipfixTemplates(template), set]);

const frame = Buffer.concat([
  Buffer.from("00005e0053ff00005e0053010800", "hex"),
  Buffer.from("450005dc12344000400600000a0000010a000002", "hex"),
  Buffer.from("c00001bb00000001000000005010ffff00000000", "hex"),
]);
const ports = Buffer.concat([uint(3, 1), uint(10, 2), uint(4, 2), ...[1, 2, 3].map((port) => uint(port, 4))]);

const cases: readonly (readonly [what: string, message: Message, more: readonly Part[], goal: string])[] = [
  ["IPFIX", asIpfix, milliseconds, "≤ 1.3 ×"],
  ["IPFIX, sysUpTime times", asIpfix, [...uptimes], "≤ 1.3 ×"],
  [
    "IPFIX, sysUpTime times and systemInitTimeMilliseconds",
    asIpfix,
    [...uptimes, part(160, uint((exportSeconds - 100) * 1000, 8))],
    "≤ 1.3 ×",
  ],
  ["a label stack", asIpfix, [...milliseconds, ...[70, 71, 72].map((id) => part(id, uint(0x12341, 3)))], "≤ 3 ×"],
  ["a basicList of three", asIpfix, [...milliseconds, variable(291, ports)], "≤ 3 ×"],
  ["a signed number", asIpfix, [...milliseconds, part(434, uint(0xffff_fff0, 4))], "≤ 1.3 ×"],
  ["a double", asIpfix, [...milliseconds, part(320, Buffer.from("3ff8000000000000", "hex"))], "≤ 1.3 ×"],
  ["NTP times", asIpfix, [154, 155].map((id) => part(id, Buffer.from("e8fe6f0080000000", "hex"))), "≤ 1.3 ×"],
  ["text that is not ASCII", asIpfix, [...milliseconds, part(83, Buffer.from("Düsseldorf 1"))], "≤ 1.3 ×"],
  ["an element repeated", asIpfix, [...milliseconds, part(252, uint(1, 4)), part(252, uint(2, 4))], "≤ 1.3 ×"],
  ["a number of variable length", asIpfix, [...milliseconds, variable(95, uint(0x0d00_0001, 4))], "≤ 1.3 ×"],
  ["a sampler in the record", asNetflow9, [...uptimes, part(34, uint(100, 4))], "≤ 1.3 ×"],
  ["a frame of a packet", asIpfix, [...milliseconds, variable(315, frame)], "≤ 3 ×"],
];

/** The destination of all records, and its port. */
const applications = new AppEnds({ private: true, public: true }, createMetrics());
applications.use(
  readAppEnds(Buffer.from("192.0.2.0/24: {1011: {name: erp, category: business, metadata: {.owner: finance}}}")).value,
);
const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };
const records = 24;
const datagrams = 300;
const rounds = 40;

interface Runner {
  readonly what: string;
  readonly goal?: string;
  /** CPU time of a round, nanoseconds a record. */
  run(): number;
}

function createRunner(
  what: string,
  message: Message,
  more: readonly Part[],
  goal?: string,
  enricher: Enricher = nothingKnown,
): Runner {
  const all = [...plain, ...more];
  const template: PacketTemplate = { id: 300, fields: all.map(([field]) => field) };
  const record = encodeRecord(
    template,
    all.map(([, value]) => value),
  );
  const set = packetSet(300, Buffer.concat(Array.from({ length: records }, () => record)), { pad: false });
  const datagram = message(template, set);
  let lines = 0;
  const pipeline = new FlowPipeline({
    enricher,
    sink: { write: (_lines, count) => void (lines += count) },
    communityId: true,
    workspace: createWorkspace(createWorkspaceMemory(0)),
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
  });
  return {
    what,
    ...(goal !== undefined && { goal }),
    run() {
      lines = 0;
      const start = process.cpuUsage();
      for (let i = 0; i < datagrams; i++) pipeline.process(datagram, "192.0.2.254", 2055);
      const { user, system } = process.cpuUsage(start);
      if (lines !== datagrams * records) throw new Error(`${what}: ${lines} lines`);
      return ((user + system) * 1000) / lines;
    },
  };
}

const base = createRunner("a plain NetFlow v9 record", asNetflow9, uptimes);
const runners = [
  ...cases.map(([what, message, more, goal]) => createRunner(what, message, more, goal)),
  createRunner("an application by address and port", asNetflow9, uptimes, "≤ 1.3 ×", applications),
];
const all = [base, ...runners];
const figures = new Map(all.map((runner) => [runner, [] as number[]]));
// In turns, so that what else the host does is shared.
for (let round = 0; round <= rounds; round++) {
  const from = round % all.length;
  for (const runner of [...all.slice(from), ...all.slice(0, from)]) {
    const nanoseconds = runner.run();
    if (round > 0) figures.get(runner)?.push(nanoseconds);
  }
}
// Of many short turns the shortest is the one that nothing else held up.
const least = (runner: Runner): number => Math.min(...(figures.get(runner) ?? []));
reportRow({ what: base.what, value: least(base), unit: "ns/record" });
for (const runner of runners) {
  const { what, goal } = runner;
  const peer = { what: "a plain record", value: least(base) };
  reportRow({ what, value: least(runner), unit: "ns/record", peer, ...(goal !== undefined && { goal }) });
}
