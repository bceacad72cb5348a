import type { ExporterView } from "../../flow/index.ts";
import {
  createMetrics,
  type Clock,
  type Component,
  type Counter,
  type Log,
  type Reporting,
} from "../../base/report/index.ts";
import {
  InterfaceDirectory,
  InterfaceEnricher,
  InterfaceStates,
  formatDisplayString,
  formatOid,
  walk,
  type Credential,
  type InterfaceChange,
  type InterfaceFacts,
  type OpenUdpSocket,
  type Session,
  SnmpClient,
} from "../../snmp/index.ts";

export interface ExporterInterfacesOptions {
  /** Tried in order until one is answered. */
  readonly credentials: readonly Credential[];
  readonly port: number;
  readonly retries: number;
  readonly timeoutMs: number;
  /** Reads the labels of ifType. */
  readonly types: () => Promise<ReadonlyMap<number, string> | undefined>;
  /** The time for which names are kept before they are asked again, milliseconds. */
  readonly ttlMs: number;
  /** All exporters heard of. */
  readonly exporters: () => Promise<readonly Pick<ExporterView, "address" | "lastSeen">[]>;
  /** Reports the devices that are polled: these are not asked. */
  readonly watchPolled?: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
}

/** The time between two looks for exporters that are new, or whose names are old, milliseconds. */
const lookEveryMs = 5000;
/** An exporter that did not answer is asked again no sooner. */
const failedTtlMs = 15 * 60_000;
/** Exporters that are asked at the same time, and that are asked at all: senders can be forged. */
const atOnce = 8;
const maxExporters = 2000;

/** IF-MIB (RFC 2863): ifDescr, then ifName, then what {@link InterfaceStates} knows: ifType, ifSpeed, ifAdminStatus; ifHighSpeed, ifAlias. */
const ifEntry = [1, 3, 6, 1, 2, 1, 2, 2, 1];
const ifXEntry = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const columns = [
  [...ifEntry, 2],
  [...ifXEntry, 1],
  [...ifEntry, 3],
  [...ifEntry, 5],
  [...ifEntry, 7],
  [...ifXEntry, 15],
  [...ifXEntry, 18],
];
/** The most values that are read of a column. */
const maxValues = 10_000;

/**
 * Names, aliases, types, speeds and wanted states of the interfaces of exporters. It asks each exporter of flows for them by SNMP, soon
 * after its first datagram and again when they are old. A device that is polled anyway is not asked: they are known.
 */
