import { createHash } from "node:crypto";
import {
  type ExporterState,
  type StateReport,
  type StateChange,
  readExporterState,
  writeExporterState,
} from "./exporter-state.ts";
import type { SharedAnswer, SharedStore } from "./shared-store.ts";
import {
  limitLog,
  type Clock,
  type Component,
  type LabelNames,
  type Log,
  type Metrics,
  type Reporting,
} from "../../../base/report/index.ts";
import { hashText } from "../../../base/text/index.ts";
import { addressOfKey, stateKey } from "../exporter-table.ts";

/** Decodes and so knows what exporters say: a pipeline here or in another thread. */
interface StateSource {
  exportState(which: "changed" | "all"): StateReport | Promise<StateReport>;
  importState(states: readonly ExporterState[]): void | Promise<void>;
  importShared(answer: SharedAnswer): void | Promise<void>;
}

interface StatePersistenceOptions {
  /** Left out: nothing is kept over a restart. */
  readonly store?: Pick<StateStore, "load" | "put"> | undefined;
  /** Left out: there are no other collectors. */
  readonly shared?: Pick<SharedStore, "put" | "heard" | "find"> | undefined;
  readonly sources: readonly StateSource[];
  /** Returns which of the sources decodes what an address sends, in canonical text. */
  readonly responsible: (address: string) => number;
  /** Called when a source could not be asked; it is asked again. */
  readonly failed: (error: unknown) => void;
}

/** The time within which the store has a change. */
const keepEveryMs = 500;
/** The same where exporters are shared: somebody may wait for it, or for an answer. */
const shareEveryMs = 200;

/** Carries state between decoding and what keeps it: files of this collector, the database of its fleet. */
export class StatePersistence {
  readonly #options: StatePersistenceOptions;
  #timer: NodeJS.Timeout | undefined;
  #taking: Promise<void> | undefined;

  constructor(options: StatePersistenceOptions) {
    this.#options = options;
  }

  /** Returns what the store knows of the exporters of one source: for one that replaces another. */
  async statesFor(source: number): Promise<readonly ExporterState[]> {
    const { store, responsible } = this.#options;
    const states = (await store?.load()) ?? [];
    return states.filter(({ address, relay }) => responsible(relay ?? address) === source);
  }

  /** Gives each source what the store knows of its exporters. To be awaited before the first datagram. */
  async start(): Promise<void> {
    const { sources, shared } = this.#options;
    for (const [i, source] of sources.entries()) {
      const states = await this.statesFor(i);
      await source.importState(states);
      shared?.put({ changed: states, forgotten: [] });
    }
    this.#timer = setInterval(
      () => {
        this.#taking ??= this.#takeAll("changed").finally(() => (this.#taking = undefined));
      },
      shared === undefined ? keepEveryMs : shareEveryMs,
    );
    this.#timer.unref();
  }

  /** Takes all for the last time. The sources must still answer, and take no more datagrams. */
  async stop(): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#taking;
    if (this.#options.shared !== undefined) await this.#takeAll("changed");
    await this.#takeAll("all");
  }

  async #takeAll(which: "changed" | "all"): Promise<void> {
    const { sources, failed } = this.#options;
    for (const source of sources) await this.#take(source, which).catch(failed);
  }

  async #take(source: StateSource, which: "changed" | "all"): Promise<void> {
    const { store, shared } = this.#options;
    const report = await source.exportState(which);
    store?.put(report);
    // When all ends nothing is new to the others.
    if (which === "all") return;
    shared?.put(report);
    shared?.heard(report.heard);
    if (report.asked.length > 0) void this.#ask(source, report.asked);
  }

  async #ask(source: StateSource, asked: readonly string[]): Promise<void> {
    // Nobody answers: what is held is decoded by what is known here.
    const states = (await this.#options.shared?.find(asked).catch(() => [])) ?? [];
    try {
      await source.importShared({ asked, states });
    } catch (error) {
      this.#options.failed(error);
    }
  }
}

/** Why a file is not used. */
const ignoreReasons = {
  foreign: "not a file of exporters' state",
  newer: "of a version that this program does not know",
  torn: "cut off or changed: its checksum does not match",
  content: "its content is not what its version says",
  size: "longer than any that is written",
} as const;
type IgnoreReason = keyof typeof ignoreReasons;

const magic = "netgloss-exporters";
const version = 1;
const maxHeader = 128;

/**
 * A file: one line `netgloss-exporters <version> <bytes of the rest> <its SHA-256 in hex>`, then a JSON array.
 *
 * @param states as `writeExporterState` makes them.
 */
export function encodeStateFile(states: readonly string[]): Buffer {
  const body = Buffer.from(`[\n${states.join(",\n")}\n]\n`);
  return Buffer.concat([Buffer.from(`${magic} ${version} ${body.length} ${digest(body)}\n`), body]);
}

