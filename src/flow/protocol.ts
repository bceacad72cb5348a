/** The protocols of datagrams. `unknown` is anything whose first bytes say none of the others. */
export const protocols = ["netflow1", "netflow5", "netflow7", "netflow9", "ipfix", "sflow", "unknown"] as const;
export type Protocol = (typeof protocols)[number];

/** The protocol by the version in the first bytes: 16 bits in NetFlow and IPFIX, 32 bits in sFlow. */
export function protocolOf(bytes: Uint8Array): Protocol {
  if (bytes.length < 2) return "unknown";
  const version = ((bytes[0] as number) << 8) | (bytes[1] as number);
  if (version === 1) return "netflow1";
  if (version === 5) return "netflow5";
  if (version === 7) return "netflow7";
  if (version === 9) return "netflow9";
  if (version === 10) return "ipfix";
  return version === 0 && bytes[2] === 0 && bytes[3] === 5 ? "sflow" : "unknown";
}
