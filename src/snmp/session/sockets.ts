import { connect, type Socket } from "node:net";
import { createSocket } from "node:dgram";
import type { Peer, SessionCounts } from "./peer.ts";
import type { Family } from "../../base/ip/index.ts";

interface StreamPoolOptions {
  readonly counts: SessionCounts;
  readonly onMessage: (message: Uint8Array, peer: Peer) => void;
  /** Called if bytes of an agent are no message, so that nothing after them can be read; its connection is closed. */
  readonly onMalformed: (peer: Peer, detail: string) => void;
}

/**
 * The largest message. Agents answer by TCP if the answer does not fit into a datagram; more than this cannot be an answer to our
 * requests.
 */
const maxMessage = 1024 * 1024;

/** One connection for each agent by TCP (RFC 3430), opened at the first send. */
export class StreamPool {
  readonly #counts: SessionCounts;
  readonly #onMessage: (message: Uint8Array, peer: Peer) => void;
  readonly #onMalformed: (peer: Peer, detail: string) => void;
  readonly #connections = new Map<Peer, Socket>();

  constructor({ counts, onMessage, onMalformed }: StreamPoolOptions) {
    this.#counts = counts;
    this.#onMessage = onMessage;
    this.#onMalformed = onMalformed;
  }

  /** Sends a message and never waits. `onError` is called if the connection cannot be made or breaks before the message has left. */
  send(peer: Peer, message: Uint8Array, onError: (error: NodeJS.ErrnoException) => void): void {
    const known = this.#connections.get(peer);
    const socket = known === undefined || known.destroyed || !known.writable ? this.#open(peer) : known;
    socket.write(message, (error) => {
      if (error === undefined || error === null) return;
      this.#counts.sendErrors++;
      onError(error);
    });
  }

  /** Closes the connection of an agent that is no longer used. */
  release(peer: Peer): void {
    const socket = this.#connections.get(peer);
    this.#connections.delete(peer);
    socket?.destroy();
  }

  /** Closes all connections. A later send opens them again. */
  close(): void {
    for (const socket of this.#connections.values()) socket.destroy();
    this.#connections.clear();
  }

  #open(peer: Peer): Socket {
    // Writes wait until the connection is open.
    const socket = connect(peer.port, peer.address);
    const reader = new MessageReader();
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      try {
        for (const message of reader.read(chunk)) this.#onMessage(message, peer);
      } catch (error) {
        this.#onMalformed(peer, (error as Error).message);
        socket.destroy();
      }
    });
    // A request that waits for an answer fails by its time-out, or by the write that failed.
    socket.on("error", () => void this.#counts.socketErrors++);
    socket.on("close", () => {
      if (this.#connections.get(peer) === socket) this.#connections.delete(peer);
    });
    this.#connections.set(peer, socket);
    return socket;
  }
}

/** Divides a stream into messages. Each is a SEQUENCE in BER with a definite length (RFC 3430 section 2.1). */
export class MessageReader {
  #chunks: Uint8Array[] = [];
  #size = 0;
  /** The bytes to wait for before the next look: to join small pieces again and again would cost quadratic time. */
  #wanted = 2;

  /** Takes the next bytes. @returns the complete messages. @throws Error if the bytes are no messages. */
  read(chunk: Uint8Array): Uint8Array[] {
    // The chunk belongs to the socket, and the part that is kept is read later.
    this.#chunks.push(Buffer.from(chunk));
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return [];
    let rest = Buffer.concat(this.#chunks);
    const messages: Uint8Array[] = [];
    for (;;) {
      this.#wanted = messageLength(rest);
      if (this.#wanted > rest.length) break;
      messages.push(rest.subarray(0, this.#wanted));
      rest = rest.subarray(this.#wanted);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    return messages;
  }
}

/** Returns the length of the first message with its header. If the header is incomplete, the length is more than the bytes present. */
function messageLength(bytes: Buffer): number {
  if (bytes.length > 0 && bytes[0] !== 0x30) throw new Error(`a message begins with the octet ${bytes[0]}`);
  const first = bytes[1];
  if (first === undefined) return 2;
  if (first < 0x80) return 2 + first;
  const octets = first & 0x7f;
  if (octets === 0 || octets > 4) throw new Error(`the length of a message has ${octets} octets`);
  if (bytes.length < 2 + octets) return 2 + octets;
  const length = 2 + octets + bytes.readUIntBE(2, octets);
  if (length > maxMessage) throw new Error(`a message has ${length} octets`);
  return length;
}

/** A socket of one address family on a port of its own, for any number of peers. */
export interface UdpSocket {
  /** Sends a datagram and never throws. If the host refuses to send it, `onError` may be called later. */
  send(datagram: Uint8Array, address: string, port: number, onError: (error: NodeJS.ErrnoException) => void): void;
  close(): void;
}

/** The handlers of a socket; none is called before the call that opens the socket has returned. */
export interface UdpSocketHandlers {
  onMessage(datagram: Uint8Array, address: string, port: number): void;
  /** Called if the socket is no longer usable, for example because the host lacks its family. */
  onError(error: NodeJS.ErrnoException): void;
  /** Called with the bytes of the receive buffer that the kernel granted. */
  onReady(receiveBufferBytes: number): void;
}

/** Opens a socket; datagrams sent before it is ready wait. */
export type OpenUdpSocket = (family: Family, receiveBufferBytes: number, handlers: UdpSocketHandlers) => UdpSocket;

export const openUdpSocket: OpenUdpSocket = (family, receiveBufferBytes, handlers) => {
  const socket = createSocket({
    type: family === 4 ? "udp4" : "udp6",
    ipv6Only: family === 6,
    // Addresses are numeric; the default would look each of them up like a name.
    lookup: (host, _options, callback) => callback(null, host, family),
  });
  let isOpen = true;
  const close = (): void => {
    if (isOpen) socket.close();
    isOpen = false;
  };
  socket.on("message", (datagram, { address, port }) => handlers.onMessage(datagram, address, port));
  socket.on("error", (error) => {
    close();
    queueMicrotask(() => handlers.onError(error));
  });
  socket.on("listening", () => {
    // Thousands of devices may answer at once. The kernel silently cuts a size above net.core.rmem_max.
    try {
      socket.setRecvBufferSize(receiveBufferBytes);
    } catch {
      // A host that refuses the size altogether keeps its default, which is what is reported.
    }
    const granted = socket.getRecvBufferSize();
    queueMicrotask(() => handlers.onReady(granted));
  });
  socket.bind(0);
  return {
    send(datagram, address, port, onError) {
      if (!isOpen) return;
      socket.send(datagram, port, address, (error) => {
        if (error !== null) onError(error);
      });
    },
    close,
  };
};
