// Inferring the links of made networks: the CPU that it takes, and the longest step between two looks at the clock.
import { inferLinks } from "../../src/snmp/topology/infer-links.ts";
import { KnownDevice } from "../../src/snmp/topology/device-ports.ts";
import { DeviceTables, sources } from "../../src/snmp/topology/device-tables.ts";
import { crowdedPort, flatNetwork, makeLab, manyPorts, type LabDevice } from "../../test/snmp/topology-lab.ts";
import { reportRow } from "../support/bench-report.ts";

const labs: Readonly<Record<string, { readonly devices: () => readonly LabDevice[]; readonly goal?: string }>> = {
  "500 devices": { devices: () => makeLab(1, 10, 47).devices, goal: "≤ 1 000" },
  "2 000 devices": { devices: () => makeLab(1, 40, 47).devices },
  "500 switches of one network": { devices: () => flatNetwork(500) },
  "10 000 neighbors at one port": { devices: () => crowdedPort(10_000), goal: "≤ 1 000" },
  "10 000 ports with a neighbor each": { devices: () => manyPorts(10_000), goal: "≤ 1 000" },
};

/** Garbage may be collected in any step, and a busy host may stop one: of each step the best round counts. */
const rounds = 5;

for (const [what, { devices, goal }] of Object.entries(labs)) {
  const made = devices();
  const best = { cpu: Infinity, links: 0 };
  /** The time of each step: they are the same in each round. */
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const known = made.map(knownOf);
    const before = cpuMs();
    const steps = inferLinks(known, () => {});
    for (let i = 0; ; i++) {
      const began = performance.now();
      const step = steps.next();
      times[i] = Math.min(times[i] ?? Infinity, performance.now() - began);
      if (step.done !== true) continue;
      best.links = step.value.length;
      break;
    }
    best.cpu = Math.min(best.cpu, cpuMs() - before);
  }
  const { cpu, links } = best;
  const longest = times.reduce((most, time) => Math.max(most, time), 0);
  reportRow({ what: `${what}, ${links} links`, value: cpu, unit: "ms of CPU", ...(goal !== undefined && { goal }) });
  reportRow({ what: `  ${what}: longest step`, value: longest, unit: "ms", goal: "≤ 10" });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function knownOf({ id, ip, name, tables }: LabDevice): KnownDevice {
  const own = new DeviceTables(id, ip);
  own.name = name;
  for (const [object, rows] of tables) {
    const source = sources.get(object);
    if (source === undefined) continue;
    const read = rows.map((row) => source.read(row)).filter((row) => row !== undefined);
    own.replace(object, { kind: source.kind, rows: read, at: 0, isWhole: true });
  }
  return new KnownDevice(own);
}
