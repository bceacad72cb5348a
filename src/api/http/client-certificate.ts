import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** A certificate does not change while its connection lives. */
const known = new WeakMap<Socket, readonly string[]>();

/** Parts of the subject of a client's certificate that was verified: `CN=alice`, `O=Example`; undefined where there is none. */
export function certificateSubject(socket: Socket | undefined): readonly string[] | undefined {
  if (socket === undefined || (socket as Partial<TLSSocket>).authorized !== true) return undefined;
  let parts = known.get(socket);
  if (parts === undefined) {
    // Null for a connection that was resumed without it: typed otherwise.
    const { subject } = (socket as TLSSocket).getPeerCertificate() as { subject?: Record<string, string | string[]> };
    parts = Object.entries(subject ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value) => `${name}=${value}`),
    );
    known.set(socket, parts);
  }
  return parts.length === 0 ? undefined : parts;
}
