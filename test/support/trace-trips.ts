// Prints how many hand-written files of src/ each of four trips through a running collector passes: `node dist/test/support/trace-trips.js`
// (after `npx tsc`); `--files` names them. A trip passes a file when it calls a function of it, in any thread. Each trip is made
// three times: a function counts that was called in two of them, and not while the collector had nothing to do.
import { fork, type ChildProcess } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  dataSet,
  netflow9,
  netflow9Templates,
  uint,
  type PacketField,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { createSnmpAgent, listen } from "./snmp-agent/index.ts";
import { smallTable } from "./snmp-session-fixture.ts";
import { until } from "./until.ts";
import { isHandWritten } from "../../scripts/house-figures.ts";
import type { CalledFunctions } from "./trace-thread.ts";

/** The trips by their names, in the order of the table. */
export const trips = ["CreateUdm", "ListUdms", "NetFlow v9", "polls"] as const;
export type Trip = (typeof trips)[number];

/** How often each trip is made: a function counts that was called in most of them. */
const rounds = 3;
/** What the work of another thread may take after a trip is seen to be over. */
const settleMs = 150;
/** A turn of polls is over when the agent has not been asked for so long. */
const quietMs = 250;
const idleMs = 500;

/**
 * Makes the four trips.
 *
 * @returns the files that each passes, as paths from the root of the repository, in order.
 */
