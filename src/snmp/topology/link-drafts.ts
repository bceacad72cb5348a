import type { DevicePorts, Port } from "./device-ports.ts";
import type { DeviceTables, RowKind } from "./device-tables.ts";

/** The kinds of evidence for a link. */
export const evidenceKinds = ["lldp", "cdp", "stp", "forwarding", "subnet", "arp", "ospf", "bgp"] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

export interface Evidence {
  readonly kind: EvidenceKind;
  /** The device, as `ip:port`, in whose tables the evidence is. */
  readonly by: string;
  /** The time at which they were read, in ms since the epoch. */
  readonly at: number;
}

/**
 * The confidence in a link. `confirmed`: both ends, or two independent facts, show it, and nothing contradicts it. `unsure`: something
 * contradicts it.
 */
export const confidences = ["confirmed", "likely", "unsure"] as const;
export type Confidence = (typeof confidences)[number];

/** One end of a link: a polled device, or one that is only known from its neighbour. */
export interface LinkEnd {
  /** `ip:port` of a polled device. */
  readonly device: string | undefined;
  readonly name: string | undefined;
  readonly address: string | undefined;
  readonly port: Port | undefined;
  /** The aggregated interface of which the port is a part. */
  readonly aggregate: Port | undefined;
}

export interface Link {
  /** The identifier, which stays the same for the same two ports as long as their names do. */
  readonly id: string;
  readonly layer: 2 | 3;
  readonly a: LinkEnd;
  readonly b: LinkEnd;
  readonly confidence: Confidence;
  readonly evidence: readonly Evidence[];
  /** The facts that contradict it, as sentences. */
  readonly doubts: readonly string[];
}

/** A device with the tables for look-ups of it. */
export interface Node {
  readonly tables: DeviceTables;
  readonly ports: DevicePorts;
  /** The ports at which MAC addresses of other devices were learnt. */
  readonly seen: Map<Node, Seen[]>;
  /** The devices whose MAC addresses were learnt, by {@link DevicePorts.wholeOf}. */
  readonly behind: Map<string, Node[]>;
  /** The MAC addresses of its ARP tables by interface and address; undefined before the first use. */
  arp: Map<number, Map<string, Set<string>>> | undefined;
}

/** A port at which MAC addresses of a device were learnt. */
export type Seen = {
  readonly port: Port;
  /** {@link DevicePorts.wholeOf} */
  readonly whole: string;
  readonly macs: string[];
};

const tableOf: Readonly<Record<EvidenceKind, RowKind>> = {
  lldp: "neighbor",
  cdp: "neighbor",
  stp: "designated",
  forwarding: "forwarding",
  subnet: "address",
  arp: "arp",
  ospf: "peer",
  bgp: "peer",
};

/**
 * The fact behind each kind of evidence for the device at the other end. LLDP and spanning tree know one of its MAC addresses. Networks
 * and sessions know an IP address. Another device may have that, too, unless its router id or MAC address is known.
 */
const factOf: Partial<Readonly<Record<EvidenceKind, string>>> = {
  lldp: "announced",
  stp: "announced",
  cdp: "name",
  arp: "mac",
  ospf: "router",
  bgp: "router",
};

/** Adds a value to those of a key. */
export function push<K, V>(table: Map<K, V[]>, key: K, value: V): void {
  const values = table.get(key);
  if (values === undefined) table.set(key, [value]);
  else values.push(value);
}

/** A link in progress: its two devices, the known ports, and the facts for and against it. */
export class LinkDraft {
  readonly layer: Link["layer"];
  readonly ends: readonly [Node, Node];
  readonly ports: [Port | undefined, Port | undefined] = [undefined, undefined];
  readonly evidence: Evidence[] = [];
  readonly doubts = new Set<string>();
  /** The evidence that knows the other end only by an IP address. */
  readonly #byAddress = new Set<Evidence>();

  constructor(layer: Link["layer"], a: Node, b: Node) {
    this.layer = layer;
    this.ends = [a, b];
  }

