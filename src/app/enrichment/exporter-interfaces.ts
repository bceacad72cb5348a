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
  /** Credentials, tried in order until one is answered. */
  readonly credentials: readonly Credential[];
  readonly port: number;
  readonly retries: number;
  readonly timeoutMs: number;
  /** Reads the labels of ifType. */
  readonly types: () => Promise<ReadonlyMap<number, string> | undefined>;
  /** The time for which names are kept before they are requested again, milliseconds. */
  readonly ttlMs: number;
  /** Returns all known exporters. */
  readonly exporters: () => Promise<readonly Pick<ExporterView, "address" | "lastSeen">[]>;
  /** Reports the polled devices, which are not asked again here. */
  readonly watchPolled?: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
}

/** The interval between searches for new exporters and outdated names, milliseconds. */
const lookEveryMs = 5000;
/** The least time before an exporter that did not answer is asked again. */
const failedTtlMs = 15 * 60_000;
/** Limits of exporters that are asked at a time, and in all: senders can be forged. */
const atOnce = 8;
const maxExporters = 2000;

/** IF-MIB (RFC 2863): ifDescr, then ifName, then the columns of {@link InterfaceStates}: ifType, ifSpeed, ifAdminStatus; ifHighSpeed, ifAlias. */
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
 * Names, aliases, types, speeds and administrative states of the interfaces of exporters. It asks each exporter of flows by SNMP, soon
 * after its first datagram and again when its data are old. It does not ask polled devices, whose interfaces are known.
 */
export class ExporterInterfaces implements Component {
  readonly name = "names of exporters' interfaces";
  /** Adds the names to flow records, including those of polled devices. */
  readonly enricher: InterfaceEnricher;
  readonly #options: ExporterInterfacesOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #answers: Counter;
  readonly #client: SnmpClient;
  readonly #directory = new InterfaceDirectory();
  /** Ids of polled devices by their addresses. */
  readonly #polledIps = new Map<string, string>();
  /** The earliest time to ask each exporter again. */
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
    // The client of polled devices uses the same metric names; the sums are shown.
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

  /**
   * Reports all known interfaces to another thread's directory, including those of polled devices, then each change. @returns a function
   * that ends the reports.
   */
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

  /** Forgets exporters that are gone. @returns those that are to be asked now. */
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
 * Reads an agent's interfaces by ifIndex. The name is ifName, or ifDescr if there is none.
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
