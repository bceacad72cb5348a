import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { forEachLine, type Batch } from "../delivery/batch.ts";
import { connectionFailure, errorCode } from "../delivery/delivery-error.ts";
import type { Outcome, Refusal } from "../delivery/output-adapter.ts";

/** Takes `host:port` or `[2001:db8::1]:514` apart. */
export function hostAndPort(server: string): { readonly host: string; readonly port: number } {
  const at = server.lastIndexOf(":");
  return { host: server.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: Number(server.slice(at + 1)) };
}

/** The longest datagram over IPv4: 65535 less its headers. */
const maxBytes = 65_507;
/** Datagrams that are with the system at the same time. */
const atOnce = 64;

/** A socket that sends to one server. @throws DeliveryError when its name is not known. */
export async function openDatagrams(server: string): Promise<DatagramSocket> {
  const { host, port } = hostAndPort(server);
  try {
    const { address, family } = await lookup(host);
    const socket = createSocket(family === 6 ? "udp6" : "udp4");
    socket.on("error", () => {});
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(port, address, () => resolve());
    });
    socket.unref();
    return socket;
  } catch (error) {
    throw connectionFailure(error, server);
  }
}

/**
 * Sends each record as a datagram. What the system takes counts as delivered.
 *
 * @param datagramOf the datagram of a line.
 * @throws DeliveryError when none could be sent.
 */
export async function sendDatagrams(
  socket: DatagramSocket,
  server: string,
  batch: Batch,
  datagramOf: (lines: Buffer, from: number, to: number) => Uint8Array,
): Promise<Outcome> {
  const datagrams: Uint8Array[] = [];
  forEachLine(batch, (lines, from, to) => datagrams.push(datagramOf(lines, from, to)));
  const refused: Refusal[] = [];
  const retry: number[] = [];
  let fault: unknown;
  const sendOne = async (datagram: Uint8Array, index: number): Promise<void> => {
    const error = datagram.length > maxBytes ? tooLong : await send(socket, datagram);
    if (error === undefined) return;
    if (errorCode(error) === "EMSGSIZE") {
      refused.push({ index, reason: "the record is longer than a datagram may be" });
      return;
    }
    retry.push(index);
    fault = error;
  };
  for (let from = 0; from < datagrams.length; from += atOnce) {
    await Promise.all(datagrams.slice(from, from + atOnce).map((datagram, i) => sendOne(datagram, from + i)));
  }
  if (fault !== undefined && retry.length === batch.count) throw connectionFailure(fault, server);
  return { refused, retry: retry.toSorted((a, b) => a - b) };
}

const tooLong = Object.assign(new Error("too long"), { code: "EMSGSIZE" });

function send(socket: DatagramSocket, datagram: Uint8Array): Promise<Error | undefined> {
  return new Promise((resolve) => socket.send(datagram, (error) => resolve(error ?? undefined)));
}
