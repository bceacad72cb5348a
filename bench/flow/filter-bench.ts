// What a filter costs, by how it is decided: before the line is written, or by the line; and what it costs to add up bytes by interface. CPU time of
// the pipeline, in turns with the same without either.
import {
  compileLineFilter,
  parseFilter,
  recordVocabulary,
  createWorkspace,
  createWorkspaceMemory,
  joinLineEnrichers,
  type Enricher,
} from "../../src/record/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { createLineFilter } from "../../src/output/index.ts";
import { reportRow } from "../support/bench-report.ts";

const records = 24;
const datagrams = 3000;
const rounds = 9;
const flows = Array.from({ length: records }, (_, i) => ({
  source: `10.0.${i}.1`,
  destination: `198.51.100.${i}`,
  ports: [49_152 + i, 443] as const,
  protocol: 6,
  bytes: 1500 + i,
  route: {
    as: [64_496, 64_511] as const,
    prefixes: [24, 25] as const,
    interfaces: [1 + (i % 8), 9 + (i % 5)] as const,
    nextHop: "203.0.113.9",
  },
}));
const datagram = netflow5(flows);

const five =
  "src in 10.0.0.0/8 and dst in (198.51.100.0/24, 203.0.113.0/24, 192.0.2.1) and port in (80, 443, 8000-8100) and bytes > 1kB and proto = tcp";
const many = Array.from({ length: 2000 }, (_, i) => `172.${16 + (i >> 8)}.${i & 255}.0/25`).join(", ");
const nothingKnown: Enricher = { enrich() {}, lines: joinLineEnrichers([]) };

interface Case {
  readonly what: string;
  readonly filter?: string;
  readonly isMeasured?: boolean;
  readonly kept: number;
  readonly goal?: string;
}

const base: Case = { what: "no filter", kept: records };
const cases: readonly Case[] = [
  { what: "bytes by interface", isMeasured: true, kept: records, goal: "≤ 5 ns a record" },
  { what: "five terms, all records kept", filter: five, kept: records, goal: "≤ 50 ns a record" },
  {
    what: "2 000 prefixes, all records kept",
    filter: `not addr in (${many})`,
    kept: records,
  },
  { what: "a text, asked of the line, all records kept", filter: "l4.proto.name = TCP", kept: records },
  { what: "five terms, all records dropped", filter: `${five} and bytes < 1kB`, kept: 0 },
];

function createRunner({ what, filter, isMeasured, kept }: Case): () => number {
  let lines = 0;
  const pipeline = new FlowPipeline({
    enricher: nothingKnown,
    sink: { write: (_lines, count) => void (lines += count) },
    communityId: true,
    workspace: createWorkspace(createWorkspaceMemory(0)),
    filter: filter === undefined ? undefined : parseFilter(filter, "bench", recordVocabulary),
    isMeasured: isMeasured === true ? () => true : undefined,
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
  });
  return () => {
    lines = 0;
    const start = process.cpuUsage();
    for (let i = 0; i < datagrams; i++) pipeline.process(datagram, "192.0.2.254", 2055);
    const { user, system } = process.cpuUsage(start);
    if (lines !== datagrams * kept) throw new Error(`${what}: ${lines} lines`);
    return ((user + system) * 1000) / (datagrams * records);
  };
}

/** Of written lines: `use` takes the lines of a datagram. */
function createLineRunner(use: (lines: Buffer) => void): () => number {
  const pieces: Buffer[] = [];
  const pipeline = new FlowPipeline({
    enricher: nothingKnown,
    sink: { write: (lines) => void pieces.push(Buffer.from(lines)) },
    communityId: true,
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
  });
  pipeline.process(datagram, "192.0.2.254", 2055);
  const lines = Buffer.concat(pieces);
  return () => {
    const start = process.cpuUsage();
    for (let i = 0; i < datagrams; i++) use(lines);
    const { user, system } = process.cpuUsage(start);
    return ((user + system) * 1000) / (datagrams * records);
  };
}

const matches = compileLineFilter(parseFilter(five, "bench", recordVocabulary));
const drop = createLineFilter({ dropFields: ["flow.export.sequence", "flow.export.uptime"] });
const lineCases: readonly (readonly [what: string, use: (lines: Buffer) => void])[] = [
  [
    "five terms, of a written line",
    (lines) => {
      for (let at = 0; at < lines.length;) {
        const end = lines.indexOf(0x0a, at) + 1;
        if (!matches(lines, at, end)) throw new Error("the line does not match");
        at = end;
      }
    },
  ],
  ["two fields dropped from a written line", (lines) => void drop?.(lines, records)],
];
const runners = [...[base, ...cases].map(createRunner), ...lineCases.map(([, use]) => createLineRunner(use))];
const figures = runners.map(() => [] as number[]);
for (let round = 0; round <= rounds; round++) {
  for (const [i, run] of runners.entries()) {
    const nanoseconds = run();
    if (round > 0) figures[i]?.push(nanoseconds);
  }
}
const median = (i: number): number => (figures[i] ?? []).toSorted((a, b) => a - b)[rounds >> 1] as number;
reportRow({ what: base.what, value: median(0), unit: "ns/record" });
for (const [i, { what, goal }] of cases.entries()) {
  const peer = { what: base.what, value: median(0) };
  reportRow({
    what,
    value: median(i + 1),
    unit: "ns/record",
    peer,
    ...(goal !== undefined && { goal: `${goal} more` }),
  });
}
for (const [i, [what]] of lineCases.entries()) {
  reportRow({ what, value: median(cases.length + 1 + i), unit: "ns/record" });
}
