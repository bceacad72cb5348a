import { promises } from "node:dns";
import { type AddressNumber, addressNumber, addressOfNumber, addressScope } from "../address/address-limbs.ts";
import { type Address, formatAddress } from "../../base/ip/index.ts";
import { limitLog, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import {
  createFactRenderer,
  createListeners,
  type AddressSource,
  type FactRenderer,
} from "../address/address-source.ts";
import { createRecentCache } from "../recent-cache.ts";

/** The objects whose addresses get host names. */
export const namedObjects: ReadonlySet<string> = new Set(["flow.src", "flow.dst", "flow.export"]);

/**
 * The name that a PTR record gives, fit for a record: without the root's dot, in lower case.
 *
 * @returns undefined for what is no host name: anybody may put any bytes into the reverse zone of addresses of his. Letters,
 *   digits, `-` and `_`, in labels of 1 to 63, 253 characters in all (RFC 1035 section 2.3.4, RFC 1123 section 2.1).
 */
export function readHostName(text: string): string | undefined {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase();
  if (name.length > 253) return undefined;
  return name.split(".").every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) ? name : undefined;
}

/**
 * Says of most addresses that are not among some, by one read of little memory, that they are not: a set of thousands takes many times
 * longer to say it. What was added more than once must be deleted as often.
 */
interface CountingFilter {
  /** False: it is not there. */
  mayHave(number: AddressNumber): boolean;
  add(number: AddressNumber): void;
  delete(number: AddressNumber): void;
}

const bits = 16;

/** For fewer than 65 536 addresses, so that no count goes beyond its 16 bits. */
function createCountingFilter(): CountingFilter {
  const counts = new Uint16Array(1 << bits);
  return {
    mayHave: (number) => counts[placeOf(number)] !== 0,
    add(number) {
      const place = placeOf(number);
      counts[place] = (counts[place] as number) + 1;
    },
    delete(number) {
      const place = placeOf(number);
      counts[place] = (counts[place] as number) - 1;
    },
  };
}

function placeOf(number: AddressNumber): number {
  const word = typeof number === "number" ? number : Number(BigInt.asIntN(32, number ^ (number >> 64n)));
  return Math.imul(word, 0x9e37_79b1) >>> (32 - bits);
}

/** Asks name servers. */
export interface Resolver {
  /** The names of an address by its PTR records. Rejects with an error whose `code` is one of Node's DNS errors. */
  reverse(address: Address): Promise<readonly string[]>;
  /** Makes all that is under way reject. */
  cancel(): void;
}

/**
 * @param servers addresses, each with or without a port; none: those of the host's configuration.
 * @param timeoutMs for one try; there are two.
 */
export function createResolver(servers: readonly string[], timeoutMs: number): Resolver {
  const resolver = new promises.Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    // Not `reverse`: that asks the hosts file, too, and calls a server's failure a name that does not exist.
    reverse: (address) => resolver.resolvePtr(reverseName(address)),
    cancel: () => resolver.cancel(),
  };
}

/** The name under which the reverse zone has an address (RFC 1035 section 3.5, RFC 3596 section 2.5). */
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
  /** How many queries are under way at most. */
  readonly concurrency: number;
  /** How many addresses wait for that at most, fewer than 65 000; those beyond are asked for when they are seen again. */
  readonly maxQueued: number;
  /** How many answers are kept. */
  readonly maxCached: number;
  /** How long a name is used; after that the old one goes on until the new one is known. */
  readonly ttlMs: number;
  /** How long it counts that an address has no name. */
  readonly negativeTtlMs: number;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

export type HostNameSource = AddressSource & Component;

interface Answer {
  /** Undefined when the address has no name. */
  readonly facts: FactRenderer | undefined;
  readonly expires: number;
}

/** An address whose query failed, or had no place in the queue, is asked for again so much later. */
const retryMs = 60_000;
const queueFullMs = 5000;

/** What name servers say of an address that has no name. */
const noNameCodes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA"]);

/**
 * Host names of addresses by reverse DNS (`.host.name`). It never waits: what is asked for the first time is queued, and
 * reported when the answer is there. Names that are no host names are not used.
 */
