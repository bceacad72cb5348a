import { formatAddress, parseAddress, parseKey, unmapAddress, familyBits } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import type { AnswerConfig } from "./answer-shape.ts";
import type { FlowRow, WeighedRow } from "./flow-sample.ts";
import { isHost, prefixOf, shortest, type Match, type Route } from "./route.ts";

/** Matches against an attack, with figures of how well they separate it from usual traffic. */
export interface Choice {
  /** The prefix of the destinations. */
  readonly prefix: string;
  /** Matches that each take a part of the attack. The figures are of all of them together. */
  readonly matches: readonly Match[];
  /** Share of the attack's bytes that they take, 0 to 1. */
  readonly takes: number;
  /** Share of the earlier bytes that they would have taken, 0 to 1. Undefined where too little is known. */
  readonly harms: number | undefined;
  /** True if they take enough of the attack and little enough of other traffic. */
  readonly fits: boolean;
  readonly attackRows: number;
  readonly usualRows: number;
}

/** Rows to choose matches by, with their bytes per second. */
export interface Observed {
  /** Rows of the alert's key since it came near its limit. */
  readonly moment: readonly WeighedRow[];
  /** Earlier rows of all keys that the same rule would have counted. */
  readonly counted: readonly WeighedRow[];
  /** All earlier rows. */
  readonly usual: readonly WeighedRow[];
}

export const leastTaken = 0.95;
export const mostHarmed = 0.01;

/** With fewer earlier rows, a share of one percent cannot be estimated. */
const leastUsualRows = 50;
const maxMatches = 4;
const maxPorts = 8;
/** A port with a smaller share of the attack is not part of it. */
const leastOfPort = 0.02;
/** A single component must take this share, so that several together still take enough. */
const componentShare = 0.98;
/** A match with a smaller share is not worth a route. */
const leastOfMatch = 0.05;
/** The length of a flow is the mean of its packets, and some exporters count the whole frame. */
const lengthSlack = 20;
const [tcp, udp] = [6, 17];
const [synBit, ackBit] = [0x02, 0x10];
const synBytes = 60;

type Components = { -readonly [Name in keyof Match]: Match[Name] };
const componentNames = [
  "source",
  "protocol",
  "sourcePorts",
  "destinationPorts",
  "packetLength",
  "fragment",
  "syn",
] as const satisfies readonly (keyof Match)[];
const synMask = 1 << componentNames.indexOf("syn");

/** Reports whether a flow consists of fragments. Only the first fragment of a datagram has ports. */
function isFragment({ protocol, sourcePort, destinationPort }: FlowRow): boolean {
  return (protocol === tcp || protocol === udp) && sourcePort === 0 && destinationPort === 0;
}

/** Returns the share of a flow's bytes that asks for a connection: all bytes if it was never answered, else the first packet. */
function synShare({ protocol, flags, bytes }: FlowRow): number {
  if (protocol !== tcp || (flags & synBit) === 0) return 0;
  return (flags & ackBit) === 0 ? 1 : Math.min(1, synBytes / bytes);
}

function meanLength({ bytes, packets }: FlowRow): number {
  return Math.round(bytes / Math.max(1, packets));
}

/** Returns a function for the share of a flow's bytes, 0 to 1, to which a match applies. */
function shareOf(match: Match): (row: FlowRow) => number {
  const isFromThere = match.source === undefined ? undefined : insideOf(match.source);
  return (row) => matchedShare(row, match, isFromThere);
}

function matchedShare(row: FlowRow, match: Match, isFromThere: ((address: string) => boolean) | undefined): number {
  const { protocol, sourcePorts, destinationPorts, packetLength, fragment, syn } = match;
  const isSame =
    (protocol === undefined || row.protocol === protocol) &&
    (isFromThere === undefined || isFromThere(row.source)) &&
    (sourcePorts === undefined || (!isFragment(row) && sourcePorts.includes(row.sourcePort))) &&
    (destinationPorts === undefined || (!isFragment(row) && destinationPorts.includes(row.destinationPort))) &&
    (packetLength === undefined || (meanLength(row) >= packetLength.from && meanLength(row) <= packetLength.to)) &&
    (fragment !== true || isFragment(row));
  return !isSame ? 0 : syn === true ? synShare(row) : 1;
}

/** Returns a function that reports whether a prefix contains an address. It is called for several hundred thousand rows. */
function insideOf(prefix: string): (address: string) => boolean {
  if (isHost(prefix)) {
    const host = prefix.slice(0, prefix.indexOf("/"));
    return (address) => address === host;
  }
  const { family, first, last } = parseKey(prefix);
  // One host often has hundreds of rows.
  const known = new Map<string, boolean>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const address = parseAddress(text);
    const isInside = address?.family === family && first <= address.value && address.value <= last;
    known.set(text, isInside);
    return isInside;
  };
}