export async function traceTrips(): Promise<Readonly<Record<Trip, readonly string[]>>> {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-trips-"));
  let askedAt = 0;
  const agent = await listen(createSnmpAgent({ table: smallTable }), "127.0.0.1", 0, () => {
    askedAt = performance.now();
  });
  const socket = createSocket("udp4");
  let collector: TracedCollector | undefined;
  try {
    const output = join(directory, "records.ndjson");
    const devices = join(directory, "devices");
    mkdirSync(devices);
    writeFileSync(
      join(devices, "r1.yml"),
      `r1: {ip: 127.0.0.1, port: ${agent.port}, communities: [public], timeout: 10000, poll_interval: 2, ` +
        "poll_intervals: {dynamic: 2, active: 2, stable: 2, immutable: 2}}\n",
    );
    const { api, flowPort, traced } = (collector = await TracedCollector.start({
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_UDP_PORT: "0",
      SVC_PROCESSOR_POOL_SIZE: "1",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_API_ENABLE: "true",
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: join(directory, "ipaddrs.yml"),
      SVC_INPUT_SNMP_ENABLE: "true",
      SVC_INPUT_SNMP_PERSIST_ENABLE: "false",
      SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: devices,
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: output,
    }));
    const writes = async (action: () => void): Promise<void> => {
      const before = sizeOf(output);
      action();
      await until("a line in the output", () => sizeOf(output) > before);
    };
    const call = async (method: string, request: object): Promise<void> => {
      const response = await fetch(`${api}/api/v1/enrich/ipaddr/udm.v1.UdmService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      const answer = await response.text();
      if (!response.ok) throw new Error(`${method}: ${response.status} ${answer}`);
    };
    let entries = 0;
    let datagrams = 0;
    // The others are made between two turns of polls.
    const actions: Readonly<Record<Trip | "idle", () => Promise<unknown>>> = {
      CreateUdm: () => {
        const host = ++entries;
        return call("CreateUdm", { udm: { key: `192.0.2.${host}`, name: `host-${host}`, tags: ["trip"] } });
      },
      polls: async () => {
        await writes(() => {});
        await until("the end of a turn", () => performance.now() > askedAt + quietMs);
      },
      ListUdms: () => call("ListUdms", { key: "192.0.2.0/24" }),
      "NetFlow v9": () => writes(() => socket.send(netflow9Datagram(datagrams++), flowPort, "127.0.0.1")),
      idle: () => sleep(idleMs),
    };
    const withoutPolls = async <T>(action: () => Promise<T>): Promise<T> => {
      for (;;) {
        const before = askedAt;
        const result = await action();
        if (askedAt === before) return result;
        await until("the end of a turn", () => performance.now() > askedAt + quietMs);
      }
    };
    // What is done the first times only is no part of a trip, nor is what a new entry leaves to the next reader of addresses.
    for (let time = 0; time < 2; time++) for (const action of Object.values(actions)) await action();
    const called = new Map<string, ReadonlySet<string>[]>();
    const trace = async (name: Trip | "idle"): Promise<void> => {
      const make = (): Promise<ReadonlySet<string>> => traced(actions[name]);
      called.set(name, [...(called.get(name) ?? []), name === "polls" ? await make() : await withoutPolls(make)]);
    };
    // Each by itself: a datagram keeps the output looking for more lines for a while.
    for (const name of ["polls", "idle", "ListUdms", "NetFlow v9", "CreateUdm"] as const) {
      for (let round = 0; round < rounds; round++) await trace(name);
    }
    const idle = inMost(called.get("idle"));
    const filesOf = (trip: Trip): readonly string[] => {
      const places = [...inMost(called.get(trip))].filter((place) => !idle.has(place));
      const files = new Set(places.map((place) => `src/${place.replace(/\.js:\d+$/, ".ts")}`));
      return [...files].filter((path) => isHandWritten(path)).toSorted();
    };
    return Object.fromEntries(trips.map((trip) => [trip, filesOf(trip)])) as Record<Trip, readonly string[]>;
  } finally {
    socket.close();
    await collector?.end();
    await agent.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

function inMost(sets: readonly ReadonlySet<string>[] = []): ReadonlySet<string> {
  const times = new Map<string, number>();
  for (const place of sets.flatMap((set) => [...set])) times.set(place, (times.get(place) ?? 0) + 1);
  return new Set([...times.keys()].filter((place) => (times.get(place) ?? 0) > sets.length / 2));
}

/** A template and a flow of it, as an exporter sends them after its start. */
function netflow9Datagram(sequence: number): Buffer {
  const fields: PacketField[] = [
    [8, 4],
    [12, 4],
    [7, 2],
    [11, 2],
    [4, 1],
    [1, 4],
    [2, 4],
    [10, 2],
    [14, 2],
    [22, 4],
    [21, 4],
  ].map(([id = 0, length = 0]) => ({ id, length }));
  const template: PacketTemplate = { id: 256, fields };
  const values = [0xc0000201, 0xc6336402, 40_000, 443, 6, 1500, 10, 1, 2, 95_000, 99_000];
  const data = dataSet(
    template,
    fields.map(({ length }, i) => uint(values[i] ?? 0, Number(length))),
  );
  return netflow9([netflow9Templates(template), data], { sequence, count: 2 });
}

/** A collector of the compiled modules, all of whose threads count calls. */
class TracedCollector {
  readonly api: string;
  readonly flowPort: number;
  readonly #child: ChildProcess;
  #requests = 0;

  private constructor(child: ChildProcess, ready: Readonly<Record<string, unknown>>) {
    this.#child = child;
    this.api = String(ready["api"]);
    this.flowPort = Number((ready["flowPorts"] as number[])[0]);
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<TracedCollector> {
    const child = fork(join(import.meta.dirname, "traced-collector.js"), ["serve"], {
      env: { PATH: process.env["PATH"], SVC_API_PORT: "0", SVC_LOG_FORMAT: "json", ...settings },
      execArgv: ["--import", join(import.meta.dirname, "trace-thread.js")],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let log = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (log += text));
    const ready = await until("the collector is ready", () => {
      if (child.exitCode !== null) throw new Error(`the collector ended:\n${log}`);
      const line = log.split("\n").find((one) => one.includes('"flowPorts"') && one.endsWith("}"));
      return line !== undefined && (JSON.parse(line) as Record<string, unknown>);
    });
    return new TracedCollector(child, ready);
  }

  /** @returns the functions that an action calls. */
  readonly traced = async (action: () => Promise<unknown>): Promise<ReadonlySet<string>> => {
    await this.#take();
    await action();
    await sleep(settleMs);
    return this.#take();
  };

  async end(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  /** @returns the functions that were called since the last time, each as `file:place`. */
  async #take(): Promise<ReadonlySet<string>> {
    const request = ++this.#requests;
    this.#child.send(request);
    const [answer] = (await once(this.#child, "message")) as [
      { readonly request: number; readonly called: CalledFunctions[] },
    ];
    if (answer.request !== request) throw new Error(`answer ${answer.request} to request ${request}`);
    return new Set(
      answer.called.flatMap((thread) =>
        Object.entries(thread).flatMap(([file, places]) => places.map((place) => `${file}:${place}`)),
      ),
    );
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

if (process.argv[1] === import.meta.filename) {
  const passed = await traceTrips();
  for (const trip of trips) {
    console.log(`${trip.padEnd(12)}${String(passed[trip].length).padStart(4)} files`);
    if (process.argv.includes("--files")) for (const file of passed[trip]) console.log(`  ${file}`);
  }
}
