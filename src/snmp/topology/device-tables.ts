import { addressKey, parseAddress, parseKey, type Key } from "../../base/ip/index.ts";
import type { RecordFields } from "../../record/index.ts";

/** The facts in rows of tables from which links are inferred. Addresses are canonical text; MAC addresses have the form of records. */
export interface RowTypes {
  /** IF-MIB: the facts of a table about an interface. */
  readonly interface: {
    readonly index: number;
    readonly name: string | undefined;
    readonly descr: string | undefined;
    readonly alias: string | undefined;
    readonly mac: string | undefined;
    /** The label of IANAifType. */
    readonly type: string | undefined;
  };
  /** IP-MIB: an address of the device, with the network of its interface if that is known. */
  readonly address: { readonly address: string; readonly index: number; readonly network: Key | undefined };
  /** LLDP-MIB: the device's announcement of itself. */
  readonly chassis: { readonly id: string; readonly name: string | undefined };
  /** LLDP-MIB: a port as it is announced. */
  readonly announcedPort: LldpPort & { readonly number: number };
  /** LLDP-MIB, CISCO-CDP-MIB: a device that announces itself at a port. */
  readonly neighbor: {
    readonly protocol: "lldp" | "cdp";
    /** LLDP: lldpLocPortNum; CDP: ifIndex. */
    readonly port: number;
    readonly portName: string | undefined;
    /** A number that distinguishes the rows of one port. */
    readonly row: number;
    readonly chassis: string | undefined;
    readonly remote: LldpPort;
    readonly name: string | undefined;
    readonly address: string | undefined;
  };
  /** LLDP-MIB: a management address of a neighbour. */
  readonly neighborAddress: { readonly port: number; readonly row: number; readonly address: string };
  /** BRIDGE-MIB: the address of the bridge. */
  readonly bridge: { readonly mac: string };
  readonly bridgePort: { readonly port: number; readonly index: number };
  /** BRIDGE-MIB, Q-BRIDGE-MIB: a MAC address learnt at a bridge port. */
  readonly forwarding: { readonly mac: string; readonly port: number };
  /** IP-MIB: ARP and IPv6 neighbour discovery. */
  readonly arp: { readonly address: string; readonly mac: string; readonly index: number };
  /** IEEE8023-LAG-MIB: an interface that is part of another one. */
  readonly member: { readonly index: number; readonly aggregate: number };
  /** IF-MIB: an interface that runs on another one. */
  readonly layer: { readonly higher: number; readonly lower: number };
  /** BRIDGE-MIB: the designated bridge of spanning tree for a port, which is the next bridge, and its port. */
  readonly designated: { readonly port: number; readonly bridge: string; readonly bridgePort: number | undefined };
  /** OSPF-MIB, BGP4-MIB: the device's identifier in routing. */
  readonly router: { readonly id: string };
  /** OSPF-MIB, BGP4-MIB: a neighbour in routing with an established session. */
  readonly peer: {
    readonly protocol: "ospf" | "bgp";
    readonly address: string;
    /** The neighbour's identifier of itself. */
    readonly router: string | undefined;
    /** OSPF: the interface without an address; 0 for others. */
    readonly index: number;
  };
}

export type RowKind = keyof RowTypes;

/** The identifier and the description of a port in an announcement. */
export interface LldpPort {
  /** The label of LldpPortIdSubtype. */
  readonly type: string | undefined;
  readonly id: string | undefined;
  readonly descr: string | undefined;
}

interface Source<K extends RowKind = RowKind> {
  readonly kind: K;
  readonly read: (fields: RecordFields) => RowTypes[K] | undefined;
}

const source = <K extends RowKind>(kind: K, read: Source<K>["read"]): Source<K> => ({ kind, read });

/** The length to which texts are cut. Longer ones are no names, and hundreds of thousands of texts are kept. */
const maxText = 128;

const text = (fields: RecordFields, name: string): string | undefined => {
  const value = fields.get(name);
  return value === undefined || typeof value === "object"
    ? undefined
    : String(value).slice(0, maxText).trim() || undefined;
};
const number = (fields: RecordFields, name: string): number | undefined => {
  const value = fields.get(name);
  return typeof value === "number" ? value : undefined;
};

/** Returns the canonical text of an address, without a zone; IPv4-mapped addresses become IPv4. */
export function canonicalAddress(written: string | undefined): string | undefined {
  const address = written === undefined ? undefined : parseAddress(written.replace(/%.*$/, ""));
  return address && addressKey(address).text;
}