export class ExporterInterfaces implements Component {
  readonly name = "names of exporters' interfaces";
  /** Gives flow records the names, those of polled devices included. */
  readonly enricher: InterfaceEnricher;
  readonly #options: ExporterInterfacesOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #answers: Counter;
  readonly #client: SnmpClient;
  readonly #directory = new InterfaceDirectory();
  /** Ids of polled devices by their addresses. */
  readonly #polledIps = new Map<string, string>();
  /** When each exporter may be asked again. */
  readonly #nextAt = new Map<string, number>();
  #types: ReadonlyMap<number, string> | undefined;
  #isBusy = false;
  #timer: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  constructor(options: ExporterInterfacesOptions, reporting: Reporting, openSocket?: OpenUdpSocket) {
    const { log, clock } = reporting;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    // The client of polled devices counts under the same names; the sums are shown.
    const metrics = createMetrics();
    reporting.metrics.addSource(() => metrics.families());
    this.#answers = metrics.counter(
      "netgloss_flow_exporter_names_total",
      "Exporters asked by SNMP for the names of their interfaces, by result.",
      { result: ["named", "failed"] },
    );
    this.#client = new SnmpClient({ metrics, log, clock }, openSocket);
    this.enricher = new InterfaceEnricher(this.#directory, metrics);
  }

  /** Reports to another thread's directory all that is known, polled devices included, then each change. @returns what ends it. */
  readonly watch = (listener: (change: InterfaceChange) => void): (() => void) => this.#directory.watch(listener);

  async start(): Promise<void> {
    this.#types = await this.#options.types();
    this.#unwatch = this.#options.watchPolled?.((change) => this.#takePolled(change));
    this.#timer = setInterval(() => void this.#look(), lookEveryMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unwatch?.();
    this.#client.close();
  }

  async #look(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      const wanted = await this.#due();
      const workers = Array.from({ length: Math.min(atOnce, wanted.length) }, async () => {
        for (let address = wanted.shift(); address !== undefined; address = wanted.shift()) await this.#ask(address);
      });
      await Promise.all(workers);
    } catch (error) {
      this.#log.warn({ error }, "exporters could not be asked for the names of their interfaces");
    } finally {
      this.#isBusy = false;
    }
  }

  /** Forgets the exporters that are gone. @returns those that are to be asked now. */
  async #due(): Promise<string[]> {
    const exporters = await this.#options.exporters();
    const present = new Set(exporters.map(({ address }) => address));
    const nextAt = this.#nextAt;
    for (const address of nextAt.keys()) {
      if (present.has(address)) continue;
      nextAt.delete(address);
      this.#directory.change({ deviceId: idOf(address) });
    }
    const now = this.#clock.monotonic();
    const due = [...present].filter(
      (address) =>
        (nextAt.get(address) ?? -Infinity) <= now &&
        !this.#polledIps.has(address) &&
        (nextAt.has(address) || nextAt.size < maxExporters),
    );
    return due.slice(0, maxExporters);
  }

  async #ask(address: string): Promise<void> {
    const { credentials, port, timeoutMs: timeout, retries, ttlMs } = this.#options;
    for (const credential of credentials) {
      const session = this.#client.open({ ip: address, port, credential, timeout, retries, exponentialTimeout: false });
      try {
        const interfaces = await readInterfaces(session, this.#types);
        if (interfaces === undefined) continue;
        this.#nextAt.set(address, this.#clock.monotonic() + ttlMs);
        this.#answers.add(1, { result: "named" });
        if (!this.#polledIps.has(address)) {
          this.#directory.change({ deviceId: idOf(address), known: { ip: address, addresses: [], interfaces } });
        }
        return;
      } finally {
        session.close();
      }
    }
    this.#answers.add(1, { result: "failed" });
    this.#nextAt.set(address, this.#clock.monotonic() + Math.min(ttlMs, failedTtlMs));
    this.#log.info({ exporter: address }, "an exporter does not report the names of its interfaces by SNMP");
  }

  #takePolled(change: InterfaceChange): void {
    const { deviceId, known } = change;
    for (const [ip, id] of this.#polledIps) if (id === deviceId) this.#polledIps.delete(ip);
    if (known !== undefined) {
      this.#polledIps.set(known.ip, deviceId);
      this.#directory.change({ deviceId: idOf(known.ip) });
    }
    this.#directory.change(change);
  }
}

const idOf = (address: string): string => `exporter ${address}`;

/**
 * Reads what an agent says of interfaces, by ifIndex. The name is ifName, or ifDescr where there is none.
 *
 * @param types labels of ifType.
 * @returns undefined when the agent does not answer.
 */
async function readInterfaces(
  session: Session,
  types: ReadonlyMap<number, string> | undefined,
): Promise<ReadonlyMap<number, InterfaceFacts> | undefined> {
  const [descriptions, names] = [new Map<number, string>(), new Map<number, string>()];
  const states = new InterfaceStates();
  let answered = false;
  const summary = await walk(
    session,
    columns,
    (root, varbinds) => {
      answered = true;
      const column = formatOid(columns[root] as number[]);
      for (const varbind of varbinds) {
        const { oid, value } = varbind;
        const index = oid.at(-1);
        if (index === undefined) continue;
        if (root > 1) states.take(column, index, varbind);
        else if (value instanceof Uint8Array && value.length > 0) {
          (root === 0 ? descriptions : names).set(index, formatDisplayString(value));
        }
      }
    },
    { maxValues },
  );
  if (!answered && !summary.isComplete) return undefined;
  return states.facts(new Map([...descriptions, ...names]), types);
}
