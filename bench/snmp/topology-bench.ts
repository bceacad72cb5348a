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

/** The host may take the CPU away in a step: the best round counts. */
const rounds = 5;

for (const [what, { devices, goal }] of Object.entries(labs)) {
  const made = devices();
  const best = { cpu: Infinity, longest: Infinity, links: 0 };
  for (let round = 0; round < rounds; round++) {
    const known = made.map(knownOf);
    const before = process.cpuUsage();
    let longest = 0;
    const steps = inferLinks(known, () => {});
    for (;;) {
      const began = performance.now();
      const step = steps.next();
      longest = Math.max(longest, performance.now() - began);
      if (step.done !== true) continue;
      best.links = step.value.length;
      break;
    }
    const { user, system } = process.cpuUsage(before);
    best.cpu = Math.min(best.cpu, (user + system) / 1000);
    best.longest = Math.min(best.longest, longest);
  }
  const { cpu, longest, links } = best;
  reportRow({ what: `${what}, ${links} links`, value: cpu, unit: "ms of CPU", ...(goal !== undefined && { goal }) });
  reportRow({ what: `  ${what}: longest step`, value: longest, unit: "ms", goal: "≤ 10" });
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
