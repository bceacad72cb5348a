import { setTimeout as pause } from "node:timers/promises";
import {
  checkKernel,
  createRing,
  StateKeeper,
  type CustomElement,
  type ExporterTraffic,
  type ExporterView,
  type RingHandle,
  type SharedAnswer,
  type SharedExporters,
  type StateReport,
  type StateStore,
  type StreamCredentials,
  type StreamOptions,
} from "../../flow/index.ts";
import { createLineInbox } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import type { Component, Health, Log, MetricFamily, Metrics } from "../../base/report/index.ts";
import type { PlainSettings } from "../settings/index.ts";
import type { InterfaceChange } from "../../snmp/index.ts";
import type { CollectorUdmStore } from "../../metadata/index.ts";
import {
  decodeMemory,
  ringBytes,
  type DecodeThreadData,
  type OpenPorts,
  type ReceiveThreadData,
  type WakeNote,
  threadFor,
} from "./flow-thread-data.ts";
import type { ExploreFeed } from "./explore-feed.ts";
import { superviseThread, type SupervisedThread, startThread, type Thread } from "./thread.ts";

export interface FlowThreadsOptions {
  readonly settings: PlainSettings;
  /** The user's information elements. */
  readonly elements: readonly CustomElement[];
  /** How many threads decode, 1 or more. */
  readonly count: number;
  /** Connections of exporters; absent: none. */
  readonly streams?: StreamOptions | undefined;
  /** Gives each thread a look into the metadata; absent: there is none. */
  readonly metadata?: Pick<CollectorUdmStore, "readerHandle" | "closeReader"> | undefined;
  readonly sink: Sink;
  /** Where records for Explore go; absent: there is none. */
  readonly explore?: ExploreFeed | undefined;
  /** Reports what SNMP knows of interfaces, and each change; absent without SNMP. */
  readonly watchInterfaces?: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
  /** Where what exporters say once outlives a restart; absent: it does not. */
  readonly state?: StateStore | undefined;
  /** Where the collectors of a fleet share what exporters say; absent: this one is alone. */
  readonly shared?: SharedExporters | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** Flows, received and decoded outside the main thread. */
export interface FlowThreads extends Component {
  /** The ports that are open, in the order of the settings. */
  ports(): readonly number[];
  /** Those of TCP and TLS. */
  streamPorts(): readonly number[];
  /** For TLS handshakes from now on. */
  setCredentials(credentials: StreamCredentials): void;
  /** Those of a thread that is being started again are missing. */
  exporters(): Promise<readonly ExporterView[]>;
  /** What passed the interfaces of those that SNMP polls, by whole minutes. */
  traffic(): Promise<readonly ExporterTraffic[]>;
  /** Has the enrichers read their files again. */
  reload(): Promise<void>;
}

const nothingChanged: StateReport = { changed: [], forgotten: [], heard: [], asked: [] };
const checkName = "flow";
/** How long the decoding threads may take, when all ends, for what is in their rings. */
const drainMs = 4000;
const closeMs = 1000;

/**
 *     receiving thread ─ ring ─→ decoding thread 0 ─ slabs ─→ sink, in the calling thread
 *                      └ ring ─→ decoding thread 1 ─ slabs ─┘
 *
 * One thread reads the sockets and nothing else, so that the kernel's buffer is emptied in time whatever the others do.
 * All of an exporter is decoded by one thread, chosen by its address. A thread that dies is started again on the ring that
 * it had; what was lost by that is counted. Its start fails when a port cannot be opened; the message says why.
 */
export function createFlowThreads(options: FlowThreadsOptions): FlowThreads {
  const { settings, count, metrics, health, log } = options;
  const rings = Array.from({ length: count }, () => createRing(ringBytes));
  const restarts = metrics.counter("netgloss_thread_restarts_total", "Threads that died and were started again.", {
    thread: ["decode", "receive"],
  });
  let dead = 0;
  let ports: readonly number[] = settings.SVC_FLOW_SERVER_UDP_ENABLE ? settings.SVC_FLOW_SERVER_UDP_PORT : [];
  let { streams } = options;
  let isOpen = false;

  const reportHealth = (): void => {
    const detail = isOpen ? "a thread died and is being started again" : "not listening";
    health.set(isOpen && dead === 0 ? { name: checkName, ready: true } : { name: checkName, ready: false, detail });
  };
  const onChange = (thread: string) => (isAlive: boolean) => {
    dead += isAlive ? -1 : 1;
    if (isAlive) restarts.add(1, { thread });
    reportHealth();
  };
  reportHealth();

  const unwatch: ((() => void) | undefined)[] = [];
  const decoders = rings.map((ring, number) =>
    superviseThread({
      make: (onDeath) => startDecoder(options, ring, number, onDeath),
      async begin(thread) {
        // The calls arrive in order: the thread knows the interfaces before it takes the first datagram.
        unwatch[number]?.();
        unwatch[number] = options.watchInterfaces?.((change) => thread.post("interfaces", change));
        if (keeper !== undefined) await thread.call("importState", await keeper.statesFor(number));
        await thread.call("start");
      },
      onChange(isAlive) {
        onChange("decode")(isAlive);
        if (isAlive) receiver.thread()?.post("forgotten", number);
      },
      log,
    }),
  );
  const receiver = superviseThread({
    make: (onDeath) =>
      startThread({
        name: "receive",
        entry: new URL("./receive-thread.js", import.meta.url),
        data: {
          ip: settings.SVC_FLOW_SERVER_UDP_IP,
          ports,
          receiveBufferBytes: settings.SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE,
          streams,
          rings,
          logLevel: settings.SVC_LOG_LEVEL,
        } satisfies ReceiveThreadData,
        log,
        // A decoder that is just being started again looks into its ring by itself.
        onNote: (note) => decoders[(note as WakeNote).wake]?.thread()?.post("wake"),
        onDeath,
      }),
    async begin(thread) {
      const open = await thread.call<OpenPorts>("start");
      ({ ports } = open);
      // A thread that takes its place opens the same.
      const opened = streams?.ports.map((each, index) => ({ ...each, port: open.streamPorts[index] ?? each.port }));
      streams = streams && { ...streams, ports: opened ?? [] };
    },
    onChange: onChange("receive"),
    log,
  });

  const keeper: StateKeeper | undefined =
    options.state === undefined && options.shared === undefined
      ? undefined
      : new StateKeeper({
          store: options.state,
          shared: options.shared,
          sources: decoders.map((decoder) => ({
            exportState: async (which) =>
              (await decoder.thread()?.call<StateReport>("exportState", which)) ?? nothingChanged,
            // Done before the thread started.
            importState() {},
            importShared: async (answer: SharedAnswer) => void (await decoder.thread()?.call("importShared", answer)),
          })),
          responsible: (address) => threadFor(address, count),
          failed: (error) => log.error({ error }, "the state of exporters could not be restored"),
        });

  metrics.addSource(async () => (await askAll<readonly MetricFamily[]>([receiver, ...decoders], "metrics")).flat());

  return {
    name: "flow threads",
    async start() {
      // Said here, once, and not by every thread.
      checkKernel();
      const started: SupervisedThread[] = [];
      try {
        for (const part of [...decoders, receiver]) {
          await part.start();
          started.push(part);
        }
      } catch (error) {
        await Promise.all(started.map((part) => part.stop(async () => {}, 0)));
        throw error;
      }
      await keeper?.start();
      isOpen = true;
      reportHealth();
    },
    async stop() {
      isOpen = false;
      reportHealth();
      await receiver.stop((thread) => thread.call("stop"), closeMs);
      await within(askAll(decoders, "drain"), drainMs);
      await within(keeper?.stop(), closeMs);
      await Promise.all(decoders.map((decoder) => decoder.stop((thread) => thread.call("stop"), closeMs)));
      for (const end of unwatch) end?.();
    },
    ports: () => (isOpen ? ports : []),
    streamPorts: () => (isOpen ? (streams?.ports.map(({ port }) => port) ?? []) : []),
    setCredentials(credentials) {
      const renewed = streams?.ports.map((each) => (each.tls === undefined ? each : { ...each, tls: credentials }));
      streams = streams && { ...streams, ports: renewed ?? [] };
      receiver.thread()?.post("credentials", credentials);
    },
    traffic: async () => (await askAll<readonly ExporterTraffic[]>(decoders, "traffic")).flat(),
    reload: async () => void (await askAll(decoders, "reload")),
    exporters: async () =>
      (await askAll<readonly ExporterView[]>(decoders, "exporters")).flat().toSorted((a, b) => a.lastSeen - b.lastSeen),
  };
}

function startDecoder(
  { settings, elements, count, metadata, sink, explore, log }: FlowThreadsOptions,
  ring: RingHandle,
  number: number,
  onDeath: () => void,
): Thread {
  const { memory, lines } = decodeMemory(settings);
  const inbox = createLineInbox(lines, sink);
  let handle = metadata?.readerHandle();
  const closeReader = (): void => {
    if (handle !== undefined) metadata?.closeReader(handle);
    handle = undefined;
  };
  const thread = startThread({
    name: `decode ${number}`,
    entry: new URL("./decode-thread.js", import.meta.url),
    data: {
      settings,
      elements,
      count,
      metadata: handle,
      ring,
      memory,
      lines,
      number,
      explore,
    } satisfies DecodeThreadData,
    log,
    // There is but one note of these threads: that there are lines.
    onNote: () => inbox.wake(),
    onDeath() {
      inbox.end();
      closeReader();
      onDeath();
    },
  });
  inbox.wake();
  return {
    ...thread,
    async end() {
      await thread.end();
      inbox.end();
      closeReader();
    },
  };
}

/** Waits, but not for longer than this many milliseconds. */
async function within(action: Promise<unknown> | undefined, ms: number): Promise<void> {
  const late = new AbortController();
  await Promise.race([action, pause(ms, undefined, { signal: late.signal }).catch(() => undefined)]);
  late.abort();
}

/** What the threads that are alive answer. */
async function askAll<T>(threads: readonly SupervisedThread[], call: string): Promise<readonly T[]> {
  const asked = threads.flatMap((one) => one.thread()?.call<T>(call) ?? []);
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
