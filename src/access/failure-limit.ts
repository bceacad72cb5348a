import type { Clock } from "../report/index.ts";

/** How many failures are free, and after how many milliseconds there is one more. */
const burst = 10;
const refillMs = 6_000;
/** Sources remembered at a time. */
const maxSources = 10_000;

/** Slows down who guesses passwords. */
export interface FailureLimit {
  /** Whether this client has failed too often to be looked at. */
  isBlocked(peer: string | undefined): boolean;
  failed(peer: string | undefined): void;
}

/** A budget of failures for each client: an IPv4 address, or the /64 of an IPv6 address. */
export function createFailureLimit(clock: Pick<Clock, "monotonic">): FailureLimit {
  const spent = new Map<string, { failures: number; at: number }>();

  const current = (source: string): number => {
    const known = spent.get(source);
    if (known === undefined) return 0;
    return Math.max(0, known.failures - (clock.monotonic() - known.at) / refillMs);
  };
  return {
    // A part of a failure is given back at once.
    isBlocked: (peer) => current(sourceOf(peer)) > burst - 1,
    failed(peer) {
      const source = sourceOf(peer);
      const failures = current(source) + 1;
      // The one that has failed last is at the end; the oldest goes.
      spent.delete(source);
      spent.set(source, { failures, at: clock.monotonic() });
      if (spent.size <= maxSources) return;
      const [oldest] = spent.keys();
      if (oldest !== undefined) spent.delete(oldest);
    },
  };
}

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address. */
export function sourceOf(peer = ""): string {
  const address = peer.replace(/^::ffff:(?=\d+\.)/, "");
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.split("%")[0]?.split("::") ?? [];
  const before = head === "" ? [] : head.split(":");
  const after = tail === "" ? [] : tail.split(":");
  const zeros = address.includes("::") ? Array.from({ length: 8 - before.length - after.length }, () => "0") : [];
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
