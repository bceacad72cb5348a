import type { Key } from "../../base/ip/index.ts";
import type { UdmEntry } from "./udm-entry.ts";
import { quotedScalar, renderKey, stringScalar } from "../../base/yaml/index.ts";

/**
 * An entry as block YAML at column 1, each line ended. Fields with their zero value are left out; an entry without any
 * is `{}`. A string is quoted whenever a reader of YAML 1.1 or 1.2 could take it for something else.
 */
export function renderEntry(entry: UdmEntry): string {
  let body = "";
  if (entry.name !== "") body += `  name: ${stringScalar(entry.name)}\n`;
  if (entry.tags.length > 0) {
    body += "  tags:\n";
    for (const tag of entry.tags) body += `    - ${stringScalar(tag)}\n`;
  }
  if (entry.vlan !== 0n) body += `  vlan: ${entry.vlan}\n`;
  if (entry.internal) body += "  internal: true\n";
  if (entry.metadata.size > 0) {
    body += "  metadata:\n";
    for (const [key, value] of entry.metadata) {
      body += `    ${renderKey(stringScalar(key), "    ")} ${stringScalar(value)}\n`;
    }
  }
  body += entry.fileOnly?.yaml ?? "";
  const key = keyScalar(entry.key);
  return body === "" ? `${key}: {}\n` : `${key}:\n${body}`;
}

/** What stands in the file when there are no entries: an empty file would be null to a reader. */
export const emptyFileText = "{}\n";

/** IPv6 needs quotes: `1:2:3:4:5:6:7:8` is a number in base 60 to YAML 1.1, and a key may end in a colon. */
function keyScalar(key: Key): string {
  return key.family === 4 ? key.text : quotedScalar(key.text);
}
