import {
  checkKernel,
  createRing,
  StatePersistence,
  type CustomElement,
  type ExporterTraffic,
  type ExporterView,
  type RingHandle,
  type SharedAnswer,
  type SharedStore,
  type StateReport,
  type StateStore,
  type StreamCredentials,
  type StreamOptions,
} from "../../flow/index.ts";
import { LineInbox } from "../../output/index.ts";
import type { Sink } from "../../record/index.ts";
import {
  within,
  type Component,
  type Counter,
  type Health,
  type Log,
  type MetricFamily,
  type Reporting,
} from "../../base/report/index.ts";
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
} from "./flow-thread-parts.ts";
import type { RecordFeed } from "./record-feed.ts";
import { startThread, SupervisedThread, type Thread } from "./thread.ts";

/** The sources that other parts of the collector give to the threads. */
interface FlowThreadSources {
  /** The user's information elements. */
  readonly elements: readonly CustomElement[];
  /** The number of threads that decode, 1 or more. */
  readonly count: number;
  /** Connections of exporters; absent: none. */
  readonly streams: StreamOptions | undefined;
  /** Gives each thread a reader of the metadata; absent: there is none. */
  readonly metadata: Pick<CollectorUdmStore, "readerHandle" | "closeReader"> | undefined;
  /** The same for names. */
  readonly names: Pick<CollectorUdmStore, "readerHandle" | "closeReader"> | undefined;
  readonly sink: Sink;
  /** The feeds of threads that take records. */
  readonly feeds: readonly RecordFeed[];
  /** Reports SNMP's data about interfaces, and each change; absent without SNMP. */
  readonly watchInterfaces: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
  /** Keeps exporters' announcements over a restart; absent: they are lost. */
  readonly state: StateStore | undefined;
  /** Shares exporters' announcements with the collectors of a fleet; absent: this one is alone. */
  readonly shared: SharedStore | undefined;
}

const nothingChanged: StateReport = { changed: [], forgotten: [], heard: [], asked: [] };
const checkName = "flow";
/** The longest time that the decoding threads may take at the end for the rest of their rings, milliseconds. */
const drainMs = 4000;
const closeMs = 1000;

/**
 * Flows, received and decoded outside the main thread.
 *
 *     receiving thread ─ ring ─→ decoding thread 0 ─ slabs ─→ sink, in the calling thread
 *                      └ ring ─→ decoding thread 1 ─ slabs ─┘
 *
 * One thread only reads the sockets, so that the kernel's buffer is emptied in time whatever the others do.
 * One thread, chosen by the exporter's address, decodes all of its data. A thread that dies is restarted on its old ring,
 * and the loss is counted. Its start fails when a port cannot be opened; the message says why.
 */
export class FlowThreads implements Component {
  readonly name = "flow threads";
  readonly #settings: PlainSettings;
  readonly #sources: FlowThreadSources;
  readonly #log: Log;
  readonly #health: Health;
  readonly #restarts: Counter;
  readonly #rings: readonly RingHandle[];
  readonly #decoders: readonly SupervisedThread[];
  readonly #receiver: SupervisedThread;
  readonly #persistence: StatePersistence | undefined;
  readonly #unwatch: ((() => void) | undefined)[] = [];
  #dead = 0;
  #ports: readonly number[];
  #streams: StreamOptions | undefined;
  #isOpen = false;

