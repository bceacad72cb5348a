import type { Socket } from "node:net";
import type { Peer } from "./peer.ts";
import type { SessionCounts } from "./session-metrics.ts";

/** Opens a connection to an agent; what is written before it stands waits. */
export type OpenStream = (address: string, port: number) => Socket;

/** One connection for each agent that is asked by TCP (RFC 3430), opened when something is sent. */
export interface StreamPool {
  /** Never waits. `onError` is called when the connection cannot be made or breaks before the message has left. */
  send(peer: Peer, message: Uint8Array, onError: (error: NodeJS.ErrnoException) => void): void;
  /** Nothing more is asked of this agent. */
  release(peer: Peer): void;
  /** A later send opens connections again. */
  close(): void;
}

export interface StreamPoolOptions {
  readonly counts: SessionCounts;
  readonly openStream: OpenStream;
  readonly onMessage: (message: Uint8Array, peer: Peer) => void;
  /** What an agent sent is no message, so nothing after it can be read: its connection is closed. */
  readonly onMalformed: (peer: Peer, detail: string) => void;
}

/** Agents answer by TCP with what does not fit into a datagram; more than this is no answer to what we ask. */
const maxMessage = 1024 * 1024;

export function createStreamPool({ counts, openStream, onMessage, onMalformed }: StreamPoolOptions): StreamPool {
  const connections = new Map<Peer, Socket>();

  const open = (peer: Peer): Socket => {
    const socket = openStream(peer.address, peer.port);
    const read = createMessageReader();
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      try {
        for (const message of read(chunk)) onMessage(message, peer);
      } catch (error) {
        onMalformed(peer, (error as Error).message);
        socket.destroy();
      }
    });
    // What waits for an answer finds out by its time-out, or by the write that failed.
    socket.on("error", () => void counts.socketErrors++);
    socket.on("close", () => {
      if (connections.get(peer) === socket) connections.delete(peer);
    });
    connections.set(peer, socket);
    return socket;
  };
  const end = (socket: Socket): void => void socket.destroy();

  return {
    send(peer, message, onError) {
      const known = connections.get(peer);
      const socket = known === undefined || known.destroyed || !known.writable ? open(peer) : known;
      socket.write(message, (error) => {
        if (error === undefined || error === null) return;
        counts.sendErrors++;
        onError(error);
      });
    },
    release(peer) {
      const socket = connections.get(peer);
      connections.delete(peer);
      if (socket !== undefined) end(socket);
    },
    close() {
      for (const socket of connections.values()) end(socket);
      connections.clear();
    },
  };
}

/**
 * Divides a stream into messages. Each is a SEQUENCE in BER with a definite length (RFC 3430 section 2.1).
 *
 * @returns a function that takes the next bytes and gives the messages that are whole. It throws when the bytes are none.
 */
export function createMessageReader(): (chunk: Uint8Array) => Uint8Array[] {
  let chunks: Uint8Array[] = [];
  let size = 0;
  /** Nothing is looked at before this much is there: joining what trickles in again and again would cost its square. */
  let wanted = 2;
  return (chunk) => {
    // The chunk is the socket's, and what is kept of it is looked at later.
    chunks.push(Buffer.from(chunk));
    size += chunk.length;
    if (size < wanted) return [];
    let rest = Buffer.concat(chunks);
    const messages: Uint8Array[] = [];
    for (;;) {
      wanted = messageLength(rest);
      if (wanted > rest.length) break;
      messages.push(rest.subarray(0, wanted));
      rest = rest.subarray(wanted);
    }
    chunks = rest.length === 0 ? [] : [rest];
    size = rest.length;
    return messages;
  };
}

/** Of the message at the start, with its head; of one whose head has not come whole, more than there is. */
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
