import type { OutputMetrics } from "../../output/index.ts";
import { runAfter } from "../../base/file/index.ts";
import {
  limitLog,
  Rounds,
  type Clock,
  type Component,
  type Log,
  type LogLevel,
  type Reporting,
} from "../../base/report/index.ts";
import type { FleetMember, Membership, NoteAnswer, NoteRound } from "../../fleet/index.ts";
import type { Sink } from "../../record/index.ts";
import { setOpen } from "../../explore/sampling/index.ts";
import type {
  Alert,
  AlertDetails,
  AlertEvent,
  AlertQuery,
  Answer,
  FoundAlerts,
  Letter,
  Refused,
  Silence,
  Source,
  WatchOptions,
  WatchStatus,
} from "../../watch/index.ts";
import type { Thread } from "./thread.ts";
import { createRecordFeed, FeedThread, SampledSink, type RecordFeed } from "./record-feed.ts";

/** The data of the thread of Watch. */
export interface WatchThreadData {
  readonly watch: WatchOptions;
  /** The feed of flow records. */
  readonly feed: RecordFeed;
  /** The feed of records other than flows: never sampled. */
  readonly others: RecordFeed;
  readonly logLevel: LogLevel;
}

/** A message that the thread sends on its own: a record of an alert, events of alerts, or a fault; null: there is none any more. */
export type WatchNote =
  | { readonly record: string }
  | { readonly events: readonly AlertEvent[] }
  | { readonly fault: string | null };

/** Receives events of alerts; undefined: some may have been missed. */
export type AlertListener = (events: readonly AlertEvent[] | undefined) => void;

/** A request about an alert or a silence. */
export interface WatchRequest {
  readonly id: string;
  readonly by: string;
  /** True for the token of a program. */
  readonly isToken?: boolean;
  /** The content of the request. */
  readonly given?: unknown;
}

/** A letter, and the action that sends it. */
export interface PostedLetter {
  readonly action: string;
  readonly letter: Letter;
}

/** The result of a request about an answer: the answer, undefined where there is none; or why it was refused. */
export type Decision = { readonly answer: Answer | undefined } | { readonly refused: string };

const name = "watch";
const drainMs = 5000;
const othersBytes = 8 * 2 ** 20;
const stateMs = 10_000;

/** Returns the states of exporters or outputs: a line of JSON for each. */
export type StateLines = (source: Source) => Promise<readonly string[]>;

/**
 * Rules on flows and devices, which are watched in a thread of their own. A broken file of rules makes the collector degraded; the earlier
 * rules stay in use.
 */
export class WatchOutput implements Component {
  readonly name = name;
  /** The receiver of records, for decoding threads and for metrics. */
  readonly taker: FeedThread;
  readonly #sink: Pick<Sink, "write">;
  readonly #health: Reporting["health"];
  /** The fault that the thread reports; a new thread reports it again, before it is ready. */
  #said: string | undefined;

  readonly #states: StateLines;
  readonly #others: SampledSink;
  readonly #othersFeed: RecordFeed;
  #timer: NodeJS.Timeout | undefined;
  #listeners: readonly AlertListener[] = [];

  /**
   * @param states of exporters and outputs, requested if rules concern them.
   * @param sink receives a record of each alert that begins or ends.
   */
  constructor(
    watch: WatchOptions,
    feed: RecordFeed,
    states: StateLines,
    sink: Pick<Sink, "write">,
    outputMetrics: OutputMetrics,
    logLevel: LogLevel,
    reporting: Reporting,
  ) {
    this.#sink = sink;
    this.#states = states;
    const others = createRecordFeed("watch", 1, othersBytes, { whole: 0, sampled: 0 });
    this.#othersFeed = others;
    this.#health = reporting.health;
    this.taker = new FeedThread(
      {
        feed,
        entry: new URL("./watch-thread.js", import.meta.url),
        data: { watch, feed, others, logLevel } satisfies WatchThreadData,
        onNote: (note) => this.#heard(note as WatchNote),
        onChange: (isAlive) => {
          setOpen(others.sampling, isAlive);
          if (!isAlive) this.#said = undefined;
          else this.#hear(undefined);
          this.#setFault(isAlive ? this.#said : "its thread died and is being started again");
        },
      },
      outputMetrics,
      reporting,
    );
    this.#others = new SampledSink({ write() {} }, others, this.taker.report);
  }

