import { promises } from "node:dns";
import {
  type AddressNumber,
  addressNumber,
  addressOfNumber,
  addressScope,
  type AddressScope,
} from "../address/address-limbs.ts";
import { type Address, formatAddress } from "../../base/ip/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import {
  createFactRenderer,
  Listeners,
  type AddressSource,
  type FactRenderer,
  type FoundFacts,
} from "../address/address-source.ts";
import { RecentCache } from "../recent-cache.ts";

/** The objects whose addresses get host names. */
export const namedObjects: ReadonlySet<string> = new Set(["flow.src", "flow.dst", "flow.export"]);

/**
 * Returns the host name of a PTR record in the form for records: lower case, without the dot of the root.
 *
 * @returns undefined if it is no host name, because anybody may put any bytes into the reverse zone of their addresses. A host name has
 *   letters, digits, `-` and `_`, in labels of 1 to 63 and 253 characters in all (RFC 1035 section 2.3.4, RFC 1123 section 2.1).
 */
export function readHostName(text: string): string | undefined {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (name.length > 253) return undefined;
  return name.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? name : undefined;
}

const bits = 16;

/**
 * Filters out most addresses that are not in a set, by one read of a small memory; a set of thousands takes many times longer. What was
 * added more than once must be deleted as often. It is for fewer than 65 536 addresses, so that no count exceeds 16 bits.
 */
class CountingFilter {
  readonly #counts = new Uint16Array(1 << bits);

  /** @returns false if the address is certainly not there. */
  mayHave(number: AddressNumber): boolean {
    return this.#counts[slotOf(number)] !== 0;
  }

  add(number: AddressNumber): void {
    const slot = slotOf(number);
    this.#counts[slot] = (this.#counts[slot] as number) + 1;
  }

  delete(number: AddressNumber): void {
    const slot = slotOf(number);
    this.#counts[slot] = (this.#counts[slot] as number) - 1;
  }
}

function slotOf(number: AddressNumber): number {
  const word = typeof number === "number" ? number : Number(BigInt.asIntN(32, number ^ (number >> 64n)));
  return Math.imul(word, 0x9e37_79b1) >>> (32 - bits);
}

/**
 * A resolver of PTR records. It does not use `reverse`, which also reads the hosts file and reports a server's failure as a missing
 * name.
 */
export type Resolver = Pick<promises.Resolver, "resolvePtr" | "cancel">;

/**
 * Creates a resolver.
 *
 * @param servers addresses, each with or without a port; the servers of the host if empty.
 * @param timeoutMs for one try; there are two.
 */