  portOf(node: Node): Port | undefined {
    return this.ports[this.#side(node)];
  }

  /** Sets the port of one end. A part of an aggregated interface is preferred to the whole. */
  setPort(node: Node, port: Port | undefined): void {
    const side = this.#side(node);
    const earlier = this.ports[side];
    if (port === undefined || (earlier !== undefined && node.ports.aggregateOf(earlier) !== undefined)) return;
    if (earlier === undefined || port.index !== undefined) this.ports[side] = port;
  }

  /** Reports whether a port is, or may be, that of this end. */
  fits(node: Node, port: Port | undefined): boolean {
    const own = this.portOf(node);
    // A name that no interface of the device has may be that of any interface.
    if (own?.index === undefined || port?.index === undefined) return true;
    // Each subinterface has links of layer 3 of its own.
    return this.layer === 3 ? own.index === port.index : node.ports.areOne(own, port);
  }

  /** Adds evidence. @param isByAddress true if it knows the other end only by an IP address. */
  add(kind: EvidenceKind, by: Node, isByAddress = false): void {
    const { id } = by.tables;
    let evidence = this.evidence.find((known) => known.kind === kind && known.by === id);
    if (evidence === undefined) {
      evidence = { kind, by: id, at: by.tables.readAt(tableOf[kind]) ?? 0 };
      this.evidence.push(evidence);
      if (isByAddress) this.#byAddress.add(evidence);
    } else if (!isByAddress) this.#byAddress.delete(evidence);
  }

  has(kind: EvidenceKind, by?: Node): boolean {
    return this.evidence.some((known) => known.kind === kind && (by === undefined || known.by === by.tables.id));
  }

  finish(): Link {
    const { layer } = this;
    const [a, b] = this.ends.map((node, side) => endOf(node, this.ports[side])) as [LinkEnd, LinkEnd];
    return {
      id: `${layer} ${portKey(a)} ${portKey(b)}`,
      layer,
      a,
      b,
      confidence: this.#confidence(),
      evidence: this.evidence,
      doubts: [...this.doubts],
    };
  }

  #side(node: Node): 0 | 1 {
    return this.ends[0] === node ? 0 : 1;
  }

  #confidence(): Confidence {
    if (this.doubts.size > 0) return "unsure";
    if (!this.ports.every((port) => port?.index !== undefined)) return "likely";
    const facts = new Set<string>();
    const saying = new Set<string>();
    for (const one of this.evidence) {
      const fact = factOf[one.kind];
      if (this.#byAddress.has(one)) facts.add("address");
      else if (fact !== undefined) {
        facts.add(fact);
        saying.add(one.by);
      }
    }
    // A learnt address may be that of a device further away, so it only supports an announcement of the other end.
    const isSupported = this.ends.some((node, side) => {
      const other = this.ends[1 - side] as Node;
      return (this.has("lldp", node) || this.has("stp", node)) && this.has("forwarding", other);
    });
    return saying.size === 2 || facts.size > 1 || isSupported ? "confirmed" : "likely";
  }
}

/** Returns the end of a link at a polled device. */
export function endOf({ tables, ports }: Node, port: Port | undefined): LinkEnd {
  const aggregate = port && ports.aggregateOf(port);
  return { device: tables.id, name: tables.name, address: tables.ip, port, aggregate };
}

/** Returns the text for an end in the id of its link. */
export function portKey({ device, name, address, port }: LinkEnd): string {
  return `${device ?? name ?? address ?? "?"}|${port?.index ?? port?.name ?? "?"}`;
}

/** The most links of one layer between two devices; further announcements of agents are ignored. */
const maxLinksOfPair = 256;

/** The links of one layer between polled devices in progress, by their two devices. */
export class LinkDrafts {
  readonly #byPair = new Map<string, LinkDraft[]>();
  readonly #layer: Link["layer"];
  readonly #leftOut: () => void;

  /** @param leftOut called for each link beyond the limit. */
  constructor(layer: Link["layer"], leftOut: () => void) {
    this.#layer = layer;
    this.#leftOut = leftOut;
  }

  *[Symbol.iterator](): Generator<LinkDraft> {
    for (const drafts of this.#byPair.values()) yield* drafts;
  }

  between(a: Node, b: Node): readonly LinkDraft[] {
    return this.#byPair.get(pairKey(a, b)) ?? [];
  }

  /**
   * Returns the link between two ports; it begins one if no existing link may be the same. Undefined if there are too many. An unknown
   * port may be any port. If there are several links of two devices, the one in which the other port is known counts.
   */
  at(a: Node, aPort: Port | undefined, b: Node, bPort: Port | undefined): LinkDraft | undefined {
    const known = this.between(a, b).filter((draft) => draft.fits(a, aPort) && draft.fits(b, bPort));
    const isKnown = (draft: LinkDraft): boolean =>
      (aPort?.index !== undefined && draft.portOf(a)?.index !== undefined) ||
      (bPort?.index !== undefined && draft.portOf(b)?.index !== undefined);
    const draft = known.find(isKnown) ?? known[0] ?? this.#begin(a, b);
    if (draft === undefined) return undefined;
    draft.setPort(a, aPort);
    draft.setPort(b, bPort);
    return draft;
  }

  #begin(a: Node, b: Node): LinkDraft | undefined {
    const [first, second] = a.tables.id < b.tables.id ? [a, b] : [b, a];
    const draft = new LinkDraft(this.#layer, first, second);
    const key = pairKey(a, b);
    const drafts = this.#byPair.get(key);
    if (drafts === undefined) this.#byPair.set(key, [draft]);
    else if (drafts.length < maxLinksOfPair) drafts.push(draft);
    else {
      this.#leftOut();
      return undefined;
    }
    return draft;
  }
}

function pairKey(a: Node, b: Node): string {
  const [one, other] = [a.tables.id, b.tables.id];
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