/** The excess over earlier traffic: amounts of the moment count, earlier amounts are subtracted. */
class Excess {
  readonly #rows: readonly WeighedRow[];

  constructor(moment: readonly WeighedRow[], counted: readonly WeighedRow[]) {
    this.#rows = [...moment, ...counted.map(({ row, weight }) => ({ row, weight: -weight }))];
  }

  get rows(): readonly WeighedRow[] {
    return this.#rows;
  }

  get total(): number {
    return this.#rows.reduce((sum, { weight }) => sum + weight, 0);
  }

  /** Returns the amounts by a value of rows, largest first. @param valueOf returns undefined for a row without the value. */
  by<T>(valueOf: (row: FlowRow) => T | undefined): [T, number][] {
    const sums = new Map<T, number>();
    for (const { row, weight } of this.#rows) {
      const value = valueOf(row);
      if (value !== undefined) sums.set(value, (sums.get(value) ?? 0) + weight);
    }
    return [...sums].sort(([, a], [, b]) => b - a);
  }
}

/** Returns the first place in part of an ordered list whose value is not smaller than the given one. */
function placeOf(list: readonly { readonly value: bigint }[], value: bigint, from: number, end: number): number {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.value ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the longest prefix whose addresses have this share of the excess; undefined where it would be too short. */
function narrowPrefix(excess: Excess, of: "source" | "destination", share: number): string | undefined {
  const sums = excess
    .by((row) => row[of])
    .flatMap(([text, weight]) => {
      const address = parseAddress(text);
      return address === undefined ? [] : [{ ...unmapAddress(address), weight }];
    });
  const sumOf = (list: readonly { readonly weight: number }[]): number =>
    list.reduce((sum, { weight }) => sum + weight, 0);
  const all = sumOf(sums);
  for (const family of [4, 6] as const) {
    const bits = familyBits(family);
    const inside = sums.filter((each) => each.family === family).toSorted((a, b) => (a.value < b.value ? -1 : 1));
    // The total weight before each place.
    const before = [0];
    for (const { weight } of inside) before.push((before.at(-1) ?? 0) + weight);
    const takes = (from: number, end: number): boolean => (before[end] ?? 0) - (before[from] ?? 0) >= share * all;
    if (all <= 0 || !takes(0, inside.length)) continue;
    let [from, end, first, length] = [0, inside.length, 0n, 0];
    for (; length < bits; length++) {
      const middle = first + (1n << BigInt(bits - length - 1));
      const half = placeOf(inside, middle, from, end);
      if (takes(from, half)) end = half;
      else if (takes(half, end)) [from, first] = [half, middle];
      else break;
    }
    return length < shortest[family] ? undefined : `${formatAddress({ family, value: first })}/${length}`;
  }
  return undefined;
}

function portsOf(excess: Excess, of: "sourcePort" | "destinationPort"): readonly number[] | undefined {
  const { total } = excess;
  const sums = excess.by((row) =>
    (row.protocol === tcp || row.protocol === udp) && !isFragment(row) ? row[of] : undefined,
  );
  const ports = sums.slice(0, maxPorts).filter(([, sum]) => sum >= leastOfPort * total);
  return ports.length === 0 ? undefined : ports.map(([port]) => port).toSorted((a, b) => a - b);
}

/** Returns the narrowest range of lengths that has most of the excess. */
function lengthsOf(excess: Excess): Match["packetLength"] {
  const sums = excess.by(meanLength).toSorted(([a], [b]) => a - b);
  const wanted = componentShare * excess.total;
  let found: { from: number; to: number } | undefined;
  for (let first = 0, end = 0, sum = 0; first < sums.length; sum -= sums[first++]?.[1] ?? 0) {
    while (sum < wanted && end < sums.length) sum += sums[end++]?.[1] ?? 0;
    if (sum < wanted) break;
    const [from = 0, to = 0] = [sums[first]?.[0], sums[end - 1]?.[0]];
    if (found === undefined || to - from < found.to - found.from) found = { from, to };
  }
  return found && { from: Math.max(20, found.from - lengthSlack), to: found.to + lengthSlack };
}

/** Returns the match that each component would be alone. */
function componentsOf(excess: Excess): Components {
  const [protocol] = excess.by((row) => row.protocol)[0] ?? [];
  const hasFragments = excess.by((row) => (isFragment(row) ? true : undefined))[0];
  const hasSyn = excess.rows.reduce((sum, { row, weight }) => sum + weight * synShare(row), 0);
  const found: Components = {};
  const source = narrowPrefix(excess, "source", componentShare);
  const [sourcePorts, destinationPorts] = [portsOf(excess, "sourcePort"), portsOf(excess, "destinationPort")];
  const packetLength = lengthsOf(excess);
  if (source !== undefined) found.source = source;
  if (protocol !== undefined) found.protocol = protocol;
  if (sourcePorts !== undefined) found.sourcePorts = sourcePorts;
  if (destinationPorts !== undefined) found.destinationPorts = destinationPorts;
  if (packetLength !== undefined) found.packetLength = packetLength;
  if ((hasFragments?.[1] ?? 0) > leastOfMatch * excess.total) found.fragment = true;
  if (hasSyn > leastOfMatch * excess.total) found.syn = true;
  return found;
}

interface Candidate {
  readonly match: Match;
  readonly size: number;
  /** Bytes per second of the excess, and of usual traffic. */
  readonly takes: number;
  readonly harms: number;
}

/** Sums rows by the set of components that match them, as bits. */
function sumsByBits(rows: readonly WeighedRow[], components: Components): { all: Float64Array; syn: Float64Array } {
  const [all, syn] = [new Float64Array(1 << componentNames.length), new Float64Array(1 << componentNames.length)];
  const single = componentNames.map((name) =>
    components[name] === undefined ? undefined : shareOf({ [name]: components[name] }),
  );
  for (const { row, weight } of rows) {
    let bits = 0;
    for (const [i, share] of single.entries()) if (share !== undefined && share(row) > 0) bits |= 1 << i;
    all[bits] = (all[bits] as number) + weight;
    syn[bits] = (syn[bits] as number) + weight * synShare(row);
  }
  return { all, syn };
}

/** Returns the matches of all combinations of components. A match on ports or connections names its protocol, or routers refuse it. */
function candidatesOf(excess: Excess, usual: readonly WeighedRow[]): Candidate[] {
  const components = componentsOf(excess);
  const [taken, harmed] = [sumsByBits(excess.rows, components), sumsByBits(usual, components)];
  const sumOf = ({ all, syn }: typeof taken, bits: number): number => {
    const sums = (bits & synMask) === 0 ? all : syn;
    return sums.reduce((sum, weight, of) => ((of & bits) === bits ? sum + weight : sum), 0);
  };
  const candidates: Candidate[] = [];
  for (let bits = 0; bits < 1 << componentNames.length; bits++) {
    const names = componentNames.filter((_, i) => (bits & (1 << i)) !== 0);
    if (names.some((name) => components[name] === undefined)) continue;
    const needsProtocol = names.some((name) => name === "sourcePorts" || name === "destinationPorts" || name === "syn");
    if (needsProtocol && !names.includes("protocol")) continue;
    const match = Object.fromEntries(names.map((name) => [name, components[name]])) as Match;
    candidates.push({ match, size: names.length, takes: sumOf(taken, bits), harms: sumOf(harmed, bits) });
  }
  return candidates;
}

/** Returns the best sufficient candidate: the one with the fewest components, or with the most where usual traffic is unknown. */
function bestOf(candidates: readonly Candidate[], isKnown: boolean): Candidate | undefined {
  const [best] = candidates.toSorted((a, b) =>
    isKnown ? a.size - b.size || a.harms - b.harms || b.takes - a.takes : b.size - a.size || b.takes - a.takes,
  );
  return best;
}

/**
 * Chooses the flow specifications that take an attack and spare other traffic. It prefers few matches, each of few components. They must take
 * {@link leastTaken} of the bytes by which the moment exceeds earlier traffic, and at most {@link mostHarmed} of earlier bytes to the same destinations.
 *
 * @param destination the attacked prefix, where the key of the alert has it.
 * @returns undefined where the rows show no attack, or none to a single prefix.
 */
export function chooseMatches(observed: Observed, destination: string | undefined): Choice | undefined {
  const prefix = destination ?? narrowPrefix(new Excess(observed.moment, observed.counted), "destination", leastTaken);
  if (prefix === undefined) return undefined;
  const isThere = insideOf(prefix);
  const to = (rows: readonly WeighedRow[]): WeighedRow[] => rows.filter(({ row }) => isThere(row.destination));
  let [moment, counted, usual] = [to(observed.moment), to(observed.counted), to(observed.usual)];
  const [attackRows, usualRows] = [moment.length, usual.length];
  const attack = new Excess(moment, counted).total;
  if (attack <= 0) return undefined;
  const usualBytes = usual.reduce((sum, { weight }) => sum + weight, 0);
  const isKnown = usualRows >= leastUsualRows;
  const budget = isKnown ? mostHarmed * usualBytes : Infinity;
  const matches: Match[] = [];
  let [takes, harms] = [0, 0];
  while (matches.length < maxMatches && takes < leastTaken * attack) {
    const candidates = candidatesOf(new Excess(moment, counted), usual).filter((each) => harms + each.harms <= budget);
    const whole = candidates.filter((each) => takes + each.takes >= leastTaken * attack);
    const best = bestOf(whole, isKnown) ?? candidates.toSorted((a, b) => b.takes - a.takes || a.size - b.size)[0];
    if (best === undefined || best.takes < leastOfMatch * attack) break;
    matches.push(best.match);
    takes += best.takes;
    harms += best.harms;
    const share = shareOf(best.match);
    const rest = (rows: readonly WeighedRow[]): WeighedRow[] =>
      rows.map(({ row, weight }) => ({ row, weight: weight * (1 - share(row)) })).filter(({ weight }) => weight > 0);
    [moment, counted, usual] = [rest(moment), rest(counted), rest(usual)];
  }
  const fits = takes >= leastTaken * attack;
  const part = (amount: number, of: number): number => Math.round((1000 * Math.min(amount, of)) / of) / 1000;
  return {
    prefix,
    matches,
    takes: part(takes, attack),
    harms: isKnown ? part(harms, usualBytes) : undefined,
    fits,
    attackRows,
    usualRows,
  };
}

/** Time in milliseconds to wait for rows where there are none. */
const patienceMs = 30_000;

/** A firing alert, with the actions of its rule that are answers. */
export interface Attack {
  readonly alert: string;
  readonly rule: string;
  readonly reason: string;
  /** The address or prefix that the key of the alert names. */
  readonly target: string | undefined;
  readonly actions: readonly string[];
  /** The actions that must not propose: another collector answers by them, or somebody ended such an answer by hand. */
  readonly answered: readonly string[];
  readonly firedAt: number;
  /** Chooses matches by the kept rows. Undefined while there are none. */
  choose(): { readonly choice: Choice | undefined; readonly usualSeconds: number } | undefined;
}

/** The routes to announce against an attack. */
export type Proposal = {
  readonly routes: readonly Route[];
  /** Figures of how well the routes separate the attack from other traffic. */
  readonly evidence?: Omit<Choice, "prefix" | "matches"> & { readonly usualSeconds: number };
  /** Why there are no routes. */
  readonly because?: string;
};

/**
 * Returns the routes against an attack.
 *
 * @param now milliseconds since the epoch.
 * @param mayChoose false where there is no time to choose flow specifications now.
 * @returns undefined while it waits for that time, or for more rows.
 */
export function propose(attack: Attack, config: AnswerConfig, now: number, mayChoose: boolean): Proposal | undefined {
  const prefix = attack.target === undefined ? undefined : prefixOf(attack.target);
  const { communities } = config;
  if (config.kind === "blackhole") {
    if (prefix === undefined)
      return { routes: [], because: `the alert names no address: ${quote(attack.target ?? "")}` };
    const nextHop = prefix.includes(":") ? config.nextHop6 : config.nextHop;
    if (nextHop === undefined) return { routes: [], because: `the action names no next hop for ${prefix}` };
    return { routes: [{ kind: "blackhole", prefix, nextHop, communities }] };
  }
  if (!mayChoose) return undefined;
  const chosen = attack.choose();
  if (chosen?.choice === undefined) {
    if (now - attack.firedAt < patienceMs) return undefined;
    return { routes: [], because: "there are too few rows of the attack to one prefix" };
  }
  const { usualSeconds } = chosen;
  const { prefix: to, matches, ...numbers } = chosen.choice;
  // ExaBGP accepts only whole numbers.
  const bytesPerSecond = Math.ceil(config.rate / 8);
  const routes = matches.map((match): Route => ({ kind: "flowspec", prefix: to, communities, match, bytesPerSecond }));
  const evidence = { ...numbers, usualSeconds: Math.round(usualSeconds) };
  const because = routes.length === 0 ? `nothing tells the attack on ${to} from the rest` : undefined;
  return { routes, evidence, ...(because !== undefined && { because }) };
}

/** Returns why routes need the approval of a person; undefined where they do not. */
export function whyDoubted({ evidence, routes }: Proposal): string | undefined {
  if (evidence?.fits === false) return "it does not tell the attack from the rest: somebody has to allow it";
  const isWide = routes.some(({ prefix }) => !isHost(prefix));
  return evidence !== undefined && evidence.harms === undefined && isWide
    ? "it is about a whole network, and too little is known of the time before: somebody has to allow it"
    : undefined;
}
