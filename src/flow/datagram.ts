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

/** The address of a sender as records have it: IPv4 as such on a dual-stack socket, IPv6 without its zone. */
export function senderAddress(address: string): string {
  if (address.startsWith("::ffff:") && address.includes(".")) return address.slice(7);
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}

/**
 * The transport session of a TCP connection (RFC 7011 section 8.1) goes the way of a datagram, instead of its port: the
 * sender's port and, above its 16 bits, a number from 1 that no other open connection has. A datagram has 0 there.
 */
const ports = 0x1_0000;

/** The largest number of a session; with one more the value could be mistaken for a mark of the ring. */
export const maxSession = 0xfffe;

export function sessionPort(port: number, session: number): number {
  return session * ports + port;
}

/** Returns whether what stands for a port belongs to a TCP connection. */
export function isSessionPort(port: number): boolean {
  return port >= ports;
}

/** The sender's port without the session. */
export function senderPort(port: number): number {
  return port % ports;
}

/** A message without bytes says that its session has ended. No IPFIX message is so short. */
export function isSessionEnd(bytes: Uint8Array, port: number): boolean {
  return bytes.length === 0 && isSessionPort(port);
}

export const sessionEnd: Uint8Array = new Uint8Array(0);
