import { createServer, type IncomingMessage, type Server, type ServerResponse, Agent } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createHealth,
  createMetrics,
  systemClock,
  type Health,
  type Log,
  type Metrics,
} from "../../../src/base/report/index.ts";
import {
  type SelectionLimits,
  LastCopies,
  Scopes,
  Sources,
  type SourceState,
  udmJson,
  type CollectorUdmStore,
} from "../../../src/metadata/index.ts";
import { createSelect } from "../../../src/app/index.ts";
import { nodeFileIo, type FileIo } from "../../../src/base/file/index.ts";
import { memoryFileIo } from "../../support/memory-file-io.ts";
import { storeOn } from "../../support/udm-store-fixture.ts";

type Answer = (request: IncomingMessage, url: URL, response: ServerResponse) => unknown;

/** A server whose answers a test gives: an object is sent as JSON, undefined means that the test has answered itself. */
export interface StandIn {
  readonly url: string;
  answer: Answer;
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage["headers"] }[];
  close(): void;
}

export async function startStandIn(answer: Answer): Promise<StandIn> {
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://stand.in");
    standIn.requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers });
    const body = standIn.answer(request, url, response);
    if (body === undefined) return;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const standIn: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer,
    requests: [],
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return standIn;
}

export interface Rig {
  readonly sources: Sources;
  readonly store: CollectorUdmStore;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Undefined: the rig has none. */
  readonly scopes: Scopes | undefined;
  readonly lines: { readonly level: string; readonly message: string }[];
  /** What was waited for, milliseconds; nothing waits in fact. */
  readonly waits: number[];
  /** The file of sources. */
  yaml: string;
  now: number;
  /** Entries of a layer as JSON, of a scope or of all addresses. */
  entries(name: string, scope?: string): unknown[];
  /** Makes these the file of scopes. */
  setScopes(yaml: string): Promise<void>;
  run(name: string): Promise<SourceState>;
  stop(): Promise<void>;
}

export interface RigOptions {
  readonly directory?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly io?: FileIo;
  readonly selections?: Partial<SelectionLimits>;
  /** The file of scopes. */
  readonly scopes?: string;
  /** A store that runs already, with its scopes. Left out: one of the rig's own. */
  readonly over?: { readonly store: CollectorUdmStore; readonly scopes: Pick<Scopes, "layers" | "watch"> };
}

const scopesPath = "/memory/scopes.yml";

/** Sources over a store of their own, started, none of them running by itself. */
export async function startSources(
  yaml: string,
  { directory, env = {}, io = nodeFileIo, selections, scopes: scopesFile, over }: RigOptions = {},
): Promise<Rig> {
  const memory = memoryFileIo();
  const kept = scopesFile === undefined ? {} : { stateDirectory: memory.folder };
  const own = storeOn(memory, kept).store;
  const store = over?.store ?? own;
  await own.start();
  const metrics = createMetrics();
  const health = createHealth();
  const lines: { level: string; message: string }[] = [];
  const at = (level: string) => (_: unknown, message: string) => void lines.push({ level, message });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const waits: number[] = [];
  const scopes =
    scopesFile === undefined
      ? undefined
      : new Scopes({
          path: scopesPath,
          metadata: store,
          entries: { owned: true, refreshMs: 0, ...kept },
          io: memory,
          clock: systemClock,
          log,
          metrics,
          health: createHealth(),
        });
  if (scopesFile !== undefined) memory.put(scopesPath, scopesFile);
  await scopes?.start();
  const layersOfScopes = over?.scopes ?? scopes;
  const rig: Rig = {
    sources: new Sources({
      path: "sources.yml",
      io: {
        ...nodeFileIo,
        read: async (path) => (path === "sources.yml" ? Buffer.from(rig.yaml) : nodeFileIo.read(path)),
      },
      layers: store.layers,
      scopes: layersOfScopes,
      copies: directory === undefined ? undefined : new LastCopies(directory, io, "run"),
      agentFor: () => new Agent(),
      select: createSelect(selections),
      env,
      after(action, ms) {
        waits.push(Math.round(ms));
        // Pauses within a run end at once; the next run never comes by itself.
        if (ms <= 3000 && ms > 0) setImmediate(action);
        return () => {};
      },
      random: () => 0.5,
      clock: { now: () => rig.now, monotonic: () => systemClock.monotonic() },
      log,
      metrics,
      health,
    }),
    store,
    scopes,
    metrics,
    health,
    lines,
    waits,
    yaml,
    now: Date.parse("2026-03-01T12:00:00Z"),
    entries: (name, scope) =>
      [
        ...((scope === undefined ? store.layers : layersOfScopes?.layers().get(scope))
          ?.list()
          .find((layer) => layer.name === name)
          ?.index.entries() ?? []),
      ].map((entry) => JSON.parse(udmJson(entry)) as unknown),
    async setScopes(text) {
      memory.put(scopesPath, text);
      await scopes?.reload();
    },
    async run(name) {
      const state = await rig.sources.run(name);
      if (state === undefined) throw new Error(`there is no source ${name}`);
      return state;
    },
    async stop() {
      await rig.sources.stop();
      await scopes?.stop();
      await own.stop();
    },
  };
  await rig.sources.start();
  return rig;
}
