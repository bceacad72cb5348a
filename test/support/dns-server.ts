// A name server on a loopback port that answers PTR questions from a table, for tests.
import { createSocket } from "node:dgram";
import type { TestContext } from "node:test";
import { cleanUp } from "./clean-up.ts";

/** What it says of an address: names, or that there are none, or a failure, or nothing at all. */
export type DnsAnswer = readonly (string | Buffer)[] | "no name" | "failure" | "silence";

export interface DnsServer {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** The questions, as addresses or as names where they are none. */
  readonly questions: readonly string[];
  /** By IPv4 address, or by the name asked for. What is not there has no name. */
  readonly answers: Map<string, DnsAnswer>;
}

const codes = { noError: 0, failure: 2, noSuchName: 3 } as const;

/** Ends with the test. */
export async function startDnsServer(t: TestContext): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  const answers = new Map<string, DnsAnswer>();
  socket.on("message", (query, { port, address }) => {
    const { name, end } = readName(query, 12);
    const asked = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\.in-addr\.arpa$/.exec(name)?.slice(1).toReversed().join(".") ?? name;
    questions.push(asked);
    const answer = answers.get(asked) ?? "no name";
    if (answer === "silence") return;
    socket.send(reply(query, query.subarray(12, end + 4), answer), port, address);
  });
  await new Promise<void>((resolve) => void socket.bind(0, "127.0.0.1", resolve));
  cleanUp(t, () => void socket.close());
  return { address: `127.0.0.1:${socket.address().port}`, questions, answers };
}

function reply(query: Buffer, question: Buffer, answer: Exclude<DnsAnswer, "silence">): Buffer {
  const names = typeof answer === "string" ? [] : answer;
  const code = answer === "failure" ? codes.failure : answer === "no name" ? codes.noSuchName : codes.noError;
  const header = Buffer.alloc(12);
  header.writeUInt16BE(query.readUInt16BE(0), 0);
  header.writeUInt16BE(0x8180 | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(names.length, 6);
  const records = names.map((name) => {
    const data = Buffer.isBuffer(name) ? name : writeName(name);
    // The question's name, PTR, IN, a minute.
    const head = Buffer.from([0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 60, data.length >> 8, data.length & 0xff]);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, question, ...records]);
}

function readName(bytes: Buffer, at: number): { name: string; end: number } {
  const labels: string[] = [];
  for (;;) {
    const length = bytes[at++] as number;
    if (length === 0) return { name: labels.join("."), end: at };
    labels.push(bytes.toString("latin1", at, at + length));
    at += length;
  }
}

/** A name on the wire: each label behind its length. */
export function writeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}
