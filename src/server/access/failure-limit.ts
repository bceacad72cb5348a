import type { Clock } from "../../base/report/index.ts";

/** How many failures are free, and after how many milliseconds there is one more. A user has more, whom several clients may mistype. */
const freeOfClient = 10;
const freeOfUser = 30;
const refillMs = 6_000;
/** Clients, users and pairs of them that are remembered at a time, and what is kept of a name. */
const maxRemembered = 10_000;
const maxNameLength = 64;

/**
 * Slows down who guesses passwords: from one client, and for one user from many. Where a user has signed in, what others guess does not lock
 * them out.
 */
export class FailureLimit {
  readonly #clients: Budget;
  readonly #users: Budget;
  /** Clients with the users who have signed in there. */
  readonly #known = new Set<string>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clients = new Budget(clock, freeOfClient);
    this.#users = new Budget(clock, freeOfUser);
  }

  /** Returns whether this client has failed too often. */
  isClientBlocked(peer: string | undefined): boolean {
    return this.#clients.isSpent(sourceOf(peer));
  }

  /** Returns whether there were too many failures for this user. */
  isUserBlocked(user: string): boolean {
    return this.#users.isSpent(shortened(user));
  }

  /** Returns whether this user has signed in at this client. */
  isKnown(peer: string | undefined, user: string): boolean {
    return this.#known.has(pairOf(peer, user));
  }

  /** @param user undefined where none is named. */
  failed(peer: string | undefined, user?: string): void {
    this.#clients.spend(sourceOf(peer));
    if (user !== undefined) this.#users.spend(shortened(user));
  }

  succeeded(peer: string | undefined, user: string): void {
    this.#known.add(pairOf(peer, user));
    const [oldest] = this.#known;
    if (this.#known.size > maxRemembered && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Failures by key, which are forgiven one by one. */
class Budget {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #free: number;
  readonly #spent = new Map<string, { readonly failures: number; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">, free: number) {
    this.#clock = clock;
    this.#free = free;
  }

  isSpent(key: string): boolean {
    // A part of a failure is given back at once.
    return this.#current(key) > this.#free - 1;
  }

  spend(key: string): void {
    const failures = this.#current(key) + 1;
    // The one that has failed last is at the end; the oldest goes.
    this.#spent.delete(key);
    this.#spent.set(key, { failures, at: this.#clock.monotonic() });
    const [oldest] = this.#spent.keys();
    if (this.#spent.size > maxRemembered && oldest !== undefined) this.#spent.delete(oldest);
  }

  #current(key: string): number {
    const known = this.#spent.get(key);
    if (known === undefined) return 0;
    return Math.max(0, known.failures - (this.#clock.monotonic() - known.at) / refillMs);
  }
}

function shortened(user: string): string {
  return user.slice(0, maxNameLength);
}

function pairOf(peer: string | undefined, user: string): string {
  return `${sourceOf(peer)} ${shortened(user)}`;
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
