import { parseAddress, unmapAddress } from "../base/ip/index.ts";
import type { CollectorUdmStore } from "../metadata/index.ts";

/** What metadata calls an exporter: the name of the most specific entry that has one and applies to exporters. */
export function exporterName(text: string, metadata: CollectorUdmStore | undefined): string | undefined {
  const address = parseAddress(text);
  if (metadata === undefined || address === undefined) return undefined;
  const named = metadata.layers
    .covering(unmapAddress(address))
    .find(({ entry }) => entry.name !== "" && (entry.fileOnly?.contexts?.includes("exporter") ?? true));
  return named?.entry.name;
}