export function createResolver(servers: readonly string[], timeoutMs: number): Resolver {
  const resolver = new promises.Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

/** Returns the name of an address in the reverse zone (RFC 1035 section 3.5, RFC 3596 section 2.5). */
function reverseName({ family, value }: Address): string {
  if (family === 4) {
    const number = Number(value);
    return `${number & 255}.${(number >>> 8) & 255}.${(number >>> 16) & 255}.${number >>> 24}.in-addr.arpa`;
  }
  return `${[...value.toString(16).padStart(32, "0")].toReversed().join(".")}.ip6.arpa`;
}

export interface HostNameOptions {
  readonly resolver: Resolver;
  readonly resolvePrivate: boolean;
  readonly resolvePublic: boolean;
  /** The most queries at the same time. */
  readonly concurrency: number;
  /** The most addresses that wait for a query, fewer than 65 000. Further ones are queried when they are seen again. */
  readonly maxQueued: number;
  /** The most answers to keep. */
  readonly maxCached: number;
  /** The time for which a name counts, in ms. After it the old name stays in use until the new one is known. */
  readonly ttlMs: number;
  /** The time for which a missing name counts, in ms. */
  readonly negativeTtlMs: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The time after which an address is queried again if its query failed or the queue was full. */
const retryMs = 60_000;
const queueFullMs = 5000;

/** The codes by which name servers report that an address has no name. */
const noNameCodes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA"]);

/** The answer for an address, without facts if it has no name, and the time until which it counts. */
type KnownName = readonly [facts: FactRenderer | undefined, expires: number];

/**
 * Finds host names of addresses by reverse DNS (`.host.name`). It never waits: a new address is queued, and reported when its answer
 * arrives. Names that are not valid host names are ignored.
 */
export class HostNameSource implements AddressSource, Component {
  readonly name = "reverse DNS";
  readonly objects = namedObjects;
  readonly #options: HostNameOptions;
  readonly #log: Log;
  readonly #listeners = new Listeners();
  readonly #known: RecentCache<KnownName, AddressNumber>;
  readonly #counts = { hits: 0, queries: 0, names: 0, noName: 0, failures: 0, badNames: 0, dropped: 0 };
  /** The queued addresses, in order of arrival. */
  readonly #queued = new Set<AddressNumber>();
  readonly #running = new Map<AddressNumber, Promise<void>>();
  /** The filter of addresses that are queued or being queried. */
  readonly #filter = new CountingFilter();
  #isRunning = false;
  #isFull = false;

  constructor(options: HostNameOptions) {
    this.#options = options;
    this.#log = limitLog(options.log, options.clock);
    this.#known = new RecentCache(options.maxCached);
    this.#registerMetrics(options.metrics);
  }

  find(a: number, b: number, c: number, d: number, found: FoundFacts): number {
    if (!this.#mayAsk(addressScope(a, b, c, d))) return Number.POSITIVE_INFINITY;
    const number = addressNumber(a, b, c, d);
    const known = this.#known.get(number);
    if (known !== undefined) {
      const [facts, expires] = known;
      if (facts !== undefined) found.add(facts, 0);
      const now = this.#options.clock.monotonic();
      if (now < expires) {
        this.#counts.hits++;
        return expires - now;
      }
    }
    const isAsked = this.#filter.mayHave(number) && (this.#queued.has(number) || this.#running.has(number));
    return isAsked || !this.#isRunning || this.#enqueue(number) ? Number.POSITIVE_INFINITY : queueFullMs;
  }

  watch(changed: (address: Address | undefined) => void): () => void {
    return this.#listeners.add(changed);
  }

  async start(): Promise<void> {
    this.#isRunning = true;
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    for (const number of this.#queued) this.#filter.delete(number);
    this.#queued.clear();
    this.#options.resolver.cancel();
    await Promise.all(this.#running.values());
  }

  #mayAsk(scope: AddressScope): boolean {
    const { resolvePrivate, resolvePublic } = this.#options;
    return scope === "public" ? resolvePublic : scope === "private" && resolvePrivate;
  }

  /** @returns true if there was room. */
  #enqueue(number: AddressNumber): boolean {
    const { maxQueued, concurrency } = this.#options;
    if (this.#queued.size >= maxQueued) {
      this.#counts.dropped++;
      // One log line each time that the queue fills: a scan brings hundreds of thousands of addresses a second.
      if (!this.#isFull) {
        this.#log.warn({ maxQueued }, "too many addresses wait for the name servers; some have no host name for now");
      }
      this.#isFull = true;
      return false;
    }
    this.#queued.add(number);
    this.#filter.add(number);
    if (this.#running.size < concurrency) this.#pump();
    return true;
  }

  #pump(): void {
    const { maxQueued, concurrency } = this.#options;
    for (const number of this.#queued) {
      if (this.#running.size >= concurrency) return;
      this.#queued.delete(number);
      if (this.#queued.size < maxQueued / 2) this.#isFull = false;
      const run = this.#query(number, addressOfNumber(number)).finally(() => {
        this.#running.delete(number);
        this.#filter.delete(number);
        if (this.#isRunning) this.#pump();
      });
      this.#running.set(number, run);
    }
  }

  async #query(number: AddressNumber, address: Address): Promise<void> {
    const counts = this.#counts;
    const { resolver, ttlMs, negativeTtlMs } = this.#options;
    counts.queries++;
    try {
      const given = await resolver.resolvePtr(reverseName(address));
      const name = given.map(readHostName).find((found) => found !== undefined);
      if (name !== undefined) {
        counts.names++;
        this.#keep(number, address, createFactRenderer({ fields: [[".host.name", name]] }), ttlMs);
        return;
      }
      if (given.length > 0) counts.badNames++;
      else counts.noName++;
      this.#keep(number, address, undefined, negativeTtlMs);
    } catch (error) {
      if (!this.#isRunning) return;
      const code = (error as NodeJS.ErrnoException).code ?? "unknown";
      if (noNameCodes.has(code)) {
        counts.noName++;
        this.#keep(number, address, undefined, negativeTtlMs);
        return;
      }
      counts.failures++;
      this.#log.warn({ address: formatAddress(address), code }, "a name server did not answer for an address");
      this.#keep(number, address, this.#known.get(number)?.[0], retryMs);
    }
  }

  #keep(number: AddressNumber, address: Address, facts: FactRenderer | undefined, forMs: number): void {
    this.#known.set(number, [facts, this.#options.clock.monotonic() + forMs]);
    this.#listeners.report(address);
  }

  #registerMetrics(metrics: Metrics): void {
    const counts = this.#counts;
    const count = (name: string, help: string, read: () => number): void =>
      metrics.counterFrom(`netgloss_enrich_dns_${name}_total`, help, [], read);
    const gauge = (name: string, help: string, read: () => number): void =>
      metrics.gaugeFrom(`netgloss_enrich_dns_${name}`, help, [], read);
    count("cache_hits", "Addresses whose name, or that they have none, was known.", () => counts.hits);
    count("cache_evictions", "Answers dropped to make room.", () => this.#known.evictions);
    count("queries", "Queries for the name of an address.", () => counts.queries);
    count("names", "Queries that gave a name.", () => counts.names);
    count("no_name", "Queries that said that the address has no name.", () => counts.noName);
    count("bad_names", "Queries whose names are no host names, so not used.", () => counts.badNames);
    count(
      "failures",
      "Queries that had no answer, or one that is a failure of the name server.",
      () => counts.failures,
    );
    count("queue_drops", "Addresses not asked for because too many waited.", () => counts.dropped);
    gauge("cached_addresses", "Addresses with a known answer.", () => this.#known.size);
    gauge("queued", "Addresses that wait to be asked for.", () => this.#queued.size);
    gauge("running", "Queries under way.", () => this.#running.size);
  }
}
