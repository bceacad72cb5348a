import { addressKey, parseAddress } from "../../base/ip/index.ts";
import { atOnce } from "../limits.ts";
import type { DeviceTables, LldpPort, RowTypes } from "./device-tables.ts";

/** A port of a device; without an index if it is unknown which of the interfaces it is. */
export interface Port {
  readonly index: number | undefined;
  readonly name: string | undefined;
}

/** Reports whether two ports of one device are the same. */
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

/** The texts that identify a port, the most trustworthy first. */
const callings = ["name", "descr", "alias"] as const;
/** The most interfaces with the same numbers in their names among which a short form of a name is searched. */
const maxAlike = 16;
/** The fewest bits of a link's network: agents report masks of 0 for interfaces without an address. */
const leastNetworkBits = { 4: 8n, 6: 16n } as const;

/** Reports whether this many rows are the work of one step. */
const isPause = (count: number): boolean => count % 256 === 0;

/** Finds the ports of a device by their identifiers in tables and announcements. It is made from the current tables. */
export class DevicePorts {
  readonly #interfaces = new Map<number, Interface>();
  readonly #byText = {
    name: new Map<string, Set<number>>(),
    descr: new Map<string, Set<number>>(),
    alias: new Map<string, Set<number>>(),
  };
  readonly #byNumbers = new Map<string, Map<number, Set<string>>>();
  readonly #byMac = new Map<string, Set<number>>();
  readonly #announced = new Map<number, LldpPort>();
  readonly #byAnnouncement = new Map<string, Set<number>>();
  readonly #bridgePorts = new Map<number, number>();
  readonly #aggregates = new Map<number, number>();
  readonly #addresses = new Map<string, RowTypes["address"]>();
  /** The addresses whose network is known. An address may be there twice, as in two VRFs. */
  readonly #inNetworks = new Map<string, RowTypes["address"]>();
  readonly #wholes = new Map<number, string>();
  /** The networks by size, the smallest first, then by the first address. */
  #networks: readonly (readonly [size: bigint, ReadonlyMap<string, number>])[] | undefined;

  /** Makes the ports in steps, because devices may have ten thousand of them. */
  static *of(tables: DeviceTables): Generator<void, DevicePorts> {
    const ports = new DevicePorts();
    yield* ports.#addInterfaces(tables);
    for (const row of tables.rows("announcedPort")) {
      ports.#announced.set(row.number, row);
      if (row.id !== undefined) put(ports.#byAnnouncement, announcementKey(row), row.number);
      if (isPause(ports.#announced.size)) yield;
    }
    for (const { port, index } of tables.rows("bridgePort")) ports.#bridgePorts.set(port, index);
    yield;
    for (const { lower, higher } of tables.rows("layer")) {
      if (ports.#isAggregate(higher)) ports.#aggregates.set(lower, higher);
    }
    for (const { index, aggregate } of tables.rows("member")) ports.#aggregates.set(index, aggregate);
    yield;
    for (const row of tables.rows("address")) {
      if (row.network !== undefined || !ports.#addresses.has(row.address)) ports.#addresses.set(row.address, row);
      if (row.network !== undefined) ports.#inNetworks.set(`${row.index} ${row.address}`, row);
      if (isPause(ports.#addresses.size)) yield;
    }
    return ports;
  }

  *#addInterfaces(tables: DeviceTables): Generator<void> {
    let count = 0;
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
      if (isPause(++count)) yield;
    }
    for (const one of this.#interfaces.values()) {
      for (const calling of callings) {
        const called = one[calling];
        if (called !== undefined) put(this.#byText[calling], textKey(called), one.index);
      }
      for (const called of [one.name, one.descr]) if (called !== undefined) this.#addShortened(called, one.index);
      if (one.mac !== undefined) put(this.#byMac, one.mac, one.index);
      if (isPause(++count)) yield;
    }
  }

  /** The device's own addresses by their text. */
  get addresses(): ReadonlyMap<string, RowTypes["address"]> {
    return this.#addresses;
  }

  /** The device's own addresses with their networks; one address may be at several interfaces. */
  get inNetworks(): Iterable<RowTypes["address"]> {
    return this.#inNetworks.values();
  }

  get macs(): Iterable<string> {
    return this.#byMac.keys();
  }

  get hasMacs(): boolean {
    return this.#byMac.size > 0;
  }

  hasMac(mac: string): boolean {
    return this.#byMac.has(mac);
  }

  port(index: number): Port {
    const { name, descr } = this.#interfaces.get(index) ?? {};
    return { index, name: name ?? descr };
  }

  /** Returns the port with this number in BRIDGE-MIB. Agents without a table of bridge ports use the numbers of interfaces. */
  ofBridge(port: number): Port {
    return this.port(this.#bridgePorts.get(port) ?? port);
  }

  /** Returns the port with this MAC address; undefined unless there is exactly one. */
  ofMac(mac: string): Port | undefined {
    return this.#only(this.#byMac.get(mac));
  }

  /** Returns the port at which an LLDP neighbour was heard. @param name the name of the port in the record. */
  ofLldp(number: number, name: string | undefined): Port {
    const announced = this.#announced.get(number);
    const found = announced && this.#ofTexts(announced);
    if (found !== undefined) return found;
    // In most agents the number is the ifIndex, in others that of a bridge port.
    if (this.#interfaces.has(number)) return this.port(number);
    const index = this.#bridgePorts.get(number);
    if (index !== undefined) return this.port(index);
    return { index: undefined, name: announced?.id ?? name ?? String(number) };
  }

  /** Returns the port with this identifier in a neighbour's announcement; without an index if no port of the device has it. */
  ofAnnouncement(remote: LldpPort): Port | undefined {
    // Some agents announce one of their addresses at all ports.
    const [number, another] = this.#byAnnouncement.get(announcementKey(remote)) ?? [];
    if (number !== undefined && another === undefined) return this.ofLldp(number, remote.id);
    const found = this.#ofTexts(remote);
    if (found !== undefined) return found;
    const name = remote.id ?? remote.descr;
    return name === undefined ? undefined : { index: undefined, name };
  }

  /** Reports whether an interface is one at which no cable ends. */
  isVirtual({ index }: Port): boolean {
    return virtualTypes.has(this.#interfaces.get(index ?? -1)?.type ?? "");
  }

  /** Returns the interface of which this one is a part. */
  aggregateOf({ index }: Port): Port | undefined {
    const aggregate = index === undefined ? undefined : this.#aggregates.get(index);
    return aggregate === undefined ? undefined : this.port(aggregate);
  }

  /** Reports whether two ports are the same, or one is a part or a subinterface of the other. */
  areOne(a: Port, b: Port): boolean {
    if (isSamePort(a, b)) return true;
    const [aCarrier, bCarrier] = [this.#carrierOf(a), this.#carrierOf(b)];
    const [aWhole, bWhole] = [this.aggregateOf(aCarrier) ?? aCarrier, this.aggregateOf(bCarrier) ?? bCarrier];
    return isSamePort(aCarrier, bCarrier) || isSamePort(aWhole, bCarrier) || isSamePort(aCarrier, bWhole);
  }

  /** Returns a text that is the same for a port, its subinterfaces and the aggregated interface of which it is a part. */
  wholeOf(port: Port): string {
    const known = port.index === undefined ? undefined : this.#wholes.get(port.index);
    if (known !== undefined) return known;
    const carrier = this.#carrierOf(port);
    const { index, name } = this.aggregateOf(carrier) ?? carrier;
    const whole = index === undefined ? `"${textKey(name ?? "")}` : String(index);
    if (port.index !== undefined) this.#wholes.set(port.index, whole);
    return whole;
  }

  /** Returns the interface of a subinterface, such as `ge-0/0/0` for `ge-0/0/0.0`; other interfaces are returned as they are. */
  #carrierOf(port: Port): Port {
    const called = /^(.*\D.*)[.:]\d+$/.exec(port.name ?? "")?.[1];
    const index = called === undefined ? undefined : only(this.#byText.name.get(textKey(called)));
    return index === undefined ? port : this.port(index);
  }

  #isAggregate(index: number): boolean {
    const { type, name, descr } = this.#interfaces.get(index) ?? {};
    return type === "ieee8023adLag" || (type === "propVirtual" && /^port-channel/i.test(descr ?? name ?? ""));
  }

  /** Returns the interface whose network contains an address of another device. */
  towards(address: string): Port | undefined {
    const parsed = parseAddress(address);
    if (parsed === undefined || this.#addresses.has(address)) return undefined;
    const { family, first } = addressKey(parsed);
    this.#networks ??= networksOf(this.#inNetworks.values());
    for (const [size, indexes] of this.#networks) {
      const index = indexes.get(`${family} ${first - (first % size)}`);
      if (index !== undefined) return index === ofSeveral ? undefined : this.port(index);
    }
    return undefined;
  }

  #ofTexts({ type, id, descr }: LldpPort): Port | undefined {
    const byMac = type === "mac address" && id !== undefined ? this.ofMac(id) : undefined;
    const byAlias = type === "interface alias" && id !== undefined ? this.#called("alias", id) : undefined;
    const byText = byMac ?? byAlias ?? this.#ofText(id) ?? this.#ofText(descr);
    if (byText !== undefined) return byText;
    // A "local" identifier is arbitrary; in many devices it is the ifIndex.
    const index = type === "local" && /^\d{1,9}$/.test(id ?? "") ? Number(id) : undefined;
    return index !== undefined && this.#interfaces.has(index) ? this.port(index) : undefined;
  }

  /** Returns the port with this text. A name has precedence over the description that people gave another port. */
  #ofText(called: string | undefined): Port | undefined {
    if (called === undefined) return undefined;
    for (const calling of callings) {
      const exact = this.#called(calling, called);
      if (exact !== undefined) return exact;
    }
    // One side may report GigabitEthernet1/0/1, the other Gi1/0/1.
    const written = shortened(called);
    const candidates = written && this.#byNumbers.get(written.numbers);
    if (candidates === undefined || candidates.size > maxAlike) return undefined;
    const same = new Set<number>();
    for (const [index, words] of candidates) {
      if ([...words].some((letters) => areAlike(letters, written?.letters ?? ""))) same.add(index);
    }
    return this.#only(same);
  }

  #called(calling: (typeof callings)[number], called: string): Port | undefined {
    return this.#only(this.#byText[calling].get(textKey(called)));
  }

  #addShortened(called: string, index: number): void {
    const written = shortened(called);
    if (written === undefined) return;
    const candidates = this.#byNumbers.get(written.numbers) ?? new Map<number, Set<string>>();
    this.#byNumbers.set(written.numbers, candidates);
    put(candidates, index, written.letters);
  }

  /** Returns the only port; of an interface and its subinterfaces, it is the interface. */
  #only(indexes: ReadonlySet<number> | undefined): Port | undefined {
    if (indexes === undefined || indexes.size > maxSubinterfaces) return undefined;
    const carriers = new Set(
      indexes.size < 2 ? indexes : [...indexes].map((index) => this.#carrierOf(this.port(index)).index),
    );
    const index = only(carriers);
    return index === undefined ? undefined : this.port(index);
  }
}

/** The most interfaces with one address or one name among which a port is searched. */
const maxSubinterfaces = 256;

/** Stands for an ifIndex if several interfaces have the network, as in several VRFs. */
const ofSeveral = -1;

function networksOf(rows: Iterable<RowTypes["address"]>): (readonly [bigint, ReadonlyMap<string, number>])[] {
  const bySize = new Map<bigint, Map<string, number>>();
  for (const { network, index } of rows) {
    if (network === undefined) continue;
    const { family, first, last } = network;
    const size = last - first + 1n;
    const bits = family === 4 ? 32n : 128n;
    if (size > 1n << (bits - leastNetworkBits[family])) continue;
    const known = bySize.get(size) ?? new Map<string, number>();
    const key = `${family} ${first}`;
    const earlier = known.get(key) ?? index;
    bySize.set(size, known.set(key, earlier === index ? index : ofSeveral));
  }
  return [...bySize].sort(([a], [b]) => (a < b ? -1 : 1));
}

const announcementKey = ({ type, id }: LldpPort): string => `${type} ${id}`;

/** A device with its tables and the ports made from them. */
export class KnownDevice {
  readonly tables: DeviceTables;
  #ports: DevicePorts | undefined;
  #changes = 0;

  constructor(tables: DeviceTables) {
    this.tables = tables;
  }

  get ports(): DevicePorts {
    return (this.#ports ??= atOnce(DevicePorts.of(this.tables)));
  }

  /** Makes the ports in steps. */
  *inSteps(): Generator<void, DevicePorts> {
    if (this.#ports !== undefined) return this.#ports;
    const changes = this.#changes;
    const made = yield* DevicePorts.of(this.tables);
    if (changes === this.#changes) this.#ports = made;
    return made;
  }

  /** Drops the ports after a change of the tables. */
  changed(): void {
    this.#changes++;
    this.#ports = undefined;
  }
}

function put<K, V>(table: Map<K, Set<V>>, key: K, value: V): void {
  const values = table.get(key);
  if (values === undefined) table.set(key, new Set([value]));
  else values.add(value);
}

const textKey = (called: string): string => called.toLowerCase().replaceAll(/\s/g, "");

/** Returns the word and the numbers of a name such as `Gi1/0/1`; undefined for other texts. */
function shortened(called: string): { readonly letters: string; readonly numbers: string } | undefined {
  const [, letters, numbers] = /^([a-z-]{2,24})(\d[\d/.:]*)$/.exec(textKey(called)) ?? [];
  return letters === undefined || numbers === undefined ? undefined : { letters, numbers };
}

const areAlike = (a: string, b: string): boolean => a.startsWith(b) || b.startsWith(a);

/** Finds devices by the facts that others have about them. */
export class DeviceDirectory {
  readonly #byMac = new Map<string, Set<string>>();
  readonly #byAddress = new Map<string, Set<string>>();
  readonly #byName = new Map<string, Set<string>>();
  readonly #byHostPart = new Map<string, Set<string>>();
  /** The chassis that each device announces of itself, if it does. */
  readonly #chassisOf = new Map<string, Set<string>>();
  readonly #byChassis = new Map<string, Set<string>>();
  readonly #byRouter = new Map<string, Set<string>>();
  readonly #routersOf = new Map<string, Set<string>>();

  *add(tables: DeviceTables, ports: DevicePorts): Generator<void> {
    const { id } = tables;
    let count = 0;
    for (const mac of ports.macs) {
      put(this.#byMac, mac, id);
      if (isPause(++count)) yield;
    }
    for (const { mac } of tables.rows("bridge")) put(this.#byMac, mac, id);
    for (const router of tables.rows("router")) {
      put(this.#byRouter, router.id, id);
      put(this.#routersOf, id, router.id);
    }
    put(this.#byAddress, tables.ip, id);
    for (const address of ports.addresses.keys()) {
      if (!isLocal(address)) put(this.#byAddress, address, id);
      if (isPause(++count)) yield;
    }
    this.#addName(tables.name, id);
    for (const chassis of tables.rows("chassis")) {
      put(this.#byChassis, chassis.id.toLowerCase(), id);
      put(this.#chassisOf, id, chassis.id.toLowerCase());
      if (chassis.name !== undefined) this.#addName(chassis.name, id);
    }
  }

  ofMac(mac: string): string | undefined {
    return only(this.#byMac.get(mac));
  }

  /** Returns the device with this identifier in routing. */
  ofRouter(router: string): string | undefined {
    return only(this.#byRouter.get(router));
  }

  /** Returns the identifiers of a device in routing, if it reports any. */
  routersOf(device: string): ReadonlySet<string> | undefined {
    return this.#routersOf.get(device);
  }

  ofAddress(address: string): string | undefined {
    return only(this.#byAddress.get(address));
  }

  /**
   * Returns the device to which all hints point. A hint that several devices share decides nothing by itself.
   *
   * @returns undefined if it is no polled device; `isDoubtful` if hints point to different ones.
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
      narrow(isLocal(chassis) ? undefined : this.#byAddress.get(chassis));
    }
    for (const address of addresses) if (!isLocal(address)) narrow(this.#byAddress.get(address));
    if (name !== undefined) narrow(this.#ofName(name.toLowerCase()));
    const device = only(left);
    if (device === undefined) return undefined;
    // The neighbour announces another chassis, so that device only has the same name or address.
    const own = this.#chassisOf.get(device);
    const isOther = own !== undefined && chassis !== undefined && !own.has(chassis.toLowerCase());
    return { device, isDoubtful: isDoubtful || (isOther && this.#byMac.get(chassis)?.has(device) !== true) };
  }

  /** Returns the devices with this name. Two names with different domains are different. */
  #ofName(name: string): ReadonlySet<string> | undefined {
    const host = hostPart(name);
    return this.#byName.get(name) ?? (host === name ? this.#byHostPart.get(host) : this.#byName.get(host));
  }

  #addName(name: string, id: string): void {
    put(this.#byName, name.toLowerCase(), id);
    put(this.#byHostPart, hostPart(name), id);
  }
}

export interface NeighborHints {
  readonly chassis: string | undefined;
  readonly addresses: readonly string[];
  readonly name: string | undefined;
}

/** Returns the name without its domain; an address has none. */
function hostPart(name: string): string {
  const lower = name.toLowerCase();
  return /^[\d.]+$/.test(lower) ? lower : lower.replace(/\..*$/, "");
}

/** Reports whether an address is one that many devices have: none, loopback, link-local. */
const isLocal = (address: string): boolean => /^(?:0\.|127\.|169\.254\.|::1?$|fe[89ab])/.test(address);

function intersection<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): ReadonlySet<T> {
  return new Set([...a].filter((value) => b.has(value)));
}

function only<T>(values: ReadonlySet<T> | undefined): T | undefined {
  return values?.size === 1 ? [...values][0] : undefined;
}
