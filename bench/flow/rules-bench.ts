// What rules cost: CPU time of the pipeline with ten rules about interfaces, which are decided once for each, and with rules about records, in turns with
// the same without rules. Interfaces have their names by SNMP in all of them.
import { NetifEnricher, readRules, RuleEnricher } from "../../src/enrich/index.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createWorkspace, createWorkspaceMemory, joinLineEnrichers, type Enricher } from "../../src/record/index.ts";
import { createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { InterfaceDirectory, InterfaceEnricher } from "../../src/snmp/index.ts";
import { netflow5 } from "../../packages/testkit/index.ts";
import { reportRow } from "../support/bench-report.ts";

const records = 24;
const datagrams = 3000;
const rounds = 9;
const exporter = "192.0.2.254";
const datagram = netflow5(
  Array.from({ length: records }, (_, i) => ({
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
  })),
);
const interfaces = new Map(
  Array.from({ length: 20 }, (_, i) => [
    i,
    { name: `xe-0/0/${i}`, alias: i % 4 === 0 ? "CUST: example 64496" : `core ${i}`, bitsPerSecond: 1e10 },
  ]),
);

/** Ten rules: of each side one is true of some interfaces, the others of none. */
const rulesOf = (way: "in" | "out"): object[] => {
  const others = [1, 2, 3, 4].map((i) => ({
    when: `${way}.if.name = other-${i}`,
    set: { [`flow.${way}.kind`]: `k${i}` },
  }));
  const customers = {
    when: `\`flow.${way}.netif.alias\` =~ "^CUST: (?<customer>[^ ]+)"`,
    set: { [`flow.${way}.customer`]: "$customer", [`flow.${way}.boundary`]: "external" },
  };
  return [customers, ...others];
};
const ofInterfaces = JSON.stringify([...rulesOf("in"), ...rulesOf("out")]);
const ofRecords = JSON.stringify(
  Array.from({ length: 10 }, (_, i) => ({ when: `dst.port = ${442 + i}`, set: { service: `s${i}` } })),
);

function createRunner(rules: string): () => number {
  const metrics = createMetrics();
  const directory = new InterfaceDirectory();
  directory.change({ deviceId: "d", known: { ip: exporter, addresses: [], interfaces } });
  const read = readRules(Buffer.from(rules)).value;
  const sources = [new NetifEnricher(() => undefined, metrics), new InterfaceEnricher(directory, metrics)] as const;
  const enricher = new RuleEnricher(() => read, sources, metrics);
  const all: readonly Enricher[] = read.length === 0 ? sources : [...sources, enricher];
  let lines = 0;
  const pipeline = new FlowPipeline({
    enricher: {
      enrich: (record, rendered) => all.forEach((one) => one.enrich(record, rendered)),
      lines: joinLineEnrichers(all.map((one) => one.lines)),
    },
    shape: read.length === 0 ? undefined : enricher.shape,
    sink: { write: (_lines, count) => void (lines += count) },
    communityId: true,
    workspace: createWorkspace(createWorkspaceMemory(0)),
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
  });
  return () => {
    lines = 0;
    const start = process.cpuUsage();
    for (let i = 0; i < datagrams; i++) pipeline.process(datagram, exporter, 2055);
    const { user, system } = process.cpuUsage(start);
    if (lines !== datagrams * records) throw new Error(`${lines} lines`);
    return ((user + system) * 1000) / (datagrams * records);
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const plain = createRunner("[]");
for (const [what, rules, goal] of [
  ["ten rules about interfaces", ofInterfaces, "≤ 30 ns a record"],
  ["ten rules about records, one of them true", ofRecords, undefined],
] as const) {
  const ruled = createRunner(rules);
  plain();
  ruled();
  const pairs = Array.from({ length: rounds }, () => [plain(), ruled()] as const);
  const costs = pairs.map(([without, withRules]) => withRules - without);
  reportRow({
    what,
    value: median(costs),
    unit: "ns/record",
    peer: { what: "no rules", value: median(pairs.map(([one]) => one)) },
    ...(goal !== undefined && { goal: `${goal} more` }),
  });
}