function readAddress(fields: RecordFields): RowTypes["address"] | undefined {
  const address = canonicalAddress(text(fields, "ip.addr"));
  const index = number(fields, "netif.index");
  if (address === undefined || index === undefined) return undefined;
  const length = prefixLength(fields);
  const isPossible = length !== undefined && length <= (address.includes(":") ? 128 : 32);
  return { address, index, network: isPossible ? parseKey(`${address}/${length}`) : undefined };
}

/** Returns the prefix length from ipAdEntNetMask, or from the end of the index in ipAddressPrefix. */
function prefixLength(fields: RecordFields): number | undefined {
  const mask = parseAddress(text(fields, "ip.netmask") ?? "");
  if (mask !== undefined) return mask.value.toString(2).replaceAll("0", "").length;
  const last = /^\.?1\.3\.6\.1\.2\.1\.4\.32\..*\.(\d+)$/.exec(text(fields, "ip.prefix.row") ?? "")?.[1];
  return last === undefined ? undefined : Number(last);
}

function readInterface(fields: RecordFields): RowTypes["interface"] | undefined {
  const index = number(fields, "netif.index");
  if (index === undefined) return undefined;
  return {
    index,
    name: text(fields, "netif.name"),
    descr: text(fields, "netif.descr"),
    alias: text(fields, "netif.alias"),
    mac: realMac(text(fields, "netif.mac.addr")),
    type: text(fields, "netif.type.name"),
  };
}

function readLldpNeighbor(fields: RecordFields): RowTypes["neighbor"] | undefined {
  const port = number(fields, "lldp.local.port.number");
  if (port === undefined) return undefined;
  return {
    protocol: "lldp",
    port,
    portName: text(fields, "lldp.local.port.name"),
    row: number(fields, "lldp.neighbor.index") ?? 0,
    chassis: text(fields, "lldp.neighbor.chassis.id"),
    remote: {
      type: text(fields, "lldp.neighbor.port.id_type.name"),
      id: text(fields, "lldp.neighbor.port.id"),
      descr: text(fields, "lldp.neighbor.port.descr"),
    },
    name: text(fields, "lldp.neighbor.system.name"),
    address: undefined,
  };
}

function readCdpNeighbor(fields: RecordFields): RowTypes["neighbor"] | undefined {
  const port = number(fields, "netif.index");
  if (port === undefined) return undefined;
  return {
    protocol: "cdp",
    port,
    portName: text(fields, "netif.name"),
    row: number(fields, "cdp.neighbor.index") ?? 0,
    chassis: undefined,
    remote: { type: "interface name", id: text(fields, "cdp.neighbor.port"), descr: undefined },
    // NX-OS puts the serial number in brackets behind the name.
    name: text(fields, "cdp.neighbor.name")?.replace(/\(.*\)$/, ""),
    address: canonicalAddress(text(fields, "cdp.neighbor.ip.addr")),
  };
}

function readForwarding(fields: RecordFields): RowTypes["forwarding"] | undefined {
  const port = number(fields, "bridge.port.index");
  const mac = realMac(text(fields, "fdb.mac.addr"));
  const status = text(fields, "fdb.status.name");
  // Addresses of the bridge itself (self) are not those of neighbours.
  return port === undefined || port === 0 || mac === undefined || status === "self" || status === "invalid"
    ? undefined
    : { mac, port };
}

function readArp(fields: RecordFields): RowTypes["arp"] | undefined {
  const index = number(fields, "netif.index");
  const address = canonicalAddress(text(fields, "neighbor.addr"));
  const mac = realMac(text(fields, "neighbor.mac.addr"));
  if (index === undefined || address === undefined || mac === undefined) return undefined;
  return text(fields, "neighbor.type.name") === "invalid" ? undefined : { address, mac, index };
}

function readMember(fields: RecordFields): RowTypes["member"] | undefined {
  const [index, aggregate] = [number(fields, "netif.index"), number(fields, "lag.attached.index")];
  return index === undefined || aggregate === undefined || aggregate === 0 || aggregate === index
    ? undefined
    : { index, aggregate };
}

function readLayer(fields: RecordFields): RowTypes["layer"] | undefined {
  const [higher, lower] = [number(fields, "netif.stack.higher.index"), number(fields, "netif.stack.lower.index")];
  // 0 means that nothing runs on it, or that it runs on nothing.
  return higher === undefined || lower === undefined || higher === 0 || lower === 0 || higher === lower
    ? undefined
    : { higher, lower };
}

/**
 * Reads the designated bridge. It is the bridge at the other end only for blocked ports and the root port; other ports name their own
 * bridge.
 */
