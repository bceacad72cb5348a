import { LineBuffer, type Enricher, type RecordFields, type Sink, type Value } from "../../record/index.ts";
import type { Clock, Metrics } from "../../base/report/index.ts";
import { inPieces, type Pacer } from "../limits.ts";
import type { PolledObject } from "../poller/poll-plan.ts";
import type { RowReader } from "../poller/record-writer.ts";
import { KnownDevice, type DevicePorts, type Port } from "./device-ports.ts";
import {
  canonicalAddress,
  DeviceTables,
  sources,
  type KeptTable,
  type RowTypes,
  type RowKind,
} from "./device-tables.ts";
import { inferLinks } from "./infer-links.ts";
import { confidences, type Link, type LinkEnd } from "./link-drafts.ts";

/** The most rows to keep for all devices: some 100 MB. */
const maxRows = 600_000;
/** The least pause between a change of a table and the next inference, in ms; below, the least pause as a multiple of its duration. */
const leastRestMs = 10_000;
const restShare = 20;
/** The time after which the tables of a silent device no longer count, in ms. */
const silentMs = 3 * 3_600_000;
/**
 * The time after a restart for which a table is awaited until it is read again, in ms. Tables that change seldom, such as that of
 * addresses, are read once an hour.
 */
const rereadMs = 75 * 60_000;
/** The longest time between inferences while tables are awaited, in ms. */
const awaitedMs = 900_000;
/** The time for which a link that is gone is shown, in ms. */
const goneMs = 24 * 3_600_000;
/** The longest time between two records of a link, in ms. */
const recordMs = 3_600_000;

type Metadata = Readonly<Record<string, string>>;

/** A link with its times, in ms since the epoch. */
export interface LinkView extends Link {
  readonly state: "up" | "gone";
  /** The first time that it was found. */
  readonly since: number;
  /** The last time that it was found. */
  readonly seen: number;
}

/** A switch port at which an address was seen. */
export interface Location {
  readonly device: string;
  readonly name: string;
  readonly ip: string;
  readonly port: Port;
  readonly mac: string;
  /** False if the port leads to another known device, so that the address is behind that. */
  readonly isEdge: boolean;
  /** The number of MAC addresses learnt at the port. */
  readonly addresses: number;
  readonly at: number;
}

/** The facts about the place of an address. */
export interface Located {
  readonly address: string;
  /** The polled device that has the address itself. */
  readonly device: string | undefined;
  readonly macs: readonly string[];
  /** The places, the most likely first. */
  readonly locations: readonly Location[];
}

interface KeptLink {
  readonly link: Link;
  readonly since: number;
  readonly seen: number;
  readonly state: LinkView["state"];
  /** The time of its last record. */
  readonly recorded: number;
}

/**
 * Keeps the facts that devices report about each other, and the links inferred from them. Links that appear, change or go have a
 * record, and all links have one each hour.
 */
export class Topology implements RowReader {
  readonly #clock: Clock;
  readonly #pacer: Pacer;
  readonly #enricher: Enricher;
  readonly #sink: Sink;
  readonly #devices = new Map<string, KnownDevice>();
  readonly #links = new Map<string, KeptLink>();
  readonly #lines = new LineBuffer();
  #rows = 0;
  #leftOut = 0;
  /** The number of neighbours and links that the last inference left out. */
  #cut = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #leastRestMs: number;
  #restMs: number;
  /** True if a change waits. */
  #isDue = false;
  #isStopped = false;
  #inferring: Promise<void> = Promise.resolve();

