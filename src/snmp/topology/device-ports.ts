import { addressKey, keyContains, parseAddress } from "../../base/ip/index.ts";
import type { DeviceTables, LldpPort, RowTypes } from "./device-tables.ts";

/** A port of a device; without an index where the device does not say which of its interfaces it is. */
export interface Port {
  readonly index: number | undefined;
  readonly name: string | undefined;
}

/** Tells whether two ports of one device are the same one. */
function isSamePort(a: Port, b: Port): boolean {
  if (a.index !== undefined && b.index !== undefined) return a.index === b.index;
  return a.name !== undefined && b.name !== undefined && textKey(a.name) === textKey(b.name);
}

type Interface = RowTypes["interface"];

/** Labels of IANAifType. */
const virtualTypes: ReadonlySet<string> = new Set([
  "softwareLoopback",
  "propVirtual",
  "tunnel",
  "l2vlan",
  "l3ipvlan",
  "bridge",
]);

/** Finds the ports of a device by all that tables and announcements call them. Made of its tables as they are. */
export class DevicePorts {
  readonly #interfaces = new Map<number, Interface>();
  readonly #byText = new Map<string, Set<number>>();
  readonly #byMac = new Map<string, Set<number>>();
  readonly #announced = new Map<number, LldpPort>();
  readonly #bridgePorts = new Map<number, number>();
  readonly #aggregates = new Map<number, number>();
  readonly #addresses = new Map<string, RowTypes["address"]>();

