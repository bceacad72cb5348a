import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Pause, type Metrics } from "../../base/report/index.ts";
import { alertEvent, apiError, type StreamPage } from "../../server/index.ts";
import type { AlertEvent } from "../../watch/index.ts";
import type { WatchOutput } from "../threads/watch-output.ts";

const maxFollowers = 64;
/** The most events that are kept for returning clients, and that wait for a follower. */
const maxKept = 1000;
const maxWaiting = 1000;
/** The interval between empty lines, which detect a client that has gone, milliseconds. */
const aliveMs = 5000;
/** The wait before the thread of Watch is asked again while it starts. */
const againMs = 500;

/** The parts of Watch that the stream needs. */
type AlertSource = Pick<WatchOutput, "listen" | "find">;

/** A client that follows alerts. */
class Follower {
  /** Lines that were not sent yet. */
  #waiting: string[] = [];
  /** True if all current alerts must be sent: at first, and when some lines were left out. */
  #isBehind: boolean;
  readonly #rest = new Pause();

  /** @param waiting lines after the last one that it has; undefined: it has none. */
  constructor(waiting: readonly string[] | undefined) {
    this.#isBehind = waiting === undefined;
    this.#waiting = [...(waiting ?? [])];
  }

  /** Adds lines; undefined: some are lost for everybody. @returns the number left out, which a list of all alerts replaces. */
  give(lines: readonly string[] | undefined): number {
    this.#rest.end();
    if (lines === undefined) {
      this.#isBehind = true;
      this.#waiting = [];
      return 0;
    }
    if (this.#isBehind) return 0;
    if (this.#waiting.length + lines.length <= maxWaiting) {
      this.#waiting.push(...lines);
      return 0;
    }
    const left = this.#waiting.length + lines.length;
    this.#isBehind = true;
    this.#waiting = [];
    return left;
  }

  /** Returns the next lines to send, or `all` alerts; undefined: nothing came for a while. */
  async next(signal: AbortSignal): Promise<readonly string[] | "all" | undefined> {
    if (!this.#isBehind && this.#waiting.length === 0) {
      const wake = (): void => this.#rest.end();
      signal.addEventListener("abort", wake);
      await this.#rest.pause(aliveMs);
      signal.removeEventListener("abort", wake);
    }
    if (this.#isBehind) {
      this.#isBehind = false;
      return "all";
    }
    const lines = this.#waiting;
    this.#waiting = [];
    return lines.length === 0 ? undefined : lines;
  }
}

/**
 * Serves `GET /api/v1/watch/alerts/stream`: events of alerts. A new client gets all alerts first, and so does one that returns too late, or
 * is so slow that events would pile up.
 */
export class AlertStream {
  readonly #watch: AlertSource | undefined;
  readonly #followers = new Set<Follower>();
  /** The run, different each time: numbers start with 1 again. */
  #run = newRun();
  #next = 1;
  /** The last events, the newest last. */
  #kept: readonly string[] = [];
  #left = 0;

  constructor(watch: AlertSource | undefined, metrics: Metrics) {
    this.#watch = watch;
    watch?.listen((events) => this.#take(events));
    metrics.gaugeFrom("netgloss_watch_stream_followers", "Clients that follow alerts.", [], () => [
      [{}, this.#followers.size],
    ]);
    metrics.counterFrom(
      "netgloss_watch_stream_dropped_events_total",
      "Events of alerts that a client was not sent one by one: it was too slow, and got a list of all alerts.",
      ["reason"],
      () => [[{ reason: "slow" }, this.#left]],
    );
  }

  page(): StreamPage {
    return {
      summary:
        "What happens to alerts, as it happens: first a list of all, then one JSON object a line or event for each change",
      parameters: {
        after:
          "The id of the last event that the client has: only what came after it is sent. Also by the header Last-Event-ID. One that is too old, or of another run, begins with a list of all.",
      },
      line: alertEvent,
      idOf: (line) => /^\{"id":"([\w-]{1,100})"/.exec(line)?.[1],
      open: (query, signal) => {
        if (this.#watch === undefined)
          throw apiError(
            "unimplemented",
            "WATCH_DISABLED",
            "no rules are set up: SVC_WATCH_RULES_PATH names their file",
          );
        if (this.#followers.size >= maxFollowers) {
          const message = `no more than ${maxFollowers} clients may follow alerts`;
          throw apiError("resource_exhausted", "TOO_MANY_WATCHERS", message);
        }
        return this.#follow(this.#watch, new Follower(this.#after(query.get("after") ?? "")), signal);
      },
    };
  }

  async *#follow(watch: AlertSource, follower: Follower, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    this.#followers.add(follower);
    try {
      while (!signal.aborted) {
        const next = await follower.next(signal);
        const lines = next === "all" ? await this.#all(watch, follower, signal) : (next ?? [""]);
        yield Buffer.from(lines.map((line) => `${line}\n`).join(""));
      }
    } finally {
      this.#followers.delete(follower);
    }
  }

  /** Returns the line of all alerts. Earlier events may be repeated after it: an event has the whole of its alert. */
  async #all(watch: AlertSource, follower: Follower, signal: AbortSignal): Promise<readonly string[]> {
    const id = this.#idOf(this.#next - 1);
    const list = await watch.find({ hasEvidence: false }).catch(() => undefined);
    if (list !== undefined && "alerts" in list)
      return [JSON.stringify({ id, at: Date.now(), change: "list", ...list, matched: undefined })];
    await pause(againMs, undefined, { signal }).catch(() => {});
    follower.give(undefined);
    return [""];
  }

  #take(events: readonly AlertEvent[] | undefined): void {
    let lines: readonly string[] | undefined;
    if (events === undefined) {
      this.#run = newRun();
      this.#next = 1;
      this.#kept = [];
    } else {
      lines = events.map((event) => JSON.stringify({ id: this.#idOf(this.#next++), ...event }));
      this.#kept = [...this.#kept, ...lines].slice(-maxKept);
    }
    for (const follower of this.#followers) this.#left += follower.give(lines);
  }

  /** Returns the lines after one that a client has; undefined if they are no longer known. */
  #after(id: string): readonly string[] | undefined {
    const [run, number = ""] = id.split("-");
    const missed = this.#next - 1 - Number(number);
    if (run !== this.#run || !/^\d{1,15}$/.test(number) || missed < 0 || missed > this.#kept.length) return undefined;
    return missed === 0 ? [] : this.#kept.slice(-missed);
  }

  #idOf(number: number): string {
    return `${this.#run}-${number}`;
  }
}

const newRun = (): string => randomUUID().slice(0, 8);