  /** @param restMs the pause between a change of a table and the next inference. */
  constructor(
    enricher: Enricher,
    sink: Sink,
    pacer: Pacer,
    { clock, metrics }: { clock: Clock; metrics: Metrics },
    restMs = leastRestMs,
  ) {
    this.#leastRestMs = restMs;
    this.#restMs = restMs;
    this.#enricher = enricher;
    this.#sink = sink;
    this.#pacer = pacer;
    this.#clock = clock;
    metrics.gaugeFrom(
      "netgloss_snmp_topology_links",
      "Links between devices, by layer and confidence",
      ["layer", "confidence"],
      () =>
        ([2, 3] as const).flatMap((layer) =>
          confidences.map((confidence) => {
            const isCounted = ({ link, state }: KeptLink): boolean =>
              state === "up" && link.layer === layer && link.confidence === confidence;
            return [{ layer: String(layer), confidence }, [...this.#links.values()].filter(isCounted).length] as const;
          }),
        ),
    );
    metrics.gaugeFrom("netgloss_snmp_topology_rows", "Rows of tables kept to infer links from", [], () => this.#rows);
    metrics.gaugeFrom(
      "netgloss_snmp_topology_left_out",
      "Neighbors of one port beyond 256, and links of two devices beyond 256, that were not looked at the last time",
      [],
      () => this.#cut,
    );
    metrics.counterFrom(
      "netgloss_snmp_topology_rows_left_out_total",
      "Rows that were not kept to infer links from, because there are so many",
      [],
      () => this.#leftOut,
    );
  }

  /** {@link RowReader.begin} */
  begin(
    deviceId: string,
    { ip, name, boot }: { readonly ip: string; readonly name: string; readonly boot: number | undefined },
    object: PolledObject,
  ): ReturnType<RowReader["begin"]> {
    const source = sources.get(object.name);
    if (source === undefined || boot === undefined) return undefined;
    const rows: RowTypes[RowKind][] = [];
    return {
      add: (fields) => {
        const row = source.read(fields);
        if (row !== undefined) rows.push(row);
      },
      end: (isWhole) =>
        this.#replace(this.#deviceOf(deviceId, ip, boot), name, object.id, {
          kind: source.kind,
          rows,
          at: this.#clock.now(),
          isWhole,
        }),
    };
  }

  /** Forgets a device that is no longer polled. */
  forget(deviceId: string): void {
    this.#rows -= this.#devices.get(deviceId)?.tables.count ?? 0;
    if (this.#devices.delete(deviceId)) this.#changed();
  }

  /** Stops inferring. Resolves when nothing is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.idle();
  }

  /** Resolves when the links are inferred from everything reported before they were last due. */
  idle(): Promise<void> {
    return this.#inferring;
  }

  /** Returns the links in the order of their ends. */
  links(): readonly LinkView[] {
    const views = Array.from(this.#links.values(), ({ link, since, seen, state }) => ({ ...link, since, seen, state }));
    return views.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns the links with this device at an end; the device need not have reported anything itself. */
  linksOf(deviceId: string): readonly LinkView[] {
    return this.links().filter(({ a, b }) => a.device === deviceId || b.device === deviceId);
  }

  /** Returns the devices that reported facts about themselves, with the metadata of their addresses. */
  devices(): { readonly id: string; readonly ip: string; readonly name: string; readonly metadata: Metadata }[] {
    return Array.from(this.#devices.values(), ({ tables: { id, ip, name } }) => ({
      id,
      ip,
      name,
      metadata: this.#metadataOf(ip),
    }));
  }

  #metadataOf(ip: string): Metadata {
    const fields: RecordFields = new Map([["system.ip.addr", ip]]);
    this.#enricher.enrich(fields);
    fields.delete("system.ip.addr");
    return Object.fromEntries(
      Array.from(fields, ([name, value]) => [
        name.replace(/^system\./, ""),
        typeof value === "object" ? value.join(", ") : String(value),
      ]),
    );
  }

  /**
   * Finds the switch port of an address: its MAC address in the ARP tables, and the port of that in the tables of bridges.
   *
   * @param text an IP or a MAC address.
   * @returns undefined if it is neither.
   */
  locate(text: string): Located | undefined {
    const address = canonicalText(text);
    if (address === undefined) return undefined;
    const macs = new Set(isMac(address) ? [address] : this.#macsOf(address));
    const owner = [...this.#devices.values()].find(
      ({ tables, ports }) => tables.ip === address || ports.addresses.has(address) || ports.hasMac(address),
    );
    const locations = [...this.#devices.values()].flatMap((device) => this.#locationsAt(device, macs));
    // An edge comes before ports that lead to it; among several, the one with the fewest other addresses comes first.
    locations.sort((a, b) => Number(b.isEdge) - Number(a.isEdge) || a.addresses - b.addresses);
    return { address, device: owner?.tables.id, macs: [...macs], locations };
  }

  *#macsOf(address: string): Generator<string> {
    for (const { tables } of this.#devices.values()) {
      for (const row of tables.rows("arp")) if (row.address === address) yield row.mac;
    }
  }

  #locationsAt({ tables, ports }: KnownDevice, macs: ReadonlySet<string>): Location[] {
    const found: { readonly mac: string; readonly port: Port }[] = [];
    for (const { mac, port: number } of tables.rows("forwarding")) {
      if (!macs.has(mac)) continue;
      const port = ports.ofBridge(number);
      if (!found.some((one) => one.mac === mac && one.port.index === port.index)) found.push({ mac, port });
    }
    return found.map(({ mac, port }) => ({
      device: tables.id,
      name: tables.name,
      ip: tables.ip,
      port,
      mac,
      isEdge: !this.#leadsOn(tables.id, ports, port),
      addresses: countOf(tables.rows("forwarding"), (row) => ports.ofBridge(row.port).index === port.index),
      at: tables.readAt("forwarding") ?? 0,
    }));
  }

  /** Reports whether a port leads to another polled device. */
  #leadsOn(deviceId: string, ports: DevicePorts, port: Port): boolean {
    const isOwn = (end: LinkEnd): boolean =>
      end.device === deviceId && end.port !== undefined && ports.areOne(end.port, port);
    return [...this.#links.values()].some(
      ({ link: { layer, a, b, confidence }, state }) =>
        layer === 2 && state === "up" && confidence !== "unsure" && b.device !== undefined && (isOwn(a) || isOwn(b)),
    );
  }

