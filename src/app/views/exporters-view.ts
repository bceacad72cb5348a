import { networkInterfaces } from "node:os";
import { parseAddress, unmapAddress } from "../../base/ip/index.ts";
import type { CollectorUdmStore } from "../../metadata/index.ts";
import type { ExporterView } from "../../flow/index.ts";
import type { CollectorAnswer } from "../../server/index.ts";

/** What metadata calls an exporter: the name of the most specific entry that has one and applies to exporters. */
export function exporterName(text: string, metadata: CollectorUdmStore | undefined): string | undefined {
  const address = parseAddress(text);
  if (metadata === undefined || address === undefined) return undefined;
  const named = metadata.layers
    .covering(unmapAddress(address))
    .find(({ entry }) => entry.name !== "" && (entry.fileOnly?.contexts?.includes("exporter") ?? true));
  return named?.entry.name;
}

export interface ExportersViewParts {
  readonly enabled: boolean;
  readonly exporters: () => Promise<readonly ExporterView[]>;
  readonly metadata: CollectorUdmStore | undefined;
  /** The address on which flows are received; empty, `0.0.0.0` and `::` are all of the host. */
  readonly ip: string;
  readonly ports: () => readonly number[];
  readonly streamPorts: () => readonly number[];
}

/** Exporters as people are shown them: with their names in the metadata, without what only the doctor compares. */
export async function exportersView(parts: ExportersViewParts): Promise<CollectorAnswer<"listExporters">> {
  const shown: CollectorAnswer<"listExporters">["exporters"][number][] = [];
  for (const { seenFlows: _seenFlows, ...exporter } of await parts.exporters()) {
    const name = exporterName(exporter.address, parts.metadata);
    shown.push(name === undefined ? exporter : { ...exporter, name });
  }
  const listening = { addresses: ownAddresses(parts.ip), udp: parts.ports(), tcp: parts.streamPorts() };
  return { enabled: parts.enabled, listening, exporters: shown };
}

/** Addresses by which others reach this host; where it has none, the one that there is. */
function ownAddresses(ip: string): readonly string[] {
  if (!["", "0.0.0.0", "::"].includes(ip)) return [ip];
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outer = all.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  const fitting = ip === "0.0.0.0" ? outer.filter(({ family }) => family === "IPv4") : outer;
  return fitting.length > 0 ? fitting.map(({ address }) => address) : ["127.0.0.1"];
}
