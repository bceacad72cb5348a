import { parseKey } from "../../../base/ip/index.ts";
import { renderEntry, withContexts, type UdmContext } from "../../../metadata/index.ts";
import type { UdmJson } from "./udm-json.ts";

/** An entry as it stands in a metadata file. */
export function entryYaml(entry: UdmJson): string {
  const { key, name = "", tags = [], vlan = "0", internal = false, metadata = {}, contexts = [] } = entry;
  const values = { name, tags, vlan: BigInt(vlan), internal, metadata: new Map(Object.entries(metadata)) };
  return renderEntry(withContexts({ key: parseKey(key), ...values }, contexts as readonly UdmContext[]));
}