  /** Returns the device, without the tables from before its last restart. */
  #deviceOf(deviceId: string, ip: string, boot: number): KnownDevice {
    const device = this.#devices.get(deviceId) ?? new KnownDevice(new DeviceTables(deviceId, ip));
    this.#devices.set(deviceId, device);
    const { tables } = device;
    // Its interfaces may have been renumbered, so tables from before and after must not be mixed.
    if (tables.boot !== boot) {
      tables.setAside(this.#clock.now(), true);
      device.changed();
    }
    tables.boot = boot;
    return device;
  }

  #replace(device: KnownDevice, name: string, objectId: string, table: KeptTable): void {
    const { tables } = device;
    const before = tables.count;
    if (table.isWhole && tables.isRenumberedBy(objectId, table)) tables.setAside(this.#clock.now(), false);
    const room = maxRows - this.#rows + tables.countOf(objectId);
    this.#leftOut += Math.max(0, table.rows.length - room);
    const kept = table.rows.length > room ? { ...table, rows: table.rows.slice(0, room) } : table;
    const isOther = tables.replace(objectId, kept) || tables.name !== name;
    this.#rows += tables.count - before;
    tables.name = name;
    if (!isOther) return;
    device.changed();
    this.#changed();
  }

  /** Infers the links again after a pause, in which more may change. */
  #changed(): void {
    if (this.#isDue || this.#isStopped) return;
    this.#isDue = true;
    this.#inferIn(this.#restMs);
  }