function readDesignated(fields: RecordFields): RowTypes["designated"] | undefined {
  const port = number(fields, "bridge.port.index");
  // Two octets of priority, six of the address.
  const [, digits] = /^[\da-f]{4}([\da-f]{12})$/.exec(text(fields, "stp.port.designated.bridge") ?? "") ?? [];
  const bridge = realMac(digits?.match(/../g)?.join(":"));
  const state = text(fields, "stp.port.state.name");
  if (port === undefined || bridge === undefined || state === "disabled" || state === "broken") return undefined;
  // Four bits of priority, twelve of the number (IEEE 802.1D-2004 9.2.7).
  const [, written] = /^[\da-f]([\da-f]{3})$/.exec(text(fields, "stp.port.designated.port") ?? "") ?? [];
  return { port, bridge, bridgePort: written === undefined ? undefined : Number.parseInt(written, 16) };
}

/** Reads the identifier of a router; 0.0.0.0 means none. */
function routerId(fields: RecordFields, name: string): string | undefined {
  const id = canonicalAddress(text(fields, name));
  return id === "0.0.0.0" ? undefined : id;
}

function readRouter(name: string): Source<"router">["read"] {
  return (fields) => {
    const id = routerId(fields, name);
    return id === undefined ? undefined : { id };
  };
}

function readPeer(
  protocol: "ospf" | "bgp",
  { address: addressField, router: routerField, state: stateField }: Readonly<Record<string, string>>,
  states: readonly string[],
): Source<"peer">["read"] {
  return (fields) => {
    const address = canonicalAddress(text(fields, addressField ?? ""));
    const state = text(fields, stateField ?? "") ?? "";
    const router = routerId(fields, routerField ?? "");
    const index = protocol === "ospf" ? (number(fields, "ospf.neighbor.index") ?? 0) : 0;
    return address !== undefined && states.includes(state) ? { protocol, address, router, index } : undefined;
  };
}

const ospfPeer = { address: "ospf.neighbor.ip.addr", router: "ospf.neighbor.id", state: "ospf.neighbor.state.name" };
const bgpPeer = { address: "bgp.peer.remote.ip.addr", router: "bgp.peer.remote.id", state: "bgp.peer.state.name" };

/** The tables from which links are inferred, by the name of the object. */
export const sources: ReadonlyMap<string, Source> = new Map<string, Source>([
  ["IF-MIB::ifTable", source("interface", readInterface)],
  ["IF-MIB::ifXTable", source("interface", readInterface)],
  ["IF-MIB::ifStackTable", source("layer", readLayer)],
  ["IP-MIB::ipAddrTable", source("address", readAddress)],
  ["IP-MIB::ipAddressTable", source("address", readAddress)],
  ["IP-MIB::ipNetToMediaTable", source("arp", readArp)],
  ["IP-MIB::ipNetToPhysicalTable", source("arp", readArp)],
  [
    "LLDP-MIB::lldpLocalSystemData",
    source("chassis", (fields) => {
      const id = text(fields, "lldp.local.chassis.id");
      return id === undefined ? undefined : { id, name: text(fields, "lldp.local.system.name") };
    }),
  ],
  [
    "LLDP-MIB::lldpLocPortTable",
    source("announcedPort", (fields) => {
      const port = number(fields, "lldp.local.port.number");
      const type = text(fields, "lldp.local.port.id_type.name");
      const [id, descr] = [text(fields, "lldp.local.port.id"), text(fields, "lldp.local.port.descr")];
      return port === undefined ? undefined : { number: port, type, id, descr };
    }),
  ],
  ["LLDP-MIB::lldpRemTable", source("neighbor", readLldpNeighbor)],
  [
    "LLDP-MIB::lldpRemManAddrTable",
    source("neighborAddress", (fields) => {
      const port = number(fields, "lldp.local.port.number");
      const address = canonicalAddress(text(fields, "lldp.neighbor.address.value"));
      if (port === undefined || address === undefined) return undefined;
      return { port, row: number(fields, "lldp.neighbor.index") ?? 0, address };
    }),
  ],
  ["CISCO-CDP-MIB::cdpCacheTable", source("neighbor", readCdpNeighbor)],
  [
    "BRIDGE-MIB::dot1dBase",
    source("bridge", (fields) => {
      const mac = realMac(text(fields, "bridge.mac.addr"));
      return mac === undefined ? undefined : { mac };
    }),
  ],
  [
    "BRIDGE-MIB::dot1dBasePortTable",
    source("bridgePort", (fields) => {
      const [port, index] = [number(fields, "bridge.port.index"), number(fields, "netif.index")];
      return port === undefined || index === undefined ? undefined : { port, index };
    }),
  ],
  ["BRIDGE-MIB::dot1dTpFdbTable", source("forwarding", readForwarding)],
  ["Q-BRIDGE-MIB::dot1qTpFdbTable", source("forwarding", readForwarding)],
  ["IEEE8023-LAG-MIB::dot3adAggPortTable", source("member", readMember)],
  ["BRIDGE-MIB::dot1dStpPortTable", source("designated", readDesignated)],
  ["OSPF-MIB::ospfGeneralGroup", source("router", readRouter("ospf.router.id"))],
  ["OSPF-MIB::ospfNbrTable", source("peer", readPeer("ospf", ospfPeer, ["full", "two way"]))],
  ["BGP4-MIB::bgp", source("router", readRouter("bgp.local.id"))],
  ["BGP4-MIB::bgpPeerTable", source("peer", readPeer("bgp", bgpPeer, ["established"]))],
]);

