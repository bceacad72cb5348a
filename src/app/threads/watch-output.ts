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
  /** The feed in which it finds records. */
  readonly feed: RecordFeed;
  /** The feed of records that are no flows: never sampled. */
  readonly others: RecordFeed;
  readonly logLevel: LogLevel;
}

/** A message that the thread sends by itself: a record of an alert, what happened to alerts, or what is wrong; null: nothing any more. */
export type WatchNote =
  | { readonly record: string }
  | { readonly events: readonly AlertEvent[] }
  | { readonly fault: string | null };

/** Takes what happens to alerts; undefined: some of it may have been missed. */
export type AlertListener = (events: readonly AlertEvent[] | undefined) => void;

/** What somebody wants of an alert or a silence. */
export interface WatchRequest {
  readonly id: string;
  readonly by: string;
  /** True for the token of a program. */
  readonly isToken?: boolean;
  /** As the request has it. */
  readonly given?: unknown;
}

/** A letter, and the action that sends it. */
export interface PostedLetter {
  readonly action: string;
  readonly letter: Letter;
}

/** What became of a request about an answer: the answer, undefined where there is none; or why it was refused. */
export type Decision = { readonly answer: Answer | undefined } | { readonly refused: string };

const name = "watch";
const drainMs = 5000;
const othersBytes = 8 * 2 ** 20;
const stateMs = 10_000;

/** Says how exporters or outputs are: a line of JSON for each. */
export type StateLines = (source: Source) => Promise<readonly string[]>;

/**
 * Rules on flows and devices, which are watched in a thread of its own. A broken file of rules makes the collector degraded; the rules that were
 * read before stay.
 */
export class WatchOutput implements Component {
  readonly name = name;
  /** For those who decode, and for metrics. */
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
   * @param states of exporters and outputs, which are asked for where rules are about them.
   * @param sink is given a record of each alert that begins or ends.
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

  /** Gives a sink that passes records of devices on, and shows them to the rules. */
  alsoTo(sink: Sink): Sink {
    return {
      write: (lines, count) => {
        this.#others.write(Buffer.from(lines.buffer, lines.byteOffset, lines.length), count);
        sink.write(lines, count);
      },
    };
  }

  /** Calls the listener with what happens to alerts from now on. */
  listen(listener: AlertListener): void {
    this.#listeners = [...this.#listeners, listener];
  }

  /** @returns undefined while its thread is being started again. */
  async find(query: AlertQuery): Promise<FoundAlerts | Refused | undefined> {
    return this.taker.thread()?.call("find", query);
  }

  /** @returns undefined where there is none of the id. */
  async alert(id: string): Promise<AlertDetails | undefined> {
    return this.taker.thread()?.call("alert", id);
  }

  /** @returns undefined while its thread is being started again. */
  async status(): Promise<WatchStatus | undefined> {
    return this.taker.thread()?.call("status");
  }

  /** @returns undefined while its thread is being started again. */
  async silences(): Promise<readonly Silence[] | undefined> {
    return this.taker.thread()?.call("silences");
  }

  /** @returns the alert; undefined where there is none of the id. */
  async acknowledge(request: WatchRequest): Promise<Alert | undefined> {
    return this.taker.thread()?.call("acknowledge", request);
  }

  /** @returns the alert; undefined where there is none of the id. */
  async snooze(request: WatchRequest): Promise<Alert | Refused | undefined> {
    return this.taker.thread()?.call("snooze", request);
  }

  /** @returns undefined while its thread is being started again. */
  async silence(request: WatchRequest): Promise<Silence | Refused | undefined> {
    return this.taker.thread()?.call("silence", request);
  }

  /** @returns the silence; undefined where there is none of the id that goes on. */
  async endSilence(request: WatchRequest): Promise<Silence | undefined> {
    return this.taker.thread()?.call("endSilence", request);
  }

  /** @returns undefined where there is no such action. @throws Error with why it does not work. */
  async test(action: string): Promise<true | undefined> {
    return this.taker.thread()?.call("test", action);
  }

  /** Names of the actions that take letters; undefined while its thread is being started again. */
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

  /** @returns undefined while its thread is being started again. */
  async answers(): Promise<readonly Answer[] | undefined> {
    return this.taker.thread()?.call("answers");
  }

  /** Allows an answer, or withdraws it. @returns undefined while its thread is being started again. */
  async decide(decision: "allow" | "withdraw", seen: WatchRequest): Promise<Decision | undefined> {
    return this.taker.thread()?.call(decision, seen);
  }

  /** Sends again what an action refused. @returns how many notices; undefined where there is no such action. */
  async resend(action: string): Promise<number | undefined> {
    return this.taker.thread()?.call("resend", action);
  }

  /** Reads the file of rules again. @returns when that is done; at once while its thread is being started again. */
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
      // The thread died meanwhile; it is asked again when it is there.
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

/** The time between two exchanges with the others. */
const roundMs = 500;

/** What a collector of a fleet shares its alerts by. */
export interface WatchFleetPorts {
  /** The thread of Watch; undefined while it is being started again. */
  readonly thread: () => Pick<Thread, "call"> | undefined;
  readonly membership: Pick<Membership, "member" | "leaseMs" | "session" | "problem">;
  /** @throws Error while the database is away. */
  readonly exchange: (member: FleetMember, round: NoteRound) => Promise<NoteAnswer>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Carries alerts between the thread of Watch and the other collectors of the fleet. As long as the lease is held, what cannot be
 * exchanged waits: it is a moment. Without a lease this collector goes on alone, when it starts after as long as a lease lasts; so it does
 * when exchanges fail for as long, because the database refuses them.
 */
export class WatchFleet implements Component {
  readonly name = "alerts of the fleet";
  readonly #ports: WatchFleetPorts;
  readonly #rounds: Rounds;
  #aloneFrom = 0;
  /** Since when no exchange succeeds, by the monotonic clock. */
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
