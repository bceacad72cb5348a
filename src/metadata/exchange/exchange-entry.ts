import type { Key } from "../../base/ip/index.ts";
import { otherFields, withOtherFields } from "../model/entry-contexts.ts";
import type { UdmContext, UdmEntry, UdmValues } from "../model/udm-entry.ts";

/** An entry on its way in or out. */
export interface ExchangeEntry extends UdmValues {
  readonly key: Key;
  /** Where it applies; undefined: everywhere. */
  readonly contexts?: readonly UdmContext[] | undefined;
  /** Fields of the file that mean nothing here, as YAML; undefined: none are said. */
  readonly otherFields?: string | undefined;
}

/** The entry as the index has it. */
export function toUdmEntry({ key, name, tags, vlan, internal, metadata, ...more }: ExchangeEntry): UdmEntry {
  const { contexts, otherFields: others = "" } = more;
  const entry = { key, name, tags, vlan, internal, metadata };
  if (contexts === undefined) return others === "" ? entry : withOtherFields(entry, others);
  const limited = { ...entry, fileOnly: { contexts, yaml: `  contexts: [${contexts.join(", ")}]\n` } };
  return others === "" ? limited : withOtherFields(limited, others);
}

/** The entry on its way out. */
export function fromUdmEntry(entry: UdmEntry): ExchangeEntry {
  const { fileOnly, ...values } = entry;
  if (fileOnly === undefined) return entry;
  const others = otherFields(entry);
  return {
    ...values,
    ...(fileOnly.contexts !== undefined && { contexts: fileOnly.contexts }),
    ...(others !== "" && { otherFields: others }),
  };
}
