import {
  renderFields,
  type Enricher,
  type NumberAdditions,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";

/** What a device is known by and what its interfaces are called. Plain data, for directories in other threads too. */
export interface KnownInterfaces {
  /** The address that the device is polled at; it counts before addresses that devices say they have. */
  readonly ip: string;
  readonly addresses: readonly string[];
  /** By ifIndex. */
  readonly names: ReadonlyMap<number, string>;
}

/** What changed of a device; without `known` the device is gone. */
export interface InterfaceChange {
  readonly deviceId: string;
  readonly known?: KnownInterfaces;
}

/** Which device an address belongs to, and what its interfaces are called. */
export interface InterfaceDirectory {
  change(change: InterfaceChange): void;
  /** Reports all that is known, then each change. @returns a function that ends it. */
  watch(listener: (change: InterfaceChange) => void): () => void;
  /** Names by ifIndex; undefined when the address is no device's, or several devices say they have it. */
  find(address: string): ReadonlyMap<number, string> | undefined;
  /** The id of the device that an address belongs to, under the same rule. */
  deviceAt(address: string): string | undefined;
}

export function createInterfaceDirectory(): InterfaceDirectory {
  const devices = new Map<string, KnownInterfaces>();
  const listeners = new Set<(change: InterfaceChange) => void>();
  const byIp = new Map<string, Set<string>>();
  const byAddress = new Map<string, Set<string>>();
  const put = (table: Map<string, Set<string>>, key: string, deviceId: string): void => {
    const ids = table.get(key);
    if (ids === undefined) table.set(key, new Set([deviceId]));
    else ids.add(deviceId);
  };
  const take = (table: Map<string, Set<string>>, key: string, deviceId: string): void => {
    const ids = table.get(key);
    ids?.delete(deviceId);
    if (ids?.size === 0) table.delete(key);
  };
  const remove = (deviceId: string): void => {
    const known = devices.get(deviceId);
    if (known === undefined) return;
    devices.delete(deviceId);
    take(byIp, known.ip, deviceId);
    for (const address of known.addresses) take(byAddress, address, deviceId);
  };
  const only = (ids: ReadonlySet<string> | undefined): string | undefined => {
    const [deviceId] = ids ?? [];
    return ids?.size === 1 ? deviceId : undefined;
  };
  const deviceAt = (address: string): string | undefined =>
    byIp.has(address) ? only(byIp.get(address)) : only(byAddress.get(address));
  return {
    change(change) {
      const { deviceId, known } = change;
      remove(deviceId);
      if (known !== undefined) {
        devices.set(deviceId, known);
        put(byIp, known.ip, deviceId);
        for (const address of known.addresses) put(byAddress, address, deviceId);
      }
      for (const listener of listeners) listener(change);
    },
    watch(listener) {
      listeners.add(listener);
      for (const [deviceId, known] of devices) listener({ deviceId, known });
      return () => void listeners.delete(listener);
    },
    deviceAt,
    find(address) {
      const deviceId = deviceAt(address);
      return deviceId === undefined ? undefined : devices.get(deviceId)?.names;
    },
  };
}

/**
 * Adds `flow.in.netif.name` and `flow.out.netif.name` to flow records whose exporter is a device. A name that the
 * exporter reported itself stays.
 */
export function createInterfaceEnricher(directory: InterfaceDirectory, metrics: Metrics): Enricher {
  let named = 0;
  metrics.counterFrom(
    "netgloss_snmp_flow_interfaces_named_total",
    "Interface names that SNMP gave to flow records",
    [],
    () => named,
  );
  const add = (record: RecordFields, names: ReadonlyMap<number, string>, index: string, name: string): void => {
    const value = record.get(index);
    if (typeof value !== "number" || record.has(name)) return;
    const known = names.get(value);
    if (known === undefined) return;
    record.set(name, known);
    named++;
  };
  const additions = (field: string, adds: string): NumberAdditions => {
    // Names change as a whole map, so what was rendered of one stays right.
    const rendered = new WeakMap<ReadonlyMap<number, string>, ReadonlyMap<number, RenderedFields>>();
    return {
      field,
      adds,
      tableFor(exporter) {
        const names = directory.find(exporter);
        if (names === undefined) return undefined;
        const known = rendered.get(names);
        if (known !== undefined) return known;
        const table = new Map(Array.from(names, ([index, name]) => [index, renderFields([[adds, name]])] as const));
        rendered.set(names, table);
        return table;
      },
      added: (records) => void (named += records),
    };
  };
  return {
    lines: {
      begin() {},
      numbers: [
        additions("flow.in.netif.index", "flow.in.netif.name"),
        additions("flow.out.netif.index", "flow.out.netif.name"),
      ],
      addresses: [],
    },
    enrich(record) {
      const address = record.get("flow.export.ip.addr");
      if (typeof address !== "string") return;
      const names = directory.find(address);
      if (names === undefined) return;
      add(record, names, "flow.in.netif.index", "flow.in.netif.name");
      add(record, names, "flow.out.netif.index", "flow.out.netif.name");
    },
  };
}
