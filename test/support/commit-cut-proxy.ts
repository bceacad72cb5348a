import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/**
 * Where the next COMMIT is cut off:
 *
 * - `before`: it does not reach the server.
 * - `during`: it is handed on, and the connection to the client is gone at once.
 * - `after`: the server has made it and says so, and that answer does not reach the client.
 */
export type CommitCut = "before" | "during" | "after";

export interface CommitCutProxy {
  readonly port: number;
  /** Cuts the next COMMIT of any connection, once. Resolves when it did. */
  cutNext(cut: CommitCut): Promise<void>;
}

/** A proxy that reads the messages of PostgreSQL's protocol, version 3, without TLS: what it cuts does not depend on time. */
export async function startCommitCutProxy(t: TestContext, host: string, port: number): Promise<CommitCutProxy> {
  let armed: { readonly cut: CommitCut; readonly done: () => void } | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host, port });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    const end = (): void => {
      armed?.done();
      armed = undefined;
      client.destroy();
    };
    const fromClient = createMessageSplitter(true);
    const fromServer = createMessageSplitter(false);
    client.on("data", (bytes) => {
      for (const message of fromClient(bytes)) {
        const isCommit = message.type === "Q" && message.text === "commit";
        if (isCommit && armed?.cut === "before") {
          end();
          return;
        }
        upstream.write(message.bytes);
        if (isCommit && armed?.cut === "during") {
          // Ended, not destroyed: what was written still goes to the server.
          client.removeAllListeners("close");
          upstream.end();
          end();
          return;
        }
      }
    });
    upstream.on("data", (bytes) => {
      for (const message of fromServer(bytes)) {
        if (message.type === "C" && message.text === "COMMIT" && armed?.cut === "after") {
          end();
          return;
        }
        if (client.writable) client.write(message.bytes);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    cutNext: (cut) => new Promise((done) => (armed = { cut, done })),
  };
}

interface Message {
  /** A letter; "" for the one that begins a connection. */
  readonly type: string;
  /** What is in it, up to the first zero. */
  readonly text: string;
  readonly bytes: Buffer;
}

/** @param hasStart whether the first message has no letter. */
function createMessageSplitter(hasStart: boolean): (bytes: Buffer) => readonly Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let isStart = hasStart;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const messages: Message[] = [];
    for (;;) {
      const head = isStart ? 0 : 1;
      if (rest.length < head + 4) return messages;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return messages;
      const body = rest.subarray(head + 4, length);
      const text = body.toString("utf8").split("\0", 1)[0] ?? "";
      messages.push({ type: isStart ? "" : String.fromCharCode(rest[0] ?? 0), text, bytes: rest.subarray(0, length) });
      rest = rest.subarray(length);
      isStart = false;
    }
  };
}