/** Reads such a file. Whatever the bytes are, this does not throw. */
export function decodeStateFile(bytes: Uint8Array): readonly ExporterState[] | IgnoreReason {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = all.subarray(0, maxHeader).indexOf(0x0a);
  const [name, fileVersion, length, sum] = all.toString("latin1", 0, Math.max(0, end)).split(" ");
  if (name !== magic || !/^[0-9]{1,9}$/.test(fileVersion ?? "")) return all.length === 0 ? "torn" : "foreign";
  if (Number(fileVersion) !== version) return "newer";
  const body = all.subarray(end + 1);
  if (Number(length) !== body.length || digest(body) !== sum) return "torn";
  try {
    const values = JSON.parse(body.toString()) as unknown;
    const states = Array.isArray(values) ? values.map(readExporterState) : [undefined];
    return states.every((state) => state !== undefined) ? states : "content";
  } catch {
    return "content";
  }
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The directory of the state. Each call may fail with an error of the operating system. */
export interface StateFiles {
  /** Makes the directory where it is missing, and lists the names of its files. */
  open(): Promise<readonly string[]>;
  /** @returns undefined for a file of more bytes. */
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>;
  /** Replaces or makes a file: whoever reads sees the old content or the new, after a loss of power too. */
  replace(name: string, bytes: Uint8Array): Promise<void>;
  rename(name: string, to: string): Promise<void>;
}

/** The state that is kept of an exporter: as it came until a file is written with it, then as the text there. */
interface Kept {
  content: ExporterState | string;
  readonly lastSeen: number;
}

interface Shard {
  readonly name: string;
  readonly exporters: Map<string, Kept>;
  isDirty: boolean;
  /** Not written again before, in milliseconds of the monotonic clock. */
  notBefore: number;
}

/** The operations that may fail for a file of state. */
type StateOperation = "open" | "load" | "save" | "set_aside";

/** A change rewrites one file of this many. The number belongs to version 1 of the files. */
const shardCount = 64;
const defaultMaxFileBytes = 64 * 1024 * 1024;
const soonMs = 100;
/** The least interval between writes of a file that changes all the time; on a slow disk, writing takes a hundredth of the time. */
const minGapMs = 1000;
const gapPerWrite = 100;
const maxGapMs = 60_000;
const retryMs = 10_000;
const namePattern = /^exporters-[0-9a-f]{2}\.state$/;

/**
 * Keeps what exporters say once over a restart, in files by exporter address, whatever thread decodes them. A failure is counted, logged and
 * tried again; it never stops anything.
 */
export class StateStore implements Component {
  readonly name = "flow state";
  readonly #files: StateFiles;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #maxFileBytes: number;
  readonly #shards: readonly Shard[];
  readonly #counts: ReturnType<typeof createStateMetrics>;
  #names: readonly string[] = [];
  #reading: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;

  /** @param maxFileBytes a file is cut to this many bytes, by what was silent for longest. */
  constructor(
    files: StateFiles,
    { log, metrics, clock }: Pick<Reporting, "log" | "metrics" | "clock">,
    maxFileBytes = defaultMaxFileBytes,
  ) {
    this.#files = files;
    this.#clock = clock;
    this.#log = limitLog(log, clock);
    this.#maxFileBytes = maxFileBytes;
    this.#shards = Array.from({ length: shardCount }, (_, i) => ({
      name: `exporters-${i.toString(16).padStart(2, "0")}.state`,
      exporters: new Map(),
      isDirty: false,
      notBefore: 0,
    }));
    const countAll = (): number => this.#shards.reduce((sum, { exporters }) => sum + exporters.size, 0);
    this.#counts = createStateMetrics(metrics, countAll);
  }

  async start(): Promise<void> {
    try {
      this.#names = await this.#files.open();
    } catch (error) {
      this.#fail("open", "", error);
    }
  }

  /**
   * All that is known: what earlier runs knew, and what was put since. To be called for the first time after `start` and
   * before `put`. Does not fail: what cannot be read is left out.
   */
  async load(): Promise<readonly ExporterState[]> {
    this.#reading ??= this.#readFiles();
    await this.#reading;
    const texts = this.#shards.flatMap(({ exporters }) => Array.from(exporters.values(), textOf));
    return texts.map((text) => readExporterState(JSON.parse(text))).filter((state) => state !== undefined);
  }

  /** Takes a change; it is on the disk soon afterwards, at the latest when `stop` has returned. */
  put({ changed, forgotten }: StateChange): void {
    for (const state of changed) {
      const shard = this.#shardOf(state.address);
      keep(shard, state);
      shard.isDirty = true;
    }
    for (const key of forgotten) {
      const shard = this.#shardOf(addressOfKey(key));
      if (shard.exporters.delete(key)) shard.isDirty = true;
    }
    if (this.#shards.some(({ isDirty }) => isDirty)) this.#schedule(soonMs);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#saving;
    clearTimeout(this.#timer);
    for (const shard of this.#shards) if (shard.isDirty) await this.#save(shard);
  }

  #shardOf(address: string): Shard {
    return this.#shards[hashText(address) % shardCount] as Shard;
  }

  #fail(operation: StateOperation, file: string, error: unknown): void {
    this.#counts.failures.add(1, { operation });
    this.#log.warn({ operation, file, error }, "the state of exporters cannot be kept over a restart");
  }

  async #readFiles(): Promise<void> {
    let count = 0;
    for (const name of this.#names.filter((each) => namePattern.test(each))) {
      for (const state of await this.#loadFile(name)) {
        keep(this.#shardOf(state.address), state);
        count++;
      }
    }
    if (count > 0) this.#log.info({ exporters: count }, "the state of exporters was restored");
  }

  async #loadFile(name: string): Promise<readonly ExporterState[]> {
    let bytes: Uint8Array | undefined;
    try {
      bytes = await this.#files.read(name, this.#maxFileBytes);
    } catch (error) {
      this.#fail("load", name, error);
      return [];
    }
    const states = bytes === undefined ? "size" : decodeStateFile(bytes);
    if (typeof states !== "string") return states.filter(({ address }) => this.#shardOf(address).name === name);
    this.#counts.ignored.add(1, { reason: states });
    this.#log.warn({ file: name, why: ignoreReasons[states] }, "a file of exporters' state is ignored and set aside");
    await this.#files.rename(name, `${name}.ignored`).catch((error: unknown) => this.#fail("set_aside", name, error));
    return [];
  }

  /** As much as fits into the file, what was heard of last before the rest. */
  #contentOf({ exporters }: Shard): Buffer {
    const texts: string[] = [];
    let bytes = 256;
    for (const kept of [...exporters.values()].toSorted((a, b) => b.lastSeen - a.lastSeen)) {
      const text = textOf(kept);
      bytes += Buffer.byteLength(text) + 2;
      if (bytes <= this.#maxFileBytes) texts.push(text);
    }
    const leftOut = exporters.size - texts.length;
    if (leftOut > 0) {
      this.#counts.leftOut.add(leftOut);
      this.#log.warn({ exporters: leftOut }, "a file of exporters' state is full: some are left out");
    }
    return encodeStateFile(texts);
  }

  async #save(shard: Shard): Promise<void> {
    const began = this.#clock.monotonic();
    shard.isDirty = false;
    try {
      await this.#files.replace(shard.name, this.#contentOf(shard));
      this.#counts.writes.add();
      const now = this.#clock.monotonic();
      shard.notBefore = now + Math.min(maxGapMs, Math.max(minGapMs, (now - began) * gapPerWrite));
    } catch (error) {
      shard.isDirty = true;
      shard.notBefore = this.#clock.monotonic() + retryMs;
      this.#fail("save", shard.name, error);
    }
  }

  async #saveDue(): Promise<void> {
    for (const shard of this.#shards)
      if (shard.isDirty && shard.notBefore <= this.#clock.monotonic()) await this.#save(shard);
  }

  #schedule(delay: number): void {
    if (this.#timer !== undefined || this.#saving !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#saving = this.#saveDue().finally(() => {
        this.#saving = undefined;
        const next = Math.min(...this.#shards.filter(({ isDirty }) => isDirty).map(({ notBefore }) => notBefore));
        if (Number.isFinite(next)) this.#schedule(Math.max(soonMs, next - this.#clock.monotonic()));
      });
    }, delay);
    this.#timer.unref();
  }
}

function keep({ exporters }: Shard, state: ExporterState): void {
  exporters.set(stateKey(state.address, state.relay), { content: state, lastSeen: state.lastSeen });
}

/** A state may change many times before it is written, so its text is made then. */
function textOf(kept: Kept): string {
  if (typeof kept.content !== "string") kept.content = writeExporterState(kept.content);
  return kept.content;
}

function createStateMetrics(metrics: Metrics, exporters: () => number) {
  metrics.gaugeFrom("netgloss_flow_state_exporters", "Exporters whose state is kept over a restart.", [], exporters);
  const counter = (name: string, help: string, labels: LabelNames = []) =>
    metrics.counter(`netgloss_flow_state_${name}_total`, help, labels);
  return {
    writes: counter("writes", "Files of exporters' state written."),
    failures: counter("failures", "Files of exporters' state that could not be read or written.", {
      operation: ["open", "load", "save", "set_aside"] satisfies StateOperation[],
    }),
    ignored: counter("ignored", "Files of exporters' state that could not be used at start.", {
      reason: Object.keys(ignoreReasons),
    }),
    leftOut: counter("left_out", "Exporters left out of a file of exporters' state because it was full."),
  };
}