/** The prefixes of MAC addresses that move between devices: VRRP (RFC 9568), HSRP version 1 and 2, GLBP. */
const sharedMacs = ["00:00:5e:00:01:", "00:00:5e:00:02:", "00:00:0c:07:ac:", "00:00:0c:9f:f", "00:07:b4:00:"];

/** Returns the address; undefined if it does not belong to one device: empty, of a group, or shared by a redundancy protocol. */
function realMac(mac: string | undefined): string | undefined {
  if (mac === undefined || mac.length !== 17 || mac === "00:00:00:00:00:00") return undefined;
  // The lowest bit of the first octet marks group addresses.
  if (Number.parseInt(mac.slice(0, 2), 16) % 2 === 1) return undefined;
  return sharedMacs.some((prefix) => mac.startsWith(prefix)) ? undefined : mac;
}

/** The rows of one object. */
export interface KeptTable {
  readonly kind: RowKind;
  readonly rows: readonly RowTypes[RowKind][];
  /** The time of the reading, in ms since the epoch. */
  readonly at: number;
  readonly isWhole: boolean;
}

/** A table that was read before interfaces may have been renumbered, and not since. */
interface TableAside {
  readonly kind: RowKind;
  readonly since: number;
  /** The rows; undefined if the table is valid again, or can no longer become so because interfaces were renumbered. */
  readonly table: KeptTable | undefined;
  /** True if the table is valid again, because interfaces have their earlier numbers. */
  readonly isBack: boolean;
}

/** Keeps the facts of a device about itself and its neighbours from the last complete poll of each table. */
export class DeviceTables {
  /** `ip:port` */
  readonly id: string;
  readonly ip: string;
  name = "";
  /** The number of restarts of the device; tables from two boots may number interfaces differently. */
  boot = 0;
  /** The tables by the id of the object, which differs by context. */
  readonly #tables = new Map<string, KeptTable>();
  /** The tables that were read before interfaces may have been renumbered, and not since. */
  readonly #aside = new Map<string, TableAside>();

  constructor(id: string, ip: string) {
    this.id = id;
    this.ip = ip;
  }

  /**
   * Replaces the earlier rows by those of a poll. An incomplete poll does so only if there was no complete one. If interfaces have
   * their earlier numbers, tables that were set aside become valid again.
   *
   * @returns true if the rows have changed.
   */
  replace(objectId: string, table: KeptTable): boolean {
    const earlier = this.#tables.get(objectId);
    if (!table.isWhole && earlier?.isWhole === true) return false;
    if (table.isWhole) this.#settle(this.#aside.get(objectId)?.table, table);
    this.#aside.delete(objectId);
    const isSame = earlier !== undefined && areSame(earlier.rows, table.rows);
    this.#tables.set(objectId, isSame ? { ...table, rows: earlier.rows } : table);
    return !isSame;
  }

  /**
   * Makes all tables invalid until they are read again, because interfaces may have been renumbered.
   *
   * @param mayReturn true if the numbers may be the same, as after a restart.
   */
  setAside(now: number, mayReturn: boolean): void {
    for (const [objectId, table] of this.#tables) {
      // The time of a table that is awaited already stays: a device that restarts often may no longer have the table.
      const since = this.#aside.get(objectId)?.since ?? now;
      this.#aside.set(objectId, { kind: table.kind, since, table, isBack: false });
    }
    this.#tables.clear();
    if (!mayReturn) this.#forgetAside();
  }