export function createHostNameSource(options: HostNameOptions): HostNameSource {
  const { resolver, resolvePrivate, resolvePublic, concurrency, maxQueued, ttlMs, negativeTtlMs, clock } = options;
  const log = limitLog(options.log, clock);
  const listeners = createListeners();
  const answers = createRecentCache<Answer, AddressNumber>(options.maxCached);
  const counts = { hits: 0, queries: 0, names: 0, noName: 0, failures: 0, badNames: 0, dropped: 0 };
  /** In the order in which they came. */
  const queued = new Set<AddressNumber>();
  const running = new Map<AddressNumber, Promise<void>>();
  /** Of what is queued or running. */
  const filter = createCountingFilter();
  let isRunning = false;
  let isFull = false;
  registerMetrics(options.metrics, counts, { answers, queued, running });

  const keep = (number: AddressNumber, address: Address, facts: Answer["facts"], forMs: number): void => {
    answers.set(number, { facts, expires: clock.monotonic() + forMs });
    listeners.report(address);
  };

  const query = async (number: AddressNumber, address: Address): Promise<void> => {
    counts.queries++;
    try {
      const given = await resolver.reverse(address);
      const name = given.map(readHostName).find((found) => found !== undefined);
      if (name !== undefined) {
        counts.names++;
        keep(number, address, createFactRenderer({ fields: [[".host.name", name]] }), ttlMs);
        return;
      }
      if (given.length > 0) counts.badNames++;
      else counts.noName++;
      keep(number, address, undefined, negativeTtlMs);
    } catch (error) {
      if (!isRunning) return;
      const code = (error as NodeJS.ErrnoException).code ?? "unknown";
      if (noNameCodes.has(code)) {
        counts.noName++;
        keep(number, address, undefined, negativeTtlMs);
        return;
      }
      counts.failures++;
      log.warn({ address: formatAddress(address), code }, "a name server did not answer for an address");
      keep(number, address, answers.get(number)?.facts, retryMs);
    }
  };

  const pump = (): void => {
    for (const number of queued) {
      if (running.size >= concurrency) return;
      queued.delete(number);
      if (queued.size < maxQueued / 2) isFull = false;
      const run = query(number, addressOfNumber(number)).finally(() => {
        running.delete(number);
        filter.delete(number);
        if (isRunning) pump();
      });
      running.set(number, run);
    }
  };

  const mayAsk = (a: number, b: number, c: number, d: number): boolean => {
    const scope = addressScope(a, b, c, d);
    return scope === "public" ? resolvePublic : scope === "private" && resolvePrivate;
  };

  return {
    name: "reverse DNS",
    objects: namedObjects,
    find(a, b, c, d, found) {
      if (!mayAsk(a, b, c, d)) return Number.POSITIVE_INFINITY;
      const number = addressNumber(a, b, c, d);
      const known = answers.get(number);
      if (known?.facts !== undefined) found.add(known.facts, 0);
      const now = known === undefined ? 0 : clock.monotonic();
      if (known !== undefined && now < known.expires) {
        counts.hits++;
        return known.expires - now;
      }
      if (!isRunning) return Number.POSITIVE_INFINITY;
      if (filter.mayHave(number) && (queued.has(number) || running.has(number))) return Number.POSITIVE_INFINITY;
      if (queued.size >= maxQueued) {
        counts.dropped++;
        // Once for each time that it fills: a scan brings hundreds of thousands a second.
        if (!isFull)
          log.warn({ maxQueued }, "too many addresses wait for the name servers; some have no host name for now");
        isFull = true;
        return queueFullMs;
      }
      queued.add(number);
      filter.add(number);
      if (running.size < concurrency) pump();
      return Number.POSITIVE_INFINITY;
    },
    watch: listeners.add,
    async start() {
      isRunning = true;
    },
    async stop() {
      isRunning = false;
      for (const number of queued) filter.delete(number);
      queued.clear();
      resolver.cancel();
      await Promise.all(running.values());
    },
  };
}

function registerMetrics(
  metrics: Metrics,
  counts: Readonly<Record<"hits" | "queries" | "names" | "noName" | "failures" | "badNames" | "dropped", number>>,
  sizes: {
    readonly answers: { size(): number; evictions(): number };
    readonly queued: { readonly size: number };
    readonly running: { readonly size: number };
  },
): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counterFrom(`netgloss_enrich_dns_${name}_total`, help, [], read);
  count("cache_hits", "Addresses whose name, or that they have none, was known.", () => counts.hits);
  count("cache_evictions", "Answers dropped to make room.", () => sizes.answers.evictions());
  count("queries", "Queries for the name of an address.", () => counts.queries);
  count("names", "Queries that gave a name.", () => counts.names);
  count("no_name", "Queries that said that the address has no name.", () => counts.noName);
  count("bad_names", "Queries whose names are no host names, so not used.", () => counts.badNames);
  count("failures", "Queries that had no answer, or one that is a failure of the name server.", () => counts.failures);
  count("queue_drops", "Addresses not asked for because too many waited.", () => counts.dropped);
  metrics.gaugeFrom("netgloss_enrich_dns_cached_addresses", "Addresses with a known answer.", [], () =>
    sizes.answers.size(),
  );
  metrics.gaugeFrom("netgloss_enrich_dns_queued", "Addresses that wait to be asked for.", [], () => sizes.queued.size);
  metrics.gaugeFrom("netgloss_enrich_dns_running", "Queries under way.", [], () => sizes.running.size);
}
