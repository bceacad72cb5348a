// The poller that the benches measure, in a process of its own, with its metrics on HTTP: what holds it up is its own doing.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { limitHeapGrowth } from "../../src/app/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { DefinitionsLoader, Snmp, definitionPathsIn } from "../../src/snmp/index.ts";

export type CollectorRequest =
  | { readonly ask: "start"; readonly devices: string }
  | { readonly ask: "types"; readonly ids: readonly string[] }
  | { readonly ask: "begin" | "end" | "stop" };

/** What the polls between `begin` and `end` came to. */
export interface CollectorFigures {
  readonly records: number;
  /** Seconds of CPU. */
  readonly cpu: number;
  /** The longest that the event loop was held, at all and during a scrape, milliseconds. */
  readonly held: number;
  readonly heldByScrape: number;
  /** Bytes: the most that was resident at the end of a scrape, and what the devices take of the heap. */
  readonly mostMemory: number;
  readonly heap: number;
}

limitHeapGrowth();
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const metrics = createMetrics();
const loop = monitorEventLoopDelay({ resolution: 1 });
let records = 0;
let recordsBefore = 0;
let cpuBefore = process.cpuUsage();
let heldByScrape = 0;
let mostMemory = 0;
let emptyHeap = 0;
let snmp: Snmp | undefined;
let paths: ConstructorParameters<typeof Snmp>[0]["paths"];

const server = createServer((_request, response) => void scrape(response));

async function scrape(response: ServerResponse): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await pipeline(Readable.from(metrics.pieces()), response);
  delay.disable();
  heldByScrape = Math.max(heldByScrape, delay.max / 1e6);
  mostMemory = Math.max(mostMemory, process.memoryUsage.rss());
}

function heap(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** @returns the port of the metrics. */
async function start(devices: string): Promise<number> {
  paths = { ...definitionPathsIn(join(import.meta.dirname, "../../../definitions")), devices: [devices] };
  snmp = new Snmp({
    paths,
    persistDirectory: "",
    enricher: { enrich() {} },
    sink: { write: (_lines, count) => void (records += count) },
    clock: systemClock,
    log: silentLog,
    metrics,
    health: createHealth(),
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  emptyHeap = heap();
  await snmp.start();
  return (server.address() as AddressInfo).port;
}

/** How many object types of each device are polled. */
async function typesOf(ids: readonly string[]): Promise<readonly number[]> {
  const loader = new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
  const { definitions } = await loader.load("start");
  return ids.map((id) => {
    const objects = Object.keys(snmp?.device(id)?.objects ?? {});
    return new Set(objects.map((object) => definitions?.objects.get(object)?.type)).size;
  });
}

function begin(): void {
  recordsBefore = records;
  heldByScrape = 0;
  mostMemory = 0;
  cpuBefore = process.cpuUsage();
  loop.reset();
  loop.enable();
}

function figures(): CollectorFigures {
  loop.disable();
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    records: records - recordsBefore,
    cpu: (user + system) / 1e6,
    held: loop.max / 1e6,
    heldByScrape,
    mostMemory,
    heap: heap() - emptyHeap,
  };
}

async function stop(): Promise<void> {
  server.close();
  await snmp?.stop();
}

function answer(request: CollectorRequest): unknown {
  if (request.ask === "start") return start(request.devices);
  if (request.ask === "types") return typesOf(request.ids);
  if (request.ask === "begin") return begin();
  return request.ask === "end" ? figures() : stop();
}

process.on("message", (request: CollectorRequest) => {
  void Promise.resolve(answer(request)).then((given) => process.send?.(given ?? true));
});
process.on("disconnect", () => process.exit());