  constructor(tables: DeviceTables) {
    for (const row of tables.rows("interface")) {
      const { index } = row;
      const earlier = this.#interfaces.get(index);
      this.#interfaces.set(index, {
        index,
        name: row.name ?? earlier?.name,
        descr: row.descr ?? earlier?.descr,
        alias: row.alias ?? earlier?.alias,
        mac: row.mac ?? earlier?.mac,
        type: row.type ?? earlier?.type,
      });
    }
    for (const { index, name, descr, alias, mac } of this.#interfaces.values()) {
      for (const called of [name, descr, alias]) if (called !== undefined) put(this.#byText, textKey(called), index);
      if (mac !== undefined) put(this.#byMac, mac, index);
    }
    for (const row of tables.rows("announcedPort")) this.#announced.set(row.number, row);
    for (const { port, index } of tables.rows("bridgePort")) this.#bridgePorts.set(port, index);
    for (const { index, aggregate } of tables.rows("member")) this.#aggregates.set(index, aggregate);
    for (const row of tables.rows("address")) {
      if (row.network !== undefined || !this.#addresses.has(row.address)) this.#addresses.set(row.address, row);
    }
  }

  /** The device's own addresses by their text. */
  get addresses(): ReadonlyMap<string, RowTypes["address"]> {
    return this.#addresses;
  }

  get macs(): Iterable<string> {
    return this.#byMac.keys();
  }

  hasMac(mac: string): boolean {
    return this.#byMac.has(mac);
  }

  port(index: number): Port {
    const { name, descr } = this.#interfaces.get(index) ?? {};
    return { index, name: name ?? descr };
  }

  /** The port with this number in BRIDGE-MIB. Agents that have no table of them number them as interfaces. */
  ofBridge(port: number): Port {
    return this.port(this.#bridgePorts.get(port) ?? port);
  }

  /** The port with this MAC address; undefined unless it is one. */
  ofMac(mac: string): Port | undefined {
    return this.#only(this.#byMac.get(mac));
  }

  /** The port at which an LLDP neighbour was heard. @param name what the record calls the port. */
  ofLldp(number: number, name: string | undefined): Port {
    const announced = this.#announced.get(number);
    const found = announced && this.#ofTexts(announced);
    if (found !== undefined) return found;
    // The number is the ifIndex in most agents, in others that of a bridge port.
    if (this.#interfaces.has(number)) return this.port(number);
    const index = this.#bridgePorts.get(number);
    if (index !== undefined) return this.port(index);
    return { index: undefined, name: announced?.id ?? name ?? String(number) };
  }

  /** The port that a neighbour's announcement calls so; without an index where the device has none that is called so. */
  ofAnnouncement(remote: LldpPort): Port | undefined {
    for (const [number, own] of this.#announced) {
      if (own.id !== undefined && own.id === remote.id && own.type === remote.type) return this.ofLldp(number, own.id);
    }
    const found = this.#ofTexts(remote);
    if (found !== undefined) return found;
    const name = remote.id ?? remote.descr;
    return name === undefined ? undefined : { index: undefined, name };
  }

  /** Tells whether an interface is none that a cable ends at. */
  isVirtual({ index }: Port): boolean {
    return virtualTypes.has(this.#interfaces.get(index ?? -1)?.type ?? "");
  }

  /** The interface that this one is a part of. */
  aggregateOf({ index }: Port): Port | undefined {
    const aggregate = index === undefined ? undefined : this.#aggregates.get(index);
    return aggregate === undefined ? undefined : this.port(aggregate);
  }

  /** Tells whether two are one port, or one is a part of the other. */
  areOne(a: Port, b: Port): boolean {
    const [aWhole, bWhole] = [this.aggregateOf(a) ?? a, this.aggregateOf(b) ?? b];
    return isSamePort(a, b) || isSamePort(aWhole, b) || isSamePort(a, bWhole);
  }

  /** The interface with a network that an address of somebody else is in. */
  towards(address: string): Port | undefined {
    const parsed = parseAddress(address);
    if (parsed === undefined || this.#addresses.has(address)) return undefined;
    const key = addressKey(parsed);
    for (const { network, index } of this.#addresses.values()) {
      if (network !== undefined && keyContains(network, key)) return this.port(index);
    }
    return undefined;
  }

  #ofTexts({ type, id, descr }: LldpPort): Port | undefined {
    const byMac = type === "mac address" && id !== undefined ? this.ofMac(id) : undefined;
    const byText = byMac ?? this.#ofText(id) ?? this.#ofText(descr);
    if (byText !== undefined) return byText;
    // "local" is whatever the device likes, in many the ifIndex.
    const index = type === "local" && /^\d{1,9}$/.test(id ?? "") ? Number(id) : undefined;
    return index !== undefined && this.#interfaces.has(index) ? this.port(index) : undefined;
  }

  #ofText(called: string | undefined): Port | undefined {
    if (called === undefined) return undefined;
    const exact = this.#only(this.#byText.get(textKey(called)));
    if (exact !== undefined) return exact;
    // One says GigabitEthernet1/0/1, the other Gi1/0/1.
    const written = shortened(called);
    if (written === undefined) return undefined;
    const same = new Set<number>();
    for (const [text, indexes] of this.#byText) {
      const other = shortened(text);
      if (other === undefined || other.numbers !== written.numbers || !areAlike(other.letters, written.letters))
        continue;
      for (const index of indexes) same.add(index);
    }
    return this.#only(same);
  }

  #only(indexes: ReadonlySet<number> | undefined): Port | undefined {
    const [index] = indexes ?? [];
    return indexes?.size === 1 && index !== undefined ? this.port(index) : undefined;
  }
}

/** A device that says something of itself: its tables, and its ports as they have them. */
export class KnownDevice {
  readonly tables: DeviceTables;
  #ports: DevicePorts | undefined;

  constructor(tables: DeviceTables) {
    this.tables = tables;
  }

  get ports(): DevicePorts {
    return (this.#ports ??= new DevicePorts(this.tables));
  }

  /** The tables are others. */
  changed(): void {
    this.#ports = undefined;
  }
}

function put<K, V>(table: Map<K, Set<V>>, key: K, value: V): void {
  const values = table.get(key);
  if (values === undefined) table.set(key, new Set([value]));
  else values.add(value);
}

const textKey = (called: string): string => called.toLowerCase().replaceAll(/\s/g, "");

/** The word and the numbers of a name such as `Gi1/0/1`; undefined for other texts. */
function shortened(called: string): { readonly letters: string; readonly numbers: string } | undefined {
  const [, letters, numbers] = /^([a-z-]{2,24})(\d[\d/.:]*)$/.exec(textKey(called)) ?? [];
  return letters === undefined || numbers === undefined ? undefined : { letters, numbers };
}

const areAlike = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a);

/** Finds devices by what others know of them. */
export class DeviceDirectory {
  readonly #byMac = new Map<string, Set<string>>();
  readonly #byAddress = new Map<string, Set<string>>();
  readonly #byName = new Map<string, Set<string>>();
  readonly #byChassis = new Map<string, Set<string>>();

  add(tables: DeviceTables, ports: DevicePorts): void {
    const { id } = tables;
    for (const mac of ports.macs) put(this.#byMac, mac, id);
    for (const { mac } of tables.rows("bridge")) put(this.#byMac, mac, id);
    put(this.#byAddress, tables.ip, id);
    for (const address of ports.addresses.keys()) if (!isLocal(address)) put(this.#byAddress, address, id);
    this.#addName(tables.name, id);
    for (const chassis of tables.rows("chassis")) {
      put(this.#byChassis, chassis.id.toLowerCase(), id);
      if (chassis.name !== undefined) this.#addName(chassis.name, id);
    }
  }

  ofMac(mac: string): string | undefined {
    return only(this.#byMac.get(mac));
  }

  ofAddress(address: string): string | undefined {
    return only(this.#byAddress.get(address));
  }

  /**
   * The device that all hints agree on. What several devices share decides nothing by itself.
   *
   * @returns undefined when it is no polled device; `isDoubtful` when hints name different ones.
   */
  of(hints: NeighborHints): { readonly device: string; readonly isDoubtful: boolean } | undefined {
    const { chassis, addresses, name } = hints;
    let left: ReadonlySet<string> | undefined;
    let isDoubtful = false;
    const narrow = (found: ReadonlySet<string> | undefined): void => {
      if (found === undefined || found.size === 0) return;
      const both: ReadonlySet<string> = left === undefined ? found : intersection(left, found);
      if (both.size === 0) isDoubtful = true;
      else left = both;
    };
    if (chassis !== undefined) {
      narrow(this.#byChassis.get(chassis.toLowerCase()));
      narrow(this.#byMac.get(chassis));
    }
    for (const address of addresses) if (!isLocal(address)) narrow(this.#byAddress.get(address));
    if (name !== undefined) narrow(this.#byName.get(name.toLowerCase()) ?? this.#byName.get(hostPart(name)));
    const device = only(left);
    return device === undefined ? undefined : { device, isDoubtful };
  }

  #addName(name: string, id: string): void {
    for (const key of new Set([name.toLowerCase(), hostPart(name)])) put(this.#byName, key, id);
  }
}

export interface NeighborHints {
  readonly chassis: string | undefined;
  readonly addresses: readonly string[];
  readonly name: string | undefined;
}

/** The name without its domain; an address has none. */
function hostPart(name: string): string {
  const lower = name.toLowerCase();
  return /^[\d.]+$/.test(lower) ? lower : lower.replace(/\..*$/, "");
}

/** Addresses that many devices have: loopback, link-local. */
const isLocal = (address: string): boolean => /^(?:127\.|169\.254\.|::1$|fe[89ab])/.test(address);

function intersection<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): ReadonlySet<T> {
  return new Set([...a].filter((value) => b.has(value)));
}

function only<T>(values: ReadonlySet<T> | undefined): T | undefined {
  return values?.size === 1 ? [...values][0] : undefined;
}