  #inferIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#isDue = false;
      this.#inferring = this.#infer();
    }, ms);
    this.#timer.unref();
  }

  async #infer(): Promise<void> {
    const began = this.#clock.monotonic();
    let cut = 0;
    const leftOut = (): void => void cut++;
    const start = this.#clock.now();
    const known = [...this.#devices.values()];
    for (const device of known) {
      const before = device.tables.count;
      if (device.tables.awaitOnlySince(start - rereadMs)) device.changed();
      this.#rows += device.tables.count - before;
    }
    const heard = known.filter(({ tables }) => tables.saidAt >= start - silentMs);
    const awaitedBefore = this.#awaited();
    const links = await inPieces(inferLinks(heard, leftOut), this.#pacer);
    if (this.#isStopped) return;
    // Tables that are read or set aside meanwhile may or may not be in the links.
    const awaited = new Set([...awaitedBefore, ...this.#awaited()]);
    this.#cut = cut;
    this.#restMs = Math.max(this.#leastRestMs, restShare * (this.#clock.monotonic() - began));
    if (!this.#isDue) this.#inferIn(known.some(({ tables }) => tables.isAwaited) ? awaitedMs : recordMs);
    const now = this.#clock.now();
    const found = new Set<string>();
    for (const link of links) {
      if (this.#pacer.isDue()) await this.#pacer.rest();
      if (isOfOne(link, awaited)) continue;
      found.add(link.id);
      const earlier = this.#links.get(link.id);
      const isOther = earlier?.state !== "up" || earlier.link.confidence !== link.confidence;
      const recorded = isOther || now - earlier.recorded >= recordMs ? now : earlier.recorded;
      this.#links.set(link.id, { link, since: earlier?.since ?? now, seen: now, state: "up", recorded });
      if (recorded === now) this.#record(link, "up", earlier?.since ?? now, now);
    }
    for (const [key, kept] of this.#links) {
      // The tables of a device that restarts often are never complete.
      const isKept = kept.state === "up" && now - kept.seen < silentMs && isOfOne(kept.link, awaited);
      if (found.has(key) || isKept) continue;
      if (kept.state === "up") this.#record(kept.link, "gone", kept.since, now);
      if (now - kept.seen >= goneMs) this.#links.delete(key);
      else this.#links.set(key, { ...kept, state: "gone" });
    }
    const { count } = this.#lines;
    if (count > 0) this.#sink.write(this.#lines.take(), count);
  }

  /** Returns the devices that have links and whose tables are being read again: half of their tables would give other links. */
  #awaited(): ReadonlySet<string> {
    const awaited = new Set<string>();
    for (const { link, state } of this.#links.values()) {
      for (const { device } of state === "up" ? [link.a, link.b] : []) {
        if (this.#devices.get(device ?? "")?.tables.isAwaited === true) awaited.add(device ?? "");
      }
    }
    return awaited;
  }

  #record(
    { layer, a, b, confidence, evidence, doubts }: Link,
    state: LinkView["state"],
    since: number,
    now: number,
  ): void {
    const fields: RecordFields = new Map();
    const put = (name: string, value: Value | undefined): void => {
      if (value !== undefined) fields.set(name, value);
    };
    put("@timestamp", new Date(now).toISOString());
    put("system.ip.addr", a.address);
    put("system.host.name", a.name);
    put("netif.index", a.port?.index);
    put("netif.name", a.port?.name);
    put("link.layer", layer);
    put("link.state.name", state);
    put("link.confidence.name", confidence);
    put("link.evidence", [...new Set(evidence.map(({ kind }) => kind))]);
    if (doubts.length > 0) put("link.doubts", doubts);
    put("link.since", new Date(since).toISOString());
    put("link.neighbor.ip.addr", b.address);
    put("link.neighbor.host.name", b.name);
    put("link.neighbor.netif.index", b.port?.index);
    put("link.neighbor.netif.name", b.port?.name);
    this.#enricher.enrich(fields);
    this.#lines.append(fields);
  }
}

const isOfOne = ({ a, b }: Link, devices: ReadonlySet<string>): boolean =>
  devices.has(a.device ?? "") || devices.has(b.device ?? "");

function countOf<T>(values: Iterable<T>, isCounted: (value: T) => boolean): number {
  let counted = 0;
  for (const value of values) if (isCounted(value)) counted++;
  return counted;
}

/** Reports whether a text is an IP or a MAC address. */
export function isLocatable(text: string): boolean {
  return canonicalText(text) !== undefined;
}

const isMac = (text: string): boolean => /^(?:[\da-f]{2}:){5}[\da-f]{2}$/.test(text);

function canonicalText(text: string): string | undefined {
  const mac = text.toLowerCase().replaceAll("-", ":");
  return isMac(mac) ? mac : canonicalAddress(text);
}
