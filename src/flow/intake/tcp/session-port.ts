/**
 * The transport session of a TCP connection (RFC 7011 section 8.1) goes the way of a datagram, in the place of its port: the
 * sender's port and, above its 16 bits, a number from 1 that no other open connection has. A datagram has 0 there.
 */
const ports = 0x1_0000;

/** The largest number of a session; with one more the value could be mistaken for a mark of the ring. */
export const maxSession = 0xfffe;

export function sessionPort(port: number, session: number): number {
  return session * ports + port;
}

/** Whether what is in the place of a port belongs to a TCP connection. */
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
