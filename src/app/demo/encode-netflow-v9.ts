import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";
import { encodeSets, netflow9FlowTemplates } from "./export-template.ts";
import { netflow9, netflow9Templates } from "./flow-packets.ts";

/**
 * A NetFlow v9 datagram (RFC 3954).
 *
 * @param withTemplates whether the templates come first; a collector cannot read data before it has them.
 */
export function encodeNetflowV9(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const { now, bootTime, sequence, domain } = state;
  const all = Object.values(netflow9FlowTemplates);
  const sets = encodeSets(netflow9FlowTemplates, flows, state);
  return netflow9(withTemplates ? [netflow9Templates(...all), ...sets] : sets, {
    // The count is of records of all kinds, templates included.
    count: flows.length + (withTemplates ? all.length : 0),
    uptime: (now - bootTime) >>> 0,
    seconds: Math.floor(now / 1000),
    sequence: sequence >>> 0,
    domain,
  });
}
