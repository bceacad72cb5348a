import {
  renderFields,
  type Enricher,
  type NumberAdditions,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";

/** The addresses of a device and the names of its interfaces. Plain data, for directories in other threads too. */
export interface KnownInterfaces {
  /** The address that the device is polled at; it counts before addresses that devices say they have. */
  readonly ip: string;
  readonly addresses: readonly string[];
  /** By ifIndex. */
  readonly names: ReadonlyMap<number, string>;
}

/** A change of a device; without `known` the device is gone. */
export interface InterfaceChange {
  readonly deviceId: string;
  readonly known?: KnownInterfaces;
}

/** Finds the device that an address belongs to, and the names of its interfaces. */
export class InterfaceDirectory {
  readonly #devices = new Map<string, KnownInterfaces>();
  readonly #listeners = new Set<(change: InterfaceChange) => void>();
  readonly #byIp = new Map<string, Set<string>>();
  readonly #byAddress = new Map<string, Set<string>>();

  /** The id of the device that an address belongs to, under the same rule. */
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

  /** Reports all that is known, then each change. @returns a function that ends it. */
  watch(listener: (change: InterfaceChange) => void): () => void {
    this.#listeners.add(listener);
    for (const [deviceId, known] of this.#devices) listener({ deviceId, known });
    return () => void this.#listeners.delete(listener);
  }

  /** Names by ifIndex; undefined when the address is no device's, or several devices say they have it. */
  find(address: string): ReadonlyMap<number, string> | undefined {
    const deviceId = this.deviceAt(address);
    return deviceId === undefined ? undefined : this.#devices.get(deviceId)?.names;
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

/**
 * Adds `flow.in.netif.name` and `flow.out.netif.name` to flow records whose exporter is a device. A name that the
 * exporter reported itself stays.
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
      numbers: [
        this.#additions("flow.in.netif.index", "flow.in.netif.name"),
        this.#additions("flow.out.netif.index", "flow.out.netif.name"),
      ],
      addresses: [],
    };
  }

  enrich(record: RecordFields): void {
    const address = record.get("flow.export.ip.addr");
    if (typeof address !== "string") return;
    const names = this.#directory.find(address);
    if (names === undefined) return;
    this.#add(record, names, "flow.in.netif.index", "flow.in.netif.name");
    this.#add(record, names, "flow.out.netif.index", "flow.out.netif.name");
  }

  #add(record: RecordFields, names: ReadonlyMap<number, string>, index: string, name: string): void {
    const value = record.get(index);
    if (typeof value !== "number" || record.has(name)) return;
    const known = names.get(value);
    if (known === undefined) return;
    record.set(name, known);
    this.#named++;
  }

  #additions(field: string, adds: string): NumberAdditions {
    // Names change as a whole map, so what was rendered of one stays right.
    const rendered = new WeakMap<ReadonlyMap<number, string>, ReadonlyMap<number, RenderedFields>>();
    return {
      field,
      adds,
      tableFor: (exporter) => {
        const names = this.#directory.find(exporter);
        if (names === undefined) return undefined;
        const known = rendered.get(names);
        if (known !== undefined) return known;
        const table = new Map(Array.from(names, ([index, name]) => [index, renderFields([[adds, name]])] as const));
        rendered.set(names, table);
        return table;
      },
      added: (records) => void (this.#named += records),
    };
  }
}
