import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";
import { encodeSets, netflowV9Templates } from "./export-template.ts";

const templateSetId = 0;
const templates = Object.keys(netflowV9Templates).length;

/**
 * A NetFlow v9 datagram (RFC 3954).
 *
 * @param withTemplates whether the templates come first; a collector cannot read data before it has them.
 */
export function encodeNetflowV9(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const header = Buffer.alloc(20);
  header.writeUInt16BE(9, 0);
  // The count is of records of all kinds, templates included.
  header.writeUInt16BE(flows.length + (withTemplates ? templates : 0), 2);
  header.writeUInt32BE((state.now - state.bootTime) >>> 0, 4);
  header.writeUInt32BE(Math.floor(state.now / 1000), 8);
  header.writeUInt32BE(state.sequence >>> 0, 12);
  header.writeUInt32BE(state.domain, 16);
  return Buffer.concat([header, encodeSets(templateSetId, netflowV9Templates, flows, withTemplates, state)]);
}
