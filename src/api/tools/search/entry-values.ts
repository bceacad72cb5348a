import type { FieldValues, Value } from "../../../record/index.ts";
import type { UdmEntry } from "../../../udm/index.ts";

const metadata = "metadata.";

/** The fields of an entry as filters name them. What holds its zero value is not set. @param layer "" for what people write. */
export function entryValues(entry: UdmEntry, layer: string): FieldValues {
  return { get: (name) => (name === "layer" ? layer || undefined : valueOf(entry, name)) };
}

function valueOf(entry: UdmEntry, name: string): Value | undefined {
  switch (name) {
    case "key":
      return entry.key.text;
    case "name":
      return entry.name === "" ? undefined : entry.name;
    case "tags":
      return entry.tags.length === 0 ? undefined : [...entry.tags];
    case "vlan":
      return entry.vlan === 0n ? undefined : entry.vlan;
    case "internal":
      return entry.internal ? true : undefined;
    case "contexts": {
      const contexts = entry.fileOnly?.contexts;
      return contexts === undefined ? undefined : [...contexts];
    }
    default:
      return name.startsWith(metadata) ? entry.metadata.get(name.slice(metadata.length)) : undefined;
  }
}
