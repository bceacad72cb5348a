import type { Clock, Labels, Metrics } from "../../base/report/index.ts";
import type { TrapRefusal } from "./trap.ts";

interface Sender {
  tokens: number;
  at: number;
  leftOut: number;
}

/** The most senders to remember; those that were silent longest are forgotten first. */
const maxSenders = 10_000;
/** The size of a burst, in seconds of the allowed rate. */
const burstSeconds = 5;

/**
 * Limits the notifications of each sender per second, and counts those beyond the limit.
 *
 * @param perSecond 0 means no limit.
 */
export class SenderLimit {
  readonly #perSecond: number;
  readonly #clock: Clock;
  readonly #senders = new Map<string, Sender>();
  readonly #burst: number;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#burst = perSecond * burstSeconds;
  }

  /** Reports whether one more notification of this sender is allowed. */
  admits(name: string): boolean {
    if (this.#perSecond === 0) return true;
    const now = this.#clock.monotonic();
    const sender = this.#senders.get(name) ?? { tokens: this.#burst, at: now, leftOut: 0 };
    this.#senders.delete(name);
    this.#senders.set(name, sender);
    if (this.#senders.size > maxSenders) this.#senders.delete(this.#senders.keys().next().value as string);
    sender.tokens = Math.min(this.#burst, sender.tokens + ((now - sender.at) / 1000) * this.#perSecond);
    sender.at = now;
    if (sender.tokens < 1) {
      sender.leftOut++;
      return false;
    }
    sender.tokens--;
    return true;
  }

  /** Returns the number of notifications of the sender that were left out since the last call. */
  takeLeftOut(name: string): number {
    const sender = this.#senders.get(name);
    const leftOut = sender?.leftOut ?? 0;
    if (sender !== undefined) sender.leftOut = 0;
    return leftOut;
  }
}

/** The refusals that the settings of a sender or of the collector cause. */
const namedRefusals = ["community", "user", "level", "digest", "decryption", "time_window"] as const;
export type NamedRefusal = (typeof namedRefusals)[number];

export function isNamedRefusal(reason: TrapRefusal): reason is NamedRefusal {
  return (namedRefusals as readonly TrapRefusal[]).includes(reason);
}

/** The traps of a sender that were refused for one reason. */
export interface RefusedTraps {
  /** The address of the sender; `others` for senders beyond the limit. */
  readonly sender: string;
  readonly reason: NamedRefusal;
  readonly count: number;
  /** The time of the last one, in ms since the epoch. */
  readonly lastAt: number;
}

/** The most senders in the list, because anyone can send from many addresses. */
const maxRefusedSenders = 1000;

/** The refusals by sender. */
export class SenderRefusals {
  readonly #rows = new Map<string, RefusedTraps>();
  readonly #senders = new Set<string>();

  constructor(metrics: Metrics) {
    metrics.counterFrom(
      "netgloss_snmp_traps_refused_by_sender_total",
      "Notifications refused for their credentials or their time, by sender: others are those beyond 1 000 senders.",
      ["sender", "reason"],
      () => this.#samples(),
    );
  }

  /** Counts a refusal. @param at in ms since the epoch. */
  add(sender: string, reason: NamedRefusal, at: number): void {
    if (this.#senders.size < maxRefusedSenders) this.#senders.add(sender);
    const known = this.#senders.has(sender) ? sender : "others";
    const key = `${known} ${reason}`;
    const count = (this.#rows.get(key)?.count ?? 0) + 1;
    this.#rows.set(key, { sender: known, reason, count, lastAt: at });
  }

  rows(): readonly RefusedTraps[] {
    return [...this.#rows.values()];
  }

  *#samples(): Generator<readonly [Labels, number]> {
    for (const { sender, reason, count } of this.#rows.values()) yield [{ sender, reason }, count];
  }
}