  /** Compares the interfaces before and now, and decides whether tables that were set aside are valid again. */
  #settle(before: KeptTable | undefined, { kind, rows }: KeptTable): void {
    if (kind !== "interface" || before === undefined) return;
    const [earlier, now] = [before.rows, rows].map((one) => numberedPorts(one as readonly RowTypes["interface"][]));
    // The other table of interfaces lacks their hardware names.
    if (earlier === undefined || now === undefined || earlier.size === 0 || now.size === 0) return;
    if (earlier.size !== now.size || ![...earlier].every((port) => now.has(port))) {
      this.#forgetAside();
      return;
    }
    for (const [objectId, { table, ...aside }] of this.#aside) {
      if (table === undefined) continue;
      this.#tables.set(objectId, table);
      this.#aside.set(objectId, { ...aside, table: undefined, isBack: true });
    }
  }

  #forgetAside(): void {
    for (const [objectId, aside] of this.#aside)
      this.#aside.set(objectId, { ...aside, table: undefined, isBack: false });
  }

  /** True from {@link setAside} until all tables are valid again or have been read again. */
  get isAwaited(): boolean {
    return [...this.#aside.values()].some(({ isBack }) => !isBack);
  }

  /** Reports whether a table of one of these kinds was set aside, and is neither valid again nor read again. */
  awaits(kinds: readonly RowKind[]): boolean {
    for (const { kind, isBack } of this.#aside.values()) if (!isBack && kinds.includes(kind)) return true;
    return false;
  }

  /**
   * Stops waiting for tables that were set aside at this time or before, because the device no longer has them.
   *
   * @returns true if a table that had been in use is gone.
   */
  awaitOnlySince(time: number): boolean {
    let isGone = false;
    for (const [objectId, { since, isBack }] of this.#aside) {
      if (since > time) continue;
      this.#aside.delete(objectId);
      if (isBack) isGone = this.#tables.delete(objectId) || isGone;
    }
    return isGone;
  }

  /**
   * Reports whether a known port has another number in these rows of ifTable. Interfaces of sessions do not count, because they come
   * and go.
   */
  isRenumberedBy(objectId: string, { kind, rows }: KeptTable): boolean {
    const earlier = this.#tables.get(objectId);
    if (kind !== "interface" || earlier === undefined) return false;
    const before = portNumbers(earlier.rows as readonly RowTypes["interface"][]);
    for (const [descr, index] of portNumbers(rows as readonly RowTypes["interface"][])) {
      const known = before.get(descr);
      if (known !== undefined && index !== undefined && known !== index) return true;
    }
    return false;
  }

  *rows<K extends RowKind>(kind: K): Generator<RowTypes[K]> {
    for (const table of this.#tables.values()) if (table.kind === kind) yield* table.rows as readonly RowTypes[K][];
  }

  /** Returns the time of the last reading of a table of this kind; undefined if there was none. */
  readAt(kind: RowKind): number | undefined {
    let latest: number | undefined;
    for (const table of this.#tables.values()) {
      if (table.kind === kind && (latest === undefined || table.at > latest)) latest = table.at;
    }
    return latest;
  }

  /** The time of the device's last answer. */
  get saidAt(): number {
    let latest = 0;
    for (const { at } of this.#tables.values()) latest = Math.max(latest, at);
    return latest;
  }

  /** Returns the number of rows of an object that are kept, including those set aside. */
  countOf(objectId: string): number {
    return (this.#tables.get(objectId)?.rows.length ?? 0) + (this.#aside.get(objectId)?.table?.rows.length ?? 0);
  }

  /** The number of all rows, including those set aside. */
  get count(): number {
    return [...new Set([...this.#tables.keys(), ...this.#aside.keys()])].reduce((sum, id) => sum + this.countOf(id), 0);
  }
}

/** Returns each Ethernet port as its number and description. */
function numberedPorts(rows: readonly RowTypes["interface"][]): ReadonlySet<string> {
  const ports = rows.filter(({ descr, type }) => descr !== undefined && type === "ethernetCsmacd");
  return new Set(ports.map(({ index, descr }) => `${index} ${descr}`));
}

/** Returns the ifIndex of each Ethernet port by its description; undefined if several ports share one. */
function portNumbers(rows: readonly RowTypes["interface"][]): ReadonlyMap<string, number | undefined> {
  const numbers = new Map<string, number | undefined>();
  for (const { index, descr, type } of rows) {
    if (descr === undefined || type !== "ethernetCsmacd") continue;
    numbers.set(descr, numbers.has(descr) ? undefined : index);
  }
  return numbers;
}

/** Reports whether two values have the same content; agents answer in the order of their indexes. */
function areSame(a: object, b: object): boolean {
  const entries = Object.entries(a);
  if (entries.length !== Object.keys(b).length) return false;
  return entries.every(([name, value]) => {
    const other = (b as Readonly<Record<string, unknown>>)[name];
    return value === other || (isObject(value) && isObject(other) && areSame(value, other));
  });
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
