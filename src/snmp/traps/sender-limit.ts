import type { Clock } from "../../report/index.ts";

/** Lets each sender have this many notifications a second, and counts what it sent beyond. */
export interface SenderLimit {
  /** Whether one more of this sender counts. */
  admits(sender: string): boolean;
  /** How many of the sender were left out since this was asked last. */
  takeLeftOut(sender: string): number;
}

interface Sender {
  tokens: number;
  at: number;
  leftOut: number;
}

/** Senders that are remembered; the ones that were silent longest go first. */
const maxSenders = 10_000;
/** How many seconds' worth may come at once. */
const burstSeconds = 5;

/** @param perSecond 0 is no limit. */
export function createSenderLimit(perSecond: number, clock: Clock): SenderLimit {
  const senders = new Map<string, Sender>();
  const burst = perSecond * burstSeconds;
  return {
    admits(name) {
      if (perSecond === 0) return true;
      const now = clock.monotonic();
      const sender = senders.get(name) ?? { tokens: burst, at: now, leftOut: 0 };
      senders.delete(name);
      senders.set(name, sender);
      if (senders.size > maxSenders) senders.delete(senders.keys().next().value as string);
      sender.tokens = Math.min(burst, sender.tokens + ((now - sender.at) / 1000) * perSecond);
      sender.at = now;
      if (sender.tokens < 1) {
        sender.leftOut++;
        return false;
      }
      sender.tokens--;
      return true;
    },
    takeLeftOut(name) {
      const sender = senders.get(name);
      const leftOut = sender?.leftOut ?? 0;
      if (sender !== undefined) sender.leftOut = 0;
      return leftOut;
    },
  };
}
