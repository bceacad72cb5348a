import { setOpen } from "../../explore/sampling/index.ts";
import { NoteReader, type OutputMetrics, type OutputReport } from "../../output/index.ts";
import type { Component, Log, LogLevel, MetricFamily, Reporting } from "../../base/report/index.ts";
import type { Sink } from "../../record/index.ts";
import type { Alert, WatchOptions, WatchStatus } from "../../watch/index.ts";
import type { RecordFeed } from "./record-feed.ts";
import { startThread, SupervisedThread } from "./thread.ts";

/** The data of the thread of Watch. */
export interface WatchThreadData {
  readonly watch: WatchOptions;
  /** The feed in which it finds records. */
  readonly feed: RecordFeed;
  readonly logLevel: LogLevel;
}

/** A message that the thread sends by itself: a record of an alert, or what is wrong; null: nothing any more. */
export type WatchNote = { readonly record: string } | { readonly fault: string | null };

/** Who has seen which alert. */
export interface Acknowledgement {
  readonly id: string;
  readonly by: string;
}

const name = "watch";
const drainMs = 5000;

/**
 * Rules on flows, which are watched in a thread of its own. A broken file of rules makes the collector degraded; the rules that were
 * read before stay.
 */
export class WatchOutput implements Component {
  readonly name = name;
  /** For those who decode: where records go. */
  readonly feed: RecordFeed;
  readonly report: OutputReport;
  readonly #options: WatchOptions;
  readonly #logLevel: LogLevel;
  readonly #sink: Pick<Sink, "write">;
  readonly #log: Log;
  readonly #health: Reporting["health"];
  readonly #supervised: SupervisedThread;
  /** The fault that the thread reports; a new thread reports it anew, before it is ready. */
  #said: string | undefined;

  /** @param sink is given a record of each alert that begins or ends. */
  constructor(
    options: WatchOptions,
    feed: RecordFeed,
    sink: Pick<Sink, "write">,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    { log, metrics, health }: Reporting,
  ) {
    this.feed = feed;
    this.#options = options;
    this.#logLevel = logLevel;
    this.#sink = sink;
    this.#log = log;
    this.#health = health;
    const queues = feed.lines.map((memory) => new NoteReader(memory));
    this.report = outputMetrics.output(name, () => queues.reduce((sum, queue) => sum + queue.waitingBytes(), 0));
    this.#supervised = this.#supervise();
    metrics.addSource(async () => {
      const families = this.#supervised.thread()?.call<readonly MetricFamily[]>("metrics");
      return (await families?.catch(() => undefined)) ?? [];
    });
  }

  async start(): Promise<void> {
    await this.#supervised.start();
    setOpen(this.feed.sampling, true);
  }

  async stop(): Promise<void> {
    setOpen(this.feed.sampling, false);
    await this.#supervised.stop((thread) => thread.call("stop"), drainMs);
  }

  /** @returns undefined while its thread is being started again. */
  async alerts(): Promise<readonly Alert[] | undefined> {
    return this.#supervised.thread()?.call("alerts");
  }

  /** @returns undefined while its thread is being started again. */
  async status(): Promise<WatchStatus | undefined> {
    return this.#supervised.thread()?.call("status");
  }

  /** @returns the alert; undefined where there is none of the id. */
  async acknowledge(seen: Acknowledgement): Promise<Alert | undefined> {
    return this.#supervised.thread()?.call("acknowledge", seen);
  }

  /** @returns undefined where there is no such action. @throws Error with why it does not work. */
  async test(action: string): Promise<true | undefined> {
    return this.#supervised.thread()?.call("test", action);
  }

  /** Sends again what an action refused. @returns how many notices; undefined where there is no such action. */
  async resend(action: string): Promise<number | undefined> {
    return this.#supervised.thread()?.call("resend", action);
  }

  /** Reads the file of rules again. */
  reload(): void {
    this.#supervised.thread()?.post("reload");
  }

  #supervise(): SupervisedThread {
    const { feed } = this;
    return new SupervisedThread({
      make: (onDeath) =>
        startThread({
          name,
          entry: new URL("./watch-thread.js", import.meta.url),
          data: { watch: this.#options, feed, logLevel: this.#logLevel } satisfies WatchThreadData,
          log: this.#log,
          onNote: (note) => this.#heard(note as WatchNote),
          onDeath,
        }),
      begin: (thread) => thread.call("start"),
      onChange: (isAlive) => {
        setOpen(feed.sampling, isAlive);
        if (!isAlive) this.#said = undefined;
        this.#setFault(isAlive ? this.#said : "its thread died and is being started again");
      },
      log: this.#log,
    });
  }

  #heard(note: WatchNote): void {
    if ("fault" in note) this.#setFault((this.#said = note.fault ?? undefined));
    else this.#sink.write(Buffer.from(note.record), 1);
  }

  #setFault(fault: string | undefined): void {
    this.#health.set({ name, ready: true, ...(fault !== undefined && { degraded: true, detail: fault }) });
  }
}
