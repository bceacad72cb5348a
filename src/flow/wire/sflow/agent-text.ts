import { formatAddressBytes } from "../../../ip/index.ts";
import { u32 } from "../packet/bytes.ts";

/** Addresses come from the network: texts of this many are kept. */
const maxAgents = 1024;

/**
 * Makes the text of an agent's address. Of IPv4 it is the same object each time: comparing it with that of the datagram before costs
 * nothing then.
 *
 * @param family 1: IPv4, 2: IPv6, as the header has it.
 */
export function createAgentText(): (bytes: Buffer, at: number, family: number) => string {
  const known = new Map<number, string>();
  return (bytes, at, family) => {
    if (family !== 1) return formatAddressBytes(bytes, at, 6);
    const address = u32(bytes, at);
    const before = known.get(address);
    if (before !== undefined) return before;
    if (known.size >= maxAgents) known.clear();
    const text = formatAddressBytes(bytes, at, 4);
    known.set(address, text);
    return text;
  };
}
