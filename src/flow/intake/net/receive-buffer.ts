import type { Socket } from "node:dgram";
import type { Log } from "../../../base/report/index.ts";

/**
 * Asks the kernel for a receive buffer and reads back what it gave, because it clamps the size silently.
 *
 * @returns bytes of datagrams that the buffer takes.
 */
export function askReceiveBuffer(socket: Socket, bytes: number, log: Log): number {
  const { port } = socket.address();
  try {
    socket.setRecvBufferSize(bytes);
  } catch (error) {
    log.warn({ port, error }, "receive buffer of the flow port could not be set");
  }
  const granted = usable(socket.getRecvBufferSize());
  if (granted < bytes) {
    log.warn(
      { port, asked: bytes, granted, hint: `sysctl -w net.core.rmem_max=${bytes}` },
      "the kernel granted a smaller receive buffer than asked for; bursts of flows may be lost",
    );
  }
  return granted;
}

/** Linux doubles what is asked for, to have room for its own bookkeeping, and reports the double. */
function usable(reported: number): number {
  return process.platform === "linux" ? reported / 2 : reported;
}