  constructor(settings: PlainSettings, sources: FlowThreadSources, { log, metrics, health }: Reporting) {
    this.#settings = settings;
    this.#sources = sources;
    this.#log = log;
    this.#health = health;
    this.#ports = settings.SVC_FLOW_SERVER_UDP_ENABLE ? settings.SVC_FLOW_SERVER_UDP_PORT : [];
    this.#streams = sources.streams;
    this.#rings = Array.from({ length: sources.count }, () => createRing(ringBytes));
    this.#restarts = metrics.counter("netgloss_thread_restarts_total", "Threads that died and were started again.", {
      thread: ["decode", "receive"],
    });
    this.#reportHealth();
    this.#decoders = this.#rings.map((ring, number) => this.#superviseDecoder(ring, number));
    this.#receiver = this.#superviseReceiver();
    this.#persistence =
      sources.state === undefined && sources.shared === undefined ? undefined : this.#createPersistence();
    metrics.addSource(async () =>
      (await askAll<readonly MetricFamily[]>([this.#receiver, ...this.#decoders], "metrics")).flat(),
    );
  }

  async start(): Promise<void> {
    // Report this here, once, and not in every thread.
    checkKernel();
    const started: SupervisedThread[] = [];
    try {
      for (const part of [...this.#decoders, this.#receiver]) {
        await part.start();
        started.push(part);
      }
    } catch (error) {
      await Promise.all(started.map((part) => part.stop(async () => {}, 0)));
      throw error;
    }
    await this.#persistence?.start();
    this.#isOpen = true;
    this.#reportHealth();
  }

  async stop(): Promise<void> {
    this.#isOpen = false;
    this.#reportHealth();
    await this.#receiver.stop((thread) => thread.call("stop"), closeMs);
    await within(askAll(this.#decoders, "drain"), drainMs, undefined);
    await within(Promise.resolve(this.#persistence?.stop()), closeMs, undefined);
    await Promise.all(this.#decoders.map((decoder) => decoder.stop((thread) => thread.call("stop"), closeMs)));
    for (const end of this.#unwatch) end?.();
  }

  /** Returns the open ports, in the order of the settings. */
  ports(): readonly number[] {
    return this.#isOpen ? this.#ports : [];
  }

  /** Returns the ports of TCP and TLS. */
  streamPorts(): readonly number[] {
    return this.#isOpen ? (this.#streams?.ports.map(({ port }) => port) ?? []) : [];
  }

  /** Sets the credentials for further TLS handshakes. */
  setCredentials(credentials: StreamCredentials): void {
    const streams = this.#streams;
    const renewed = streams?.ports.map((each) => (each.tls === undefined ? each : { ...each, tls: credentials }));
    this.#streams = streams && { ...streams, ports: renewed ?? [] };
    this.#receiver.thread()?.post("credentials", credentials);
  }

  /** Returns the exporters. Those of a thread that is being restarted are missing. */
  async exporters(): Promise<readonly ExporterView[]> {
    const views = await askAll<readonly ExporterView[]>(this.#decoders, "exporters");
    return views.flat().toSorted((a, b) => a.lastSeen - b.lastSeen);
  }

  /** Returns the interface traffic of exporters polled by SNMP, by whole minutes. */
  async traffic(): Promise<readonly ExporterTraffic[]> {
    return (await askAll<readonly ExporterTraffic[]>(this.#decoders, "traffic")).flat();
  }

  /** Makes the enrichers reread their files. */
  async reload(): Promise<void> {
    await askAll(this.#decoders, "reload");
  }

  #superviseDecoder(ring: RingHandle, number: number): SupervisedThread {
    return new SupervisedThread({
      make: (onDeath) => startDecoder(this.#settings, this.#sources, this.#log, ring, number, onDeath),
      begin: async (thread) => {
        // The calls arrive in order: the thread knows the interfaces before it takes the first datagram.
        this.#unwatch[number]?.();
        this.#unwatch[number] = this.#sources.watchInterfaces?.((change) => thread.post("interfaces", change));
        if (this.#persistence !== undefined)
          await thread.call("importState", await this.#persistence.statesFor(number));
        await thread.call("start");
      },
      onChange: (isAlive) => {
        this.#changed("decode", isAlive);
        if (isAlive) this.#receiver.thread()?.post("forgotten", number);
      },
      log: this.#log,
    });
  }

  #superviseReceiver(): SupervisedThread {
    const settings = this.#settings;
    return new SupervisedThread({
      make: (onDeath) =>
        startThread({
          name: "receive",
          entry: new URL("./receive-thread.js", import.meta.url),
          data: {
            ip: settings.SVC_FLOW_SERVER_UDP_IP,
            ports: this.#ports,
            receiveBufferBytes: settings.SVC_FLOW_SERVER_UDP_READ_BUFFER_MAX_SIZE,
            streams: this.#streams,
            rings: this.#rings,
            logLevel: settings.SVC_LOG_LEVEL,
          } satisfies ReceiveThreadData,
          log: this.#log,
          // A decoder that is just being restarted checks its ring by itself.
          onNote: (note) => this.#decoders[(note as WakeNote).wake]?.thread()?.post("wake"),
          onDeath,
        }),
      begin: async (thread) => {
        const open = await thread.call<OpenPorts>("start");
        this.#ports = open.ports;
        // A thread that replaces this one opens the same ports.
        const streams = this.#streams;
        const opened = streams?.ports.map((each, index) => ({ ...each, port: open.streamPorts[index] ?? each.port }));
        this.#streams = streams && { ...streams, ports: opened ?? [] };
      },
      onChange: (isAlive) => this.#changed("receive", isAlive),
      log: this.#log,
    });
  }

  #createPersistence(): StatePersistence {
    const { state, shared, count } = this.#sources;
    return new StatePersistence({
      store: state,
      shared,
      sources: this.#decoders.map((decoder) => ({
        exportState: async (which) =>
          (await decoder.thread()?.call<StateReport>("exportState", which)) ?? nothingChanged,
        // This was done before the thread started.
        importState() {},
        importShared: async (answer: SharedAnswer) => void (await decoder.thread()?.call("importShared", answer)),
      })),
      responsible: (address) => threadFor(address, count),
      failed: (error) => this.#log.error({ error }, "the state of exporters could not be restored"),
    });
  }

  #changed(thread: "decode" | "receive", isAlive: boolean): void {
    this.#dead += isAlive ? -1 : 1;
    if (isAlive) this.#restarts.add(1, { thread });
    this.#reportHealth();
  }

  #reportHealth(): void {
    const detail = this.#isOpen ? "a thread died and is being started again" : "not listening";
    const isReady = this.#isOpen && this.#dead === 0;
    this.#health.set(isReady ? { name: checkName, ready: true } : { name: checkName, ready: false, detail });
  }
}

function startDecoder(
  settings: PlainSettings,
  { elements, count, metadata, names, sink, feeds }: FlowThreadSources,
  log: Log,
  ring: RingHandle,
  number: number,
  onDeath: () => void,
): Thread {
  const { memory, lines } = decodeMemory(settings);
  const inbox = new LineInbox(lines, sink);
  const [handle, ofNames] = [metadata?.readerHandle(), names?.readerHandle()];
  let isOpen = true;
  const closeReader = (): void => {
    if (isOpen && handle !== undefined) metadata?.closeReader(handle);
    if (isOpen && ofNames !== undefined) names?.closeReader(ofNames);
    isOpen = false;
  };
  const thread = startThread({
    name: `decode ${number}`,
    entry: new URL("./decode-thread.js", import.meta.url),
    data: {
      settings,
      elements,
      count,
      metadata: handle,
      names: ofNames,
      ring,
      memory,
      lines,
      number,
      feeds,
    } satisfies DecodeThreadData,
    log,
    // These threads have only one kind of note: that there are lines.
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

/** Returns the answers of the threads that are alive. */
async function askAll<T>(threads: readonly SupervisedThread[], call: string): Promise<readonly T[]> {
  const asked = threads.flatMap((one) => one.thread()?.call<T>(call) ?? []);
  const answers = await Promise.allSettled(asked);
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
}
