import { createSocket } from "node:dgram";

/** Sends datagrams to a port of this host. */
export async function sendDatagram(port: number, ...datagrams: readonly Uint8Array[]): Promise<void> {
  const socket = createSocket("udp4");
  for (const datagram of datagrams) {
    await new Promise<void>((resolve, reject) => {
      socket.send(datagram, port, "127.0.0.1", (error) => (error === null ? resolve() : reject(error)));
    });
  }
  socket.close();
}