  async start(): Promise<void> {
    await this.taker.start();
    setOpen(this.#othersFeed.sampling, true);
    this.#timer = setInterval(() => void this.#sendStates(), stateMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#others.flush();
    setOpen(this.#othersFeed.sampling, false);
    await this.taker.stop(drainMs);
  }

  /** Returns a sink that passes on records of devices, and shows them to the rules. */
  alsoTo(sink: Sink): Sink {
    return {
      write: (lines, count) => {
        this.#others.write(Buffer.from(lines.buffer, lines.byteOffset, lines.length), count);
        sink.write(lines, count);
      },
    };
  }

  /** Calls the listener with events of alerts from now on. */
  listen(listener: AlertListener): void {
    this.#listeners = [...this.#listeners, listener];
  }

  /** Finds alerts. @returns undefined while its thread is being restarted. */
  async find(query: AlertQuery): Promise<FoundAlerts | Refused | undefined> {
    return this.taker.thread()?.call("find", query);
  }

  /** Finds an alert. @returns undefined if the id is unknown. */
  async alert(id: string): Promise<AlertDetails | undefined> {
    return this.taker.thread()?.call("alert", id);
  }

  /** Returns the status. @returns undefined while its thread is being restarted. */
  async status(): Promise<WatchStatus | undefined> {
    return this.taker.thread()?.call("status");
  }

  /** Lists the silences. @returns undefined while its thread is being restarted. */
  async silences(): Promise<readonly Silence[] | undefined> {
    return this.taker.thread()?.call("silences");
  }

  /** Acknowledges an alert. @returns the alert; undefined if the id is unknown. */
  async acknowledge(request: WatchRequest): Promise<Alert | undefined> {
    return this.taker.thread()?.call("acknowledge", request);
  }

  /** Snoozes an alert. @returns the alert; undefined if the id is unknown. */
  async snooze(request: WatchRequest): Promise<Alert | Refused | undefined> {
    return this.taker.thread()?.call("snooze", request);
  }

  /** Creates a silence. @returns undefined while its thread is being restarted. */
  async silence(request: WatchRequest): Promise<Silence | Refused | undefined> {
    return this.taker.thread()?.call("silence", request);
  }

  /** Ends a silence. @returns the silence; undefined if no active silence has the id. */
  async endSilence(request: WatchRequest): Promise<Silence | undefined> {
    return this.taker.thread()?.call("endSilence", request);
  }

  /** Tests an action. @returns undefined where there is no such action. @throws Error with why it does not work. */
  async test(action: string): Promise<true | undefined> {
    return this.taker.thread()?.call("test", action);
  }

  /** Returns the names of the actions that take letters; undefined while its thread is being restarted. */
  async letterActions(): Promise<readonly string[] | undefined> {
    return this.taker.thread()?.call("letterActions");
  }

  /**
   * Sends a letter by an action, with the retries of notices.
   *
   * @returns why it was given up; undefined: it was sent.
   * @throws Error where it can be posted again; also when the thread dies.
   */
  async post(posted: PostedLetter): Promise<string | undefined> {
    const thread = this.taker.thread();
    if (thread === undefined) throw new Error("the thread that watches flows is being started again");
    return thread.call("post", posted);
  }

  /** Takes back a letter that is not being sent yet. */
  takeBack(id: string): void {
    this.taker.thread()?.post("takeBack", id);
  }

  /** Lists the answers. @returns undefined while its thread is being restarted. */
  async answers(): Promise<readonly Answer[] | undefined> {
    return this.taker.thread()?.call("answers");
  }

  /** Allows an answer, or withdraws it. @returns undefined while its thread is being restarted. */
  async decide(decision: "allow" | "withdraw", seen: WatchRequest): Promise<Decision | undefined> {
    return this.taker.thread()?.call(decision, seen);
  }

  /** Sends notices again that an action refused. @returns their number; undefined where there is no such action. */
  async resend(action: string): Promise<number | undefined> {
    return this.taker.thread()?.call("resend", action);
  }

  /** Rereads the file of rules. Resolves when that is done; immediately while its thread is being restarted. */
  async reload(): Promise<void> {
    try {
      await this.taker.thread()?.call("reload");
    } catch {
      // The thread died meanwhile; the next one reads the file at its start.
    }
  }

  async #sendStates(): Promise<void> {
    try {
      const sources = (await this.taker.thread()?.call<readonly Source[]>("sources")) ?? [];
      const lines = (await Promise.all(sources.map((source) => this.#states(source)))).flat();
      if (lines.length > 0) this.#others.write(Buffer.from(`${lines.join("\n")}\n`), lines.length);
    } catch {
      // The thread died meanwhile; the next one is asked when it is ready.
    }
  }

  #heard(note: WatchNote): void {
    if ("fault" in note) this.#setFault((this.#said = note.fault ?? undefined));
    else if ("events" in note) this.#hear(note.events);
    else this.#sink.write(Buffer.from(note.record), 1);
  }

  #hear(events: readonly AlertEvent[] | undefined): void {
    for (const listener of this.#listeners) listener(events);
  }

  #setFault(fault: string | undefined): void {
    this.#health.set({ name, ready: true, ...(fault !== undefined && { degraded: true, detail: fault }) });
  }
}

/** The interval between exchanges with the others, milliseconds. */
const roundMs = 500;

/** The means by which a collector of a fleet shares its alerts. */
export interface WatchFleetPorts {
  /** Returns the thread of Watch; undefined while it is being restarted. */
  readonly thread: () => Pick<Thread, "call"> | undefined;
  readonly membership: Pick<Membership, "member" | "leaseMs" | "session" | "problem">;
  /** Exchanges notes with the database. @throws Error while the database is away. */
  readonly exchange: (member: FleetMember, round: NoteRound) => Promise<NoteAnswer>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Passes alerts between the thread of Watch and the other collectors of the fleet. While the lease holds, alerts that cannot be exchanged
 * wait; that lasts only a moment. Without a lease this collector goes on alone; right after its start, it first waits for the time of a lease.
 * It also goes on alone when exchanges fail for that time, because the database refuses them.
 */
export class WatchFleet implements Component {
  readonly name = "alerts of the fleet";
  readonly #ports: WatchFleetPorts;
  readonly #rounds: Rounds;
  #aloneFrom = 0;
  /** The time since which all exchanges have failed, by the monotonic clock. */
  #failingSince: number | undefined;

  constructor(ports: WatchFleetPorts) {
    this.#ports = ports;
    const log = limitLog(ports.log, ports.clock);
    this.#rounds = new Rounds(
      () => this.#round(),
      (error) => {
        log.warn({ error }, "alerts were not exchanged with the fleet");
        return roundMs;
      },
      runAfter,
    );
  }

  start(): Promise<void> {
    const { clock, membership } = this.#ports;
    this.#aloneFrom = clock.monotonic() + membership.leaseMs;
    return this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #round(): Promise<number> {
    const { thread: threadOf, membership, exchange, clock } = this.#ports;
    const thread = threadOf();
    const session = membership.session();
    if (thread === undefined) return roundMs;
    if (session === undefined) {
      this.#failingSince = undefined;
      if (clock.monotonic() >= this.#aloneFrom) await thread.call("goAlone", membership.problem());
      return roundMs;
    }
    this.#aloneFrom = 0;
    const me = { name: membership.member, session };
    const round = await thread.call<NoteRound>("fleetRound", me);
    let answer: NoteAnswer | undefined;
    try {
      answer = await exchange(me, round);
      this.#failingSince = undefined;
    } catch (error) {
      const now = clock.monotonic();
      this.#failingSince ??= now;
      if (now - this.#failingSince >= membership.leaseMs) await thread.call("goAlone", (error as Error).message);
      throw error;
    } finally {
      await thread.call("fleetTake", answer);
    }
    return roundMs;
  }
}
