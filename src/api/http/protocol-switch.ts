import type { Socket } from "node:net";

/** What every HTTP/2 connection begins with (RFC 9113 section 3.4). */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/**
 * Recognises HTTP/2 by prior knowledge: reads until the bytes differ from the connection preface, or are all of
 * it, then puts them back and hands the socket over. The caller bounds the time; a socket that ends undecided is closed.
 */
export function switchProtocol(socket: Socket, handOver: (protocol: "http1" | "http2") => void): void {
  const held: Buffer[] = [];
  let length = 0;

  const decide = (protocol: "http1" | "http2"): void => {
    socket.off("readable", read);
    socket.off("end", give);
    socket.unshift(Buffer.concat(held));
    handOver(protocol);
  };
  const give = (): void => void socket.destroy();
  const read = (): void => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      const part = chunk.subarray(0, preface.length - length);
      held.push(chunk);
      if (!part.equals(preface.subarray(length, length + part.length))) return decide("http1");
      length += chunk.length;
      if (length >= preface.length) return decide("http2");
    }
  };

  socket.on("readable", read);
  socket.on("end", give);
}
