import { createServer, type AddressInfo, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";

export interface StoredMessage {
  readonly subject: string;
  readonly id: string;
  readonly line: string;
}

export interface FakeNats {
  readonly port: number;
  /** What the one stream holds, in order; each identity once. */
  readonly stored: StoredMessage[];
  /** What clients have said of themselves. */
  readonly hellos: Record<string, unknown>[];
  /** Requests to the API of JetStream, without `$JS.API.`. */
  readonly requests: string[];
  /** The answer to a message; undefined: none at all. */
  answer: (message: StoredMessage) => object | undefined;
  /** The configuration of the one stream; undefined: there is none. */
  stream: Record<string, unknown> | undefined;
  maxPayload: number;
}

/** A server of NATS with one stream, as far as an output needs it: the text protocol, acknowledgements, identities. */
export async function startFakeNats(t: TestContext): Promise<FakeNats> {
  const sockets = new Set<Socket>();
  const known = new Set<string>();
  const api = (name: string, body: string): object => {
    fake.requests.push(name);
    if (name === "INFO") return { type: "account", streams: 1 };
    if (name === "STREAM.NAMES") {
      const streams = fake.stream === undefined ? [] : [fake.stream["name"]];
      return {
        type: "io.nats.jetstream.api.v1.stream_names_response",
        total: streams.length,
        offset: 0,
        limit: 1024,
        streams,
      };
    }
    if (name.startsWith("STREAM.CREATE.")) fake.stream = JSON.parse(body) as Record<string, unknown>;
    return { config: fake.stream, state: {} };
  };
  const store = (subject: string, header: string, line: string): object | undefined => {
    const message = { subject, id: /^Nats-Msg-Id: (.*)\r$/m.exec(header)?.[1] ?? "", line };
    const answer = fake.answer(message);
    if (answer !== undefined && "seq" in answer && !known.has(message.id)) fake.stored.push(message);
    if (answer !== undefined && "seq" in answer) known.add(message.id);
    return answer;
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.write(
      `INFO ${JSON.stringify({ server_id: "fake", version: "2.15.0", headers: true, max_payload: fake.maxPayload })}\r\n`,
    );
    const subscriptions = new Map<string, string>();
    const reply = (to: string, text: string): void => {
      for (const [prefix, sid] of subscriptions) {
        if (to.startsWith(prefix)) socket.write(`MSG ${to} ${sid} ${Buffer.byteLength(text)}\r\n${text}\r\n`);
      }
    };
    let buffer = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      buffer = Buffer.concat([buffer, bytes]);
      for (;;) {
        const end = buffer.indexOf("\r\n");
        if (end < 0) return;
        const words = buffer.toString("utf8", 0, end).split(" ");
        const [verb = "", subject = ""] = words;
        const isPublish = verb === "PUB" || verb === "HPUB";
        const length = isPublish ? Number(words.at(-1)) : 0;
        const next = end + 2 + (isPublish ? length + 2 : 0);
        if (buffer.length < next) return;
        const headerLength = verb === "HPUB" ? Number(words.at(-2)) : 0;
        const header = buffer.toString("utf8", end + 2, end + 2 + headerLength);
        const body = buffer.toString("utf8", end + 2 + headerLength, end + 2 + length);
        buffer = buffer.subarray(next);
        if (verb === "CONNECT") fake.hellos.push(JSON.parse(words.slice(1).join(" ")) as Record<string, unknown>);
        else if (verb === "PING") socket.write("PONG\r\n");
        else if (verb === "SUB") subscriptions.set(subject.replace(/\*.*/, ""), words.at(-1) ?? "");
        else if (isPublish) {
          const isApi = subject.startsWith("$JS.API.");
          const answer = isApi ? api(subject.slice("$JS.API.".length), body) : store(subject, header, body);
          if (answer !== undefined) reply(words[2] ?? "", JSON.stringify(answer));
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const fake: FakeNats = {
    port: (server.address() as AddressInfo).port,
    stored: [],
    hellos: [],
    requests: [],
    answer: () => ({ stream: "NETGLOSS", seq: 1 }),
    stream: undefined,
    maxPayload: 1_048_576,
  };
  return fake;
}
