import type { Key } from "../ip/index.ts";
import type { UdmContext, UdmEntry, UdmValues } from "../udm/index.ts";

/** An entry on its way in or out. */
export interface ExchangeEntry extends UdmValues {
  readonly key: Key;
  /** Where it applies; undefined: everywhere. */
  readonly contexts?: readonly UdmContext[] | undefined;
}

/** The entry as the index has it. */
export function toUdmEntry({ key, name, tags, vlan, internal, metadata, contexts }: ExchangeEntry): UdmEntry {
  const entry = { key, name, tags, vlan, internal, metadata };
  if (contexts === undefined) return entry;
  return { ...entry, fileOnly: { contexts, yaml: `  contexts: [${contexts.join(", ")}]\n` } };
}
