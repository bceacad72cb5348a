import type { CollectorAnswer, ListView, SnmpOperations, StreamPage } from "../../server/index.ts";
import { isLocatable, type Snmp, waitFor, type DefinitionsPreview } from "../../snmp/index.ts";
import type { Progress } from "../../base/report/index.ts";

/** Answers `GET /api/v1/snmp/discovery`. */
export function discoveryView(snmp: Snmp | undefined): CollectorAnswer<"getDiscovery"> {
  return { enabled: snmp?.networks !== undefined, ...snmp?.networks?.view() };
}

/** Answers `GET /api/v1/snmp/candidates`. */
export async function candidatesView(snmp: Snmp | undefined): Promise<CollectorAnswer<"listCandidates">> {
  return { enabled: snmp?.candidates !== undefined, candidates: (await snmp?.candidates?.view()) ?? [] };
}

/** Answers `GET /api/v1/topology`. */
export function topologyView(snmp: Snmp | undefined): CollectorAnswer<"getTopology"> {
  const { topology } = snmp ?? {};
  return { enabled: topology !== undefined, devices: topology?.devices() ?? [], links: topology?.links() ?? [] };
}

/** Answers `GET /api/v1/topology/devices/{id}`; undefined for an id that is not a polled device. */
export function neighborsView(snmp: Snmp | undefined, id: string): CollectorAnswer<"getNeighbors"> | undefined {
  if (snmp?.device(id) === undefined) return undefined;
  return { enabled: snmp.topology !== undefined, links: snmp.topology?.linksOf(id) ?? [] };
}

/** Answers `GET /api/v1/topology/locate/{id}`. */
export function locate(snmp: Snmp | undefined, address: string): CollectorAnswer<"locate"> | undefined {
  if (snmp?.topology !== undefined) return snmp.topology.locate(address);
  return isLocatable(address) ? { address, macs: [], locations: [] } : undefined;
}

/** Answers `GET /api/v1/snmp/definitions`. */
export async function previewDefinitions(
  snmp: Snmp | undefined,
  progress: Progress,
): Promise<{ readonly enabled: false } | ({ readonly enabled: true } & DefinitionsPreview)> {
  if (snmp === undefined) return { enabled: false };
  const preview = await during(progress, "preview-definitions", () => snmp.previewDefinitions());
  return { enabled: true, ...preview };
}

/** Returns SNMP operations for the API: others can see that definitions are being applied. */
export function watchedSnmp(snmp: Snmp, progress: Progress): SnmpOperations {
  return {
    applyDefinitions: (force) => during(progress, "apply-definitions", () => snmp.applyDefinitions(force)),
    rediscoverDevice: (device, wait) => snmp.rediscoverDevice(device, wait),
    async discoverNetworks({ isDryRun, networks }, wait) {
      if (snmp.networks === undefined) return { ok: false, reason: "off", problems: [] };
      const started = await snmp.networks.run({ isDryRun, networks });
      if (!started.ok) return started;
      const ended = started.ended.then(
        (report) => ({ result: "searched", ...report }),
        (error: unknown) => ({ result: "failed", error: error instanceof Error ? error.message : String(error) }),
      );
      const report = wait === undefined ? undefined : await waitFor(ended, wait.seconds * 1000, wait.signal);
      return { ok: true, isDone: report !== undefined, report: report ?? { ...snmp.networks.view() } };
    },
  };
}

async function during<T>(
  progress: Progress,
  kind: "apply-definitions" | "preview-definitions",
  work: () => Promise<T>,
): Promise<T> {
  const task = progress.begin({ kind, subject: "SNMP definitions" });
  task.step("reading", "files");
  try {
    return await work();
  } finally {
    task.end();
  }
}

/** Answers `GET /api/v1/snmp/devices`. */
export function devicesView(snmp: Snmp | undefined): ListView {
  return {
    head: () => ({ enabled: snmp !== undefined }),
    name: "devices",
    elements: (): Iterable<CollectorAnswer<"listDevices">["devices"][number]> => snmp?.devices() ?? [],
  };
}

/** Serves `GET /metrics/snmp`: the readings of the last polls, for Prometheus. */
export function snmpReadings(snmp: Snmp): StreamPage {
  return {
    summary: "What the last polls of SNMP devices read, in the Prometheus text format",
    parameters: {},
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    async *open() {
      for (const piece of snmp.readings() ?? []) yield Buffer.from(piece);
    },
  };
}
