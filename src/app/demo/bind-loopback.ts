import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/**
 * A UDP socket at an address of the loopback network and a port that the system chooses. Where only 127.0.0.1 exists
 * (not on Linux), it is there.
 */
export async function bindLoopback(address: string): Promise<Socket> {
  try {
    return await bind(address);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRNOTAVAIL") throw error;
    return bind("127.0.0.1");
  }
}

async function bind(address: string): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, address);
  await once(socket, "listening");
  return socket;
}
