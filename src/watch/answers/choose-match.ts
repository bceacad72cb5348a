import { formatAddress, parseAddress, parseKey, unmapAddress, familyBits } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import type { AnswerConfig } from "./answer-shape.ts";
import type { FlowRow, WeighedRow } from "./flow-sample.ts";
import { isHost, prefixOf, shortest, type Match, type Route } from "./route.ts";

/** How well matches tell an attack from what is usual. */
export interface Choice {
  /** The prefix of the destinations. */
  readonly prefix: string;
  /** Each takes a part of the attack; together they are as good as the numbers say. */
  readonly matches: readonly Match[];
  /** The part of the attack's bytes that they take, 0 to 1. */
  readonly takes: number;
  /** The part of the bytes of before that they would have taken, 0 to 1; undefined: too little is known of it. */
  readonly harms: number | undefined;
  /** True if they take enough of the attack and little enough of the rest. */
  readonly fits: boolean;
  readonly attackRows: number;
  readonly usualRows: number;
}

/** What there is to choose by: rows with their bytes a second. */
export interface Observed {
  /** Rows of the key of an alert since it came near its limit. */
  readonly moment: readonly WeighedRow[];
  /** Rows of before that the same rule would have counted, of all its keys. */
  readonly counted: readonly WeighedRow[];
  /** All rows of before. */
  readonly usual: readonly WeighedRow[];
}

export const leastTaken = 0.95;
export const mostHarmed = 0.01;

/** Fewer rows of before say nothing of a hundredth of it. */
const leastUsualRows = 50;
const maxMatches = 4;
const maxPorts = 8;
/** A port that has a smaller part of the attack is none of it. */
const leastOfPort = 0.02;
/** A single component is to take this part of what it is about, so that several still take enough together. */
const componentShare = 0.98;
/** A match that takes less is not worth a route. */
const leastOfMatch = 0.05;
/** Lengths of flows are means of their packets, and some exporters count the frame. */
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

/** Parts of a datagram but the first have no ports. */
function isFragment({ protocol, sourcePort, destinationPort }: FlowRow): boolean {
  return (protocol === tcp || protocol === udp) && sourcePort === 0 && destinationPort === 0;
}

/** The part of a flow's bytes that asks for a connection: all of one that was never answered, else its first packet. */
function synShare({ protocol, flags, bytes }: FlowRow): number {
  if (protocol !== tcp || (flags & synBit) === 0) return 0;
  return (flags & ackBit) === 0 ? 1 : Math.min(1, synBytes / bytes);
}

function meanLength({ bytes, packets }: FlowRow): number {
  return Math.round(bytes / Math.max(1, packets));
}

/** Gives what tells which packets of a flow a match is about: the part of its bytes, 0 to 1. */
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

/** Gives what tells whether an address is in a prefix; it is asked of some hundred thousand rows. */
function insideOf(prefix: string): (address: string) => boolean {
  if (isHost(prefix)) {
    const host = prefix.slice(0, prefix.indexOf("/"));
    return (address) => address === host;
  }
  const { family, first, last } = parseKey(prefix);
  // Rows of one host come by the hundred.
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

/** What there is more of than before: amounts of the moment count, those of before are taken off. */
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

  /** The amounts by a value of rows, the largest first. @param valueOf undefined: it has none. */
  by<T>(valueOf: (row: FlowRow) => T | undefined): [T, number][] {
    const sums = new Map<T, number>();
    for (const { row, weight } of this.#rows) {
      const value = valueOf(row);
      if (value !== undefined) sums.set(value, (sums.get(value) ?? 0) + weight);
    }
    return [...sums].sort(([, a], [, b]) => b - a);
  }
}

/** The first place in an ordered list, from one place to another, whose value is not smaller. */
function placeOf(list: readonly { readonly value: bigint }[], value: bigint, from: number, end: number): number {
  let [low, high] = [from, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.value ?? value) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The longest prefix whose addresses have this part of the excess; undefined where it would be a short one. */
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
    // What all before each place weigh.
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

/** The narrowest lengths that have most of the excess. */
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

/** What each component would say by itself. */
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
  /** Bytes a second of the excess, and of what is usual. */
  readonly takes: number;
  readonly harms: number;
}

/** Sums of rows by the components that say yes to them, as bits. */
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

/** All matches of some of the components. One that is about ports or connections names its protocol, without which routers do not take it. */
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

/** The best of those that do: the fewest components, or the most where nothing is known of what is usual. */
function bestOf(candidates: readonly Candidate[], isKnown: boolean): Candidate | undefined {
  const [best] = candidates.toSorted((a, b) =>
    isKnown ? a.size - b.size || a.harms - b.harms || b.takes - a.takes : b.size - a.size || b.takes - a.takes,
  );
  return best;
}

/**
 * Chooses the flow specifications that take an attack and leave the rest: the fewest matches, each of the fewest components, that take {@link leastTaken} of the bytes by
 * which the moment is more than before, and {@link mostHarmed} of those of before to the same destinations.
 *
 * @param destination the prefix that is attacked, where the key of the alert says it.
 * @returns undefined where there is no attack in the rows, or none to one prefix.
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

/** How long rows are waited for where there are none. */
const patienceMs = 30_000;

/** An alert that fires, with the actions of its rule that are answers. */
export interface Attack {
  readonly alert: string;
  readonly rule: string;
  readonly reason: string;
  /** The address or prefix that the key of the alert names. */
  readonly target: string | undefined;
  readonly actions: readonly string[];
  /** Those of them that nothing is proposed by: another collector answers, or an answer was ended by hand there. */
  readonly answered: readonly string[];
  readonly firedAt: number;
  /** Chooses matches by the rows that were kept; undefined: there are none as yet. */
  choose(): { readonly choice: Choice | undefined; readonly usualSeconds: number } | undefined;
}

/** What is to be announced against an attack. */
export type Proposal = {
  readonly routes: readonly Route[];
  /** How well the routes tell the attack from the rest. */
  readonly evidence?: Omit<Choice, "prefix" | "matches"> & { readonly usualSeconds: number };
  /** Why there are none. */
  readonly because?: string;
};

/**
 * Makes the routes against an attack.
 *
 * @param now milliseconds since the epoch. @param mayChoose false: there is no time for choosing flow specifications now.
 * @returns undefined where that is waited for, or more rows are.
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
  // ExaBGP takes whole numbers.
  const bytesPerSecond = Math.ceil(config.rate / 8);
  const routes = matches.map((match): Route => ({ kind: "flowspec", prefix: to, communities, match, bytesPerSecond }));
  const evidence = { ...numbers, usualSeconds: Math.round(usualSeconds) };
  const because = routes.length === 0 ? `nothing tells the attack on ${to} from the rest` : undefined;
  return { routes, evidence, ...(because !== undefined && { because }) };
}

/** Says why routes are not announced without somebody who allows it; undefined where it may be. */
export function whyDoubted({ evidence, routes }: Proposal): string | undefined {
  if (evidence?.fits === false) return "it does not tell the attack from the rest: somebody has to allow it";
  const isWide = routes.some(({ prefix }) => !isHost(prefix));
  return evidence !== undefined && evidence.harms === undefined && isWide
    ? "it is about a whole network, and too little is known of the time before: somebody has to allow it"
    : undefined;
}
