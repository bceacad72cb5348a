import { createServer, type IncomingHttpHeaders } from "node:http";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestContext } from "node:test";
import { nodeFileIo, type FileIo } from "../../src/base/file/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import {
  Watch,
  type Alert,
  type AlertEvent,
  type AnswerLimits,
  type WatchSurroundings,
} from "../../src/watch/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { until } from "../support/until.ts";
import type { MemoryFileIo } from "../support/memory-file-io.ts";
import { tempDirectory } from "../support/temp-directory.ts";

/** The rules that come with the program; tests run in a folder of their own below the root. */
export const readyRules = readFileSync(
  fileURLToPath(new URL("../../../definitions/watch.yml", import.meta.url)),
  "utf8",
);

/** A flow as a test says it. */
export interface TestFlow {
  readonly src?: string;
  readonly dst?: string;
  readonly port?: number;
  readonly exporter?: string;
  readonly bytes?: number;
  readonly packets?: number;
  /** How long it lasted, seconds. */
  readonly seconds?: number;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface WatchRig {
  readonly watch: Watch;
  readonly records: Readonly<Record<string, unknown>>[];
  readonly faults: (string | undefined)[];
  readonly news: AlertEvent[];
  readonly directory: string;
  /** Takes flows now, each of which stands for `weight`. */
  take(flows: readonly TestFlow[], weight?: number): void;
  /** Takes records of devices, exporters, outputs now. */
  takeOthers(records: readonly Readonly<Record<string, unknown>>[]): void;
  /** Lets seconds pass, and judges after each. */
  pass(seconds: number): void;
  /** Lets seconds pass in which nobody looked. */
  jump(seconds: number): void;
  /** Waits for a fault. */
  settled(): Promise<void>;
  /** Sets the clock on the wall on or back. */
  setClock(seconds: number): void;
  /** Alerts by their state. */
  in(state: Alert["state"]): readonly Alert[];
  write(rules: string): Promise<void>;
  metric(name: string): Promise<number>;
  now(): number;
}

const memoryRules = "/memory/watch.yml";

/** What the settings say by default. */
const cautious: AnswerLimits = {
  mode: "dry-run",
  approvals: 1,
  maxRoutes: 20,
  never: [],
  limitMs: 900_000,
  allowsCommands: false,
};

/** Watch with a clock that stands still, on a file of rules. */
export async function startWatch(
  t: TestContext,
  rules: string,
  {
    maxKeys = 1000,
    directory,
    mayRun = false,
    memory,
    start = (memory?.text(memoryRules) ?? directory) === undefined ? 1_800_000_000_000 : 1_800_000_100_000,
    answers,
    openSpeaker = () => Promise.reject(new Error("no speaker here")),
    io = memory ?? nodeFileIo,
    member,
  }: {
    maxKeys?: number;
    mayRun?: boolean;
    directory?: string;
    /** A disk in memory, which may have the state of a run before. */
    memory?: MemoryFileIo;
    start?: number;
    answers?: Partial<AnswerLimits>;
    openSpeaker?: WatchSurroundings["openSpeaker"];
    io?: FileIo;
    /** The name of a collector of a fleet. */
    member?: string;
  } = {},
): Promise<WatchRig> {
  const folder = memory?.folder ?? directory ?? tempDirectory(t);
  const stateFolder = memory === undefined ? join(folder, "state") : folder;
  const rulesPath = join(folder, "watch.yml");
  const write = async (text: string): Promise<void> =>
    memory === undefined ? writeFile(rulesPath, text) : memory.put(rulesPath, text);
  await write(rules);
  let passed = 0;
  let set = 0;
  let ids = 0;
  const clock = { now: () => start + passed + set, monotonic: () => passed };
  const records: Readonly<Record<string, unknown>>[] = [];
  const faults: (string | undefined)[] = [];
  const news: AlertEvent[] = [];
  const metrics = createMetrics();
  const watch = new Watch(
    {
      rulesPath,
      mayRun,
      // They take longer to read than a fleet takes to live and die.
      readyRules: member === undefined ? readyRules : "[]",
      directory: stateFolder,
      maxKeys,
      maxHistory: maxKeys,
      answers: { ...cautious, ...answers },
      isShared: member !== undefined,
    },
    {
      clock,
      log: silentLog,
      metrics,
      io,
      openSpeaker,
      newId: () => `alert${member ?? ""}${start}-${++ids}`,
      onRecord: (line) => records.push(JSON.parse(line) as Record<string, unknown>),
      onNews: (events) => news.push(...events),
      onFault: (fault) => faults.push(fault),
    },
    "test",
  );
  await watch.start();
  cleanUp(t, () => watch.stop());
  return {
    watch,
    records,
    faults,
    news,
    directory: folder,
    take(flows, weight = 1) {
      if (flows.length === 0) return;
      const lines = flows.map((flow) => `${JSON.stringify(fieldsOf(flow, clock.now()))}\n`).join("");
      watch.take(Buffer.from(lines), flows.length * weight);
    },
    takeOthers(given) {
      const at = new Date(clock.now()).toISOString();
      const lines = given.map((record) => `${JSON.stringify({ "@timestamp": at, ...record })}\n`);
      watch.takeOthers(Buffer.from(lines.join("")));
    },
    pass(seconds) {
      for (let i = 0; i < seconds; i++) {
        passed += 1000;
        watch.judge();
      }
    },
    jump(seconds) {
      passed += 1000 * seconds;
      watch.judge();
    },
    async settled() {
      await until("a fault", () => faults.some((fault) => fault !== undefined));
    },
    setClock(seconds) {
      set += 1000 * seconds;
    },
    in: (state) => watch.alerting.list().alerts.filter((alert) => alert.state === state),
    async write(text) {
      await write(text);
      await watch.reload();
    },
    async metric(name) {
      const family = (await metrics.everything()).find((each) => each.name === name);
      return Array.from(family?.samples ?? [], ([, value]) => value).reduce((sum, value) => sum + value, 0);
    },
    now: () => clock.now(),
  };
}

function fieldsOf(flow: TestFlow, now: number): Readonly<Record<string, unknown>> {
  const { src = "10.0.0.1", dst = "192.0.2.1", port = 443, exporter = "198.51.100.1", bytes = 1000 } = flow;
  return {
    "@timestamp": new Date(now).toISOString(),
    "flow.export.ip.addr": exporter,
    "flow.export.type": "ipfix",
    "flow.bytes": bytes,
    "flow.packets": flow.packets ?? 1,
    "flow.src.ip.addr": src,
    "flow.dst.ip.addr": dst,
    "flow.dst.l4.port.id": port,
    ...(flow.seconds !== undefined && {
      "flow.start.timestamp": new Date(now - 1000 * flow.seconds).toISOString(),
      "flow.end.timestamp": new Date(now).toISOString(),
    }),
    ...flow.extra,
  };
}

/** A request that a receiver got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The status that it was answered with. */
  readonly answered: number;
}

/** A web server that takes what is posted. */
export interface TestReceiver {
  readonly url: string;
  readonly received: Received[];
  /** What it answers. */
  status: number;
  /** A longer body is refused. */
  longest: number;
  /** The status with which a body is refused; undefined: it is not. */
  refuses: (body: string) => number | undefined;
  /** Ends when it answers. */
  ready: Promise<void>;
}

/** Longer than {@link until} takes to look again: a test that goes on when a notice was received, but is not known to be taken, does so always. */
const answerMs = 50;

/** A web server that takes what is posted, and answers with the status that the test wants. */
export async function startReceiver(t: TestContext, port = 0): Promise<TestReceiver> {
  const receiver: TestReceiver & { url: string } = {
    url: "",
    received: [],
    status: 200,
    longest: Infinity,
    refuses: () => undefined,
    ready: Promise.resolve(),
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const answered = receiver.refuses(body) ?? (body.length > receiver.longest ? 413 : receiver.status);
      receiver.received.push({ path: request.url ?? "", headers: request.headers, body, answered });
      const answer = (): void => void response.writeHead(answered).end();
      void receiver.ready.then(() => setTimeout(answer, answerMs));
    });
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  cleanUp(t, () => void server.close());
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}
