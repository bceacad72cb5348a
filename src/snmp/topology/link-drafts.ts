import type { DevicePorts, Port } from "./device-ports.ts";
import type { DeviceTables, RowKind } from "./device-tables.ts";

/** What says that a link is there. */
export const evidenceKinds = ["lldp", "cdp", "stp", "forwarding", "subnet", "arp", "ospf", "bgp"] as const;
export type EvidenceKind = (typeof evidenceKinds)[number];

export interface Evidence {
  readonly kind: EvidenceKind;
  /** The device, as `ip:port`, whose tables say so. */
  readonly by: string;
  /** The time at which they were read, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * `confirmed`: both ends say so, or two facts that do not follow from each other, and nothing speaks against it; `unsure`: something
 * does.
 */
export const confidences = ["confirmed", "likely", "unsure"] as const;
export type Confidence = (typeof confidences)[number];

/** One end of a link: a device that is polled, or what its neighbour says of one that is not. */
export interface LinkEnd {
  /** `ip:port` of a polled device. */
  readonly device: string | undefined;
  readonly name: string | undefined;
  readonly address: string | undefined;
  readonly port: Port | undefined;
  /** The aggregated interface that the port is a part of. */
  readonly aggregate: Port | undefined;
}

export interface Link {
  /** The same for the same two ports, as long as they are called the same. */
  readonly id: string;
  readonly layer: 2 | 3;
  readonly a: LinkEnd;
  readonly b: LinkEnd;
  readonly confidence: Confidence;
  readonly evidence: readonly Evidence[];
  /** What speaks against it, as sentences. */
  readonly doubts: readonly string[];
}

/** A device and what is looked up of it. */
export interface Node {
  readonly tables: DeviceTables;
  readonly ports: DevicePorts;
  /** The ports at which MAC addresses of other devices were learnt. */
  readonly seen: Map<Node, Seen[]>;
  /** The devices of which MAC addresses were learnt, by {@link DevicePorts.wholeOf}. */
  readonly behind: Map<string, Node[]>;
  /** The MAC addresses of its ARP tables by interface and address, once they were asked for. */
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
 * The fact behind each kind that says which device is at the other end. LLDP and spanning tree know it by one MAC address. Networks and
 * sessions know an IP address, which another device may have, too, unless its router id or MAC address is known.
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

/** A link that is put together: its two devices, the ports as far as they are known, what speaks for it and against it. */
export class LinkDraft {
  readonly layer: Link["layer"];
  readonly ends: readonly [Node, Node];
  readonly ports: [Port | undefined, Port | undefined] = [undefined, undefined];
  readonly evidence: Evidence[] = [];
  readonly doubts = new Set<string>();
  /** Evidence that knows the other end by an IP address alone. */
  readonly #byAddress = new Set<Evidence>();

  constructor(layer: Link["layer"], a: Node, b: Node) {
    this.layer = layer;
    this.ends = [a, b];
  }

  portOf(node: Node): Port | undefined {
    return this.ports[this.#side(node)];
  }

  /** Sets the port of one end. A part of an aggregated interface says more than the whole. */
  setPort(node: Node, port: Port | undefined): void {
    const side = this.#side(node);
    const earlier = this.ports[side];
    if (port === undefined || (earlier !== undefined && node.ports.aggregateOf(earlier) !== undefined)) return;
    if (earlier === undefined || port.index !== undefined) this.ports[side] = port;
  }

  /** Tells whether a port is, or may be, that of this end. */
  fits(node: Node, port: Port | undefined): boolean {
    const own = this.portOf(node);
    // A name that is none of the device's interfaces may be that of any.
    if (own?.index === undefined || port?.index === undefined) return true;
    // Each subinterface has links of layer 3 of its own.
    return this.layer === 3 ? own.index === port.index : node.ports.areOne(own, port);
  }

  /** @param isByAddress whether it knows the other end by an IP address alone. */
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
    // A learnt address may be that of a device further away: it supports what the other end announces.
    const isSupported = this.ends.some((node, side) => {
      const other = this.ends[1 - side] as Node;
      return (this.has("lldp", node) || this.has("stp", node)) && this.has("forwarding", other);
    });
    return saying.size === 2 || facts.size > 1 || isSupported ? "confirmed" : "likely";
  }
}

/** Describes the end of a link at a polled device. */
export function endOf({ tables, ports }: Node, port: Port | undefined): LinkEnd {
  const aggregate = port && ports.aggregateOf(port);
  return { device: tables.id, name: tables.name, address: tables.ip, port, aggregate };
}

/** Returns the text that stands for an end in the id of its link. */
export function portKey({ device, name, address, port }: LinkEnd): string {
  return `${device ?? name ?? address ?? "?"}|${port?.index ?? port?.name ?? "?"}`;
}

/** Two devices have no more links of one layer; what agents say of others is not looked at. */
const maxLinksOfPair = 256;

/** The links of one layer between polled devices while they are put together, by their two devices. */
export class LinkDrafts {
  readonly #byPair = new Map<string, LinkDraft[]>();
  readonly #layer: Link["layer"];
  readonly #leftOut: () => void;

  /** @param leftOut is called for a link that is one too many. */
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
   * Returns the link between two ports, which it begins if there is none that may be it; undefined: there are too many. A port that
   * is not known yet is any: of several links of two devices the one counts in which the other port is known.
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
