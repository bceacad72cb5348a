import { connect, type Socket } from "node:net";
import { createSocket } from "node:dgram";
import type { Peer, SessionCounts } from "./peer.ts";
import type { Family } from "../../base/ip/index.ts";

interface StreamPoolOptions {
  readonly counts: SessionCounts;
  readonly onMessage: (message: Uint8Array, peer: Peer) => void;
  /** Reports that bytes of an agent are no message, so that nothing after them can be read: its connection is closed. */
  readonly onMalformed: (peer: Peer, detail: string) => void;
}

/** Agents answer by TCP with what does not fit into a datagram; more than this is no answer to what we ask. */
const maxMessage = 1024 * 1024;

/** One connection for each agent that is asked by TCP (RFC 3430), opened when something is sent. */
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

  /** Never waits. `onError` is called when the connection cannot be made or breaks before the message has left. */
  send(peer: Peer, message: Uint8Array, onError: (error: NodeJS.ErrnoException) => void): void {
    const known = this.#connections.get(peer);
    const socket = known === undefined || known.destroyed || !known.writable ? this.#open(peer) : known;
    socket.write(message, (error) => {
      if (error === undefined || error === null) return;
      this.#counts.sendErrors++;
      onError(error);
    });
  }

  /** Nothing more is asked of this agent. */
  release(peer: Peer): void {
    const socket = this.#connections.get(peer);
    this.#connections.delete(peer);
    socket?.destroy();
  }

  /** A later send opens connections again. */
  close(): void {
    for (const socket of this.#connections.values()) socket.destroy();
    this.#connections.clear();
  }

  #open(peer: Peer): Socket {
    // Writes wait until the connection stands.
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
  /** Nothing is looked at before this much is there: joining what trickles in again and again would cost its square. */
  #wanted = 2;

  /** Takes the next bytes. @returns the messages that are whole. @throws Error when the bytes are none. */
  read(chunk: Uint8Array): Uint8Array[] {
    // The chunk is the socket's, and what is kept of it is looked at later.
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

/** Returns the length of the message at the start, with its head; of one whose head has not come whole, more than there is. */
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

/** A socket of one address family on a port of its own, which talks to any number of peers. */
export interface UdpSocket {
  /** Never throws; a datagram that the host refuses to send is reported to `onError`, if at all later. */
  send(datagram: Uint8Array, address: string, port: number, onError: (error: NodeJS.ErrnoException) => void): void;
  close(): void;
}

/** None is called before the call that opens the socket has returned. */
export interface UdpSocketHandlers {
  onMessage(datagram: Uint8Array, address: string, port: number): void;
  /** The socket is of no use any more, for instance because its family is not there. */
  onError(error: NodeJS.ErrnoException): void;
  /** The receive buffer that the kernel granted, in bytes. */
  onReady(receiveBufferBytes: number): void;
}

/** Opens a socket; what is sent before it is ready waits. */
export type OpenUdpSocket = (family: Family, receiveBufferBytes: number, handlers: UdpSocketHandlers) => UdpSocket;

export const openUdpSocket: OpenUdpSocket = (family, receiveBufferBytes, handlers) => {
  const socket = createSocket({
    type: family === 4 ? "udp4" : "udp6",
    ipv6Only: family === 6,
    // Addresses are given as numbers. The default looks each of them up as if it were a name.
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
    // Thousands of devices may answer at once. What exceeds net.core.rmem_max is cut by the kernel silently.
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
