import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";
import { encodeSets, ipfixTemplates } from "./export-template.ts";

const templateSetId = 2;
const headerLength = 16;

/**
 * An IPFIX message (RFC 7011).
 *
 * @param withTemplates whether the templates come first.
 */
export function encodeIpfix(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const sets = encodeSets(templateSetId, ipfixTemplates, flows, withTemplates, state);
  const header = Buffer.alloc(headerLength);
  header.writeUInt16BE(10, 0);
  header.writeUInt16BE(headerLength + sets.length, 2);
  header.writeUInt32BE(Math.floor(state.now / 1000), 4);
  header.writeUInt32BE(state.sequence >>> 0, 8);
  header.writeUInt32BE(state.domain, 12);
  return Buffer.concat([header, sets]);
}
