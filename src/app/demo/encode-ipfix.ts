import type { DemoFlow } from "./demo-flow.ts";
import type { ExportState } from "./export-state.ts";
import { encodeSets, ipfixFlowTemplates } from "./export-template.ts";
import { ipfix, ipfixTemplates } from "./flow-packets.ts";

/**
 * An IPFIX message (RFC 7011).
 *
 * @param withTemplates whether the templates come first.
 */
export function encodeIpfix(flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState): Buffer {
  const { now, sequence, domain } = state;
  const templates = withTemplates ? [ipfixTemplates(...Object.values(ipfixFlowTemplates))] : [];
  const sets = [...templates, ...encodeSets(ipfixFlowTemplates, flows, state)];
  return ipfix(sets, { seconds: Math.floor(now / 1000), sequence: sequence >>> 0, domain });
}
