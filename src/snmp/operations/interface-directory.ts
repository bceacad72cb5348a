import {
  renderFields,
  type Enricher,
  type NumberAdditions,
  type NumberTable,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";
import type { InterfaceFacts } from "../poller/interface-states.ts";

/** The addresses of a device and the facts about its interfaces. Plain data, for directories in other threads, too. */
export interface KnownInterfaces {
  /** The address at which the device is polled; it has precedence over addresses that devices report as their own. */
  readonly ip: string;
  readonly addresses: readonly string[];
  /** The interfaces by ifIndex. */
  readonly interfaces: ReadonlyMap<number, InterfaceFacts>;
}

/** A change of a device; without `known` the device was removed. */
export interface InterfaceChange {
  readonly deviceId: string;
  readonly known?: KnownInterfaces;
}

/** Finds the device of an address, and the facts about its interfaces. */
export class InterfaceDirectory {
  readonly #devices = new Map<string, KnownInterfaces>();
  readonly #listeners = new Set<(change: InterfaceChange) => void>();
  readonly #byIp = new Map<string, Set<string>>();
  readonly #byAddress = new Map<string, Set<string>>();

  /** Returns the id of the device of an address, under the same rule. */
  deviceAt(address: string): string | undefined {
    return this.#byIp.has(address) ? this.#only(this.#byIp.get(address)) : this.#only(this.#byAddress.get(address));
  }

  change(change: InterfaceChange): void {
    const { deviceId, known } = change;
    this.#remove(deviceId);
    if (known !== undefined) {
      this.#devices.set(deviceId, known);
      this.#put(this.#byIp, known.ip, deviceId);
      for (const address of known.addresses) this.#put(this.#byAddress, address, deviceId);
    }
    for (const listener of this.#listeners) listener(change);
  }

  /** Reports all facts, then each change. @returns a function that ends it. */
  watch(listener: (change: InterfaceChange) => void): () => void {
    this.#listeners.add(listener);
    for (const [deviceId, known] of this.#devices) listener({ deviceId, known });
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the interfaces by ifIndex; undefined if the address belongs to no device, or several devices report it. */
  find(address: string): ReadonlyMap<number, InterfaceFacts> | undefined {
    const deviceId = this.deviceAt(address);
    return deviceId === undefined ? undefined : this.#devices.get(deviceId)?.interfaces;
  }

  #put(table: Map<string, Set<string>>, key: string, deviceId: string): void {
    const ids = table.get(key);
    if (ids === undefined) table.set(key, new Set([deviceId]));
    else ids.add(deviceId);
  }

  #take(table: Map<string, Set<string>>, key: string, deviceId: string): void {
    const ids = table.get(key);
    ids?.delete(deviceId);
    if (ids?.size === 0) table.delete(key);
  }

  #remove(deviceId: string): void {
    const known = this.#devices.get(deviceId);
    if (known === undefined) return;
    this.#devices.delete(deviceId);
    this.#take(this.#byIp, known.ip, deviceId);
    for (const address of known.addresses) this.#take(this.#byAddress, address, deviceId);
  }

  #only(ids: ReadonlySet<string> | undefined): string | undefined {
    const [deviceId] = ids ?? [];
    return ids?.size === 1 ? deviceId : undefined;
  }
}

/** The SNMP facts about an interface, below `flow.in.netif` and `flow.out.netif`, in the order of output. */
const described = [
  ["name", ".name"],
  ["alias", ".alias"],
  ["type", ".type.name"],
  ["bitsPerSecond", ".speed"],
  ["admin", ".state.admin.name"],
] as const satisfies readonly (readonly [keyof InterfaceFacts, string])[];

/**
 * The groups of fields that are added to lines together. A record without any of the fields gets all at once, if there is a name. Many
 * exporters send the name themselves. If a record has a further field, the others are added one by one.
 */
const groups = [described, described.slice(1), ...described.map((one) => [one])];
const objects = ["flow.in.netif", "flow.out.netif"] as const;

/**
 * Adds the facts about interfaces to flow records whose exporter is a device: `flow.in.netif.*` and `flow.out.netif.*` by `.index`.
 * Fields that the record already has stay.
 */
export class InterfaceEnricher implements Enricher {
  readonly #directory: InterfaceDirectory;
  #named = 0;
  readonly lines: NonNullable<Enricher["lines"]>;

  constructor(directory: InterfaceDirectory, metrics: Metrics) {
    this.#directory = directory;
    metrics.counterFrom(
      "netgloss_snmp_flow_interfaces_named_total",
      "Interface names that SNMP gave to flow records",
      [],
      () => this.#named,
    );
    this.lines = {
      begin() {},
      numbers: objects.flatMap((object) => groups.map((group) => this.#additions(object, group))),
      addresses: [],
    };
  }

  enrich(record: RecordFields): void {
    const address = record.get("flow.export.ip.addr");
    const interfaces = typeof address === "string" ? this.#directory.find(address) : undefined;
    if (interfaces === undefined) return;
    for (const object of objects) {
      const index = record.get(`${object}.index`);
      const facts = typeof index === "number" ? interfaces.get(index) : undefined;
      if (facts === undefined) continue;
      for (const [fact, suffix] of described) {
        const value = facts[fact];
        if (value === undefined || record.has(object + suffix)) continue;
        record.set(object + suffix, value);
        if (fact === "name") this.#named++;
      }
    }
  }

  /** Returns the interfaces of an exporter; another object after each change. */
  known(exporter: string): unknown {
    return this.#directory.find(exporter);
  }

  /** Counts names that were given in another way. */
  named(records: number): void {
    this.#named += records;
  }

  #additions(object: string, group: readonly (typeof described)[number][]): NumberAdditions {
    // The facts change as a whole map, so the rendered form of a map stays valid.
    const tables = new WeakMap<ReadonlyMap<number, InterfaceFacts>, NumberTable>();
    const names = group.some(([fact]) => fact === "name");
    const render = (facts: InterfaceFacts | undefined): RenderedFields | undefined => {
      if (names && facts?.name === undefined) return undefined;
      const fields = group.flatMap(([fact, suffix]) => {
        const value = facts?.[fact];
        return value === undefined ? [] : [[object + suffix, value] as const];
      });
      return fields.length === 0 ? undefined : renderFields(fields);
    };
    return {
      field: `${object}.index`,
      adds: group.map(([, suffix]) => object + suffix),
      tableFor: (exporter) => {
        const interfaces = this.#directory.find(exporter);
        if (interfaces === undefined) return undefined;
        const before = tables.get(interfaces);
        if (before !== undefined) return before;
        const rendered = new Map<number, RenderedFields | undefined>();
        const table: NumberTable = {
          get(index) {
            const known = rendered.get(index);
            if (known !== undefined || !interfaces.has(index)) return known;
            const text = render(interfaces.get(index));
            rendered.set(index, text);
            return text;
          },
        };
        tables.set(interfaces, table);
        return table;
      },
      added: (records) => void (this.#named += names ? records : 0),
    };
  }
}
