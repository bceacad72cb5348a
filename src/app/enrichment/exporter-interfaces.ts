import type { ExporterView } from "../../flow/index.ts";
import type { Enricher } from "../../record/index.ts";
import { createMetrics, type Clock, type Component, type Log, type Metrics } from "../../base/report/index.ts";
import {
  InterfaceDirectory,
  createInterfaceEnricher,
  createSnmpClient,
  formatDisplayString,
  walk,
  type Credential,
  type InterfaceChange,
  type OpenUdpSocket,
  type Session,
} from "../../snmp/index.ts";

export interface ExporterInterfacesOptions {
  /** Tried in order until one is answered. */
  readonly credentials: readonly Credential[];
  readonly port: number;
  readonly retries: number;
  readonly timeoutMs: number;
  /** How long names are kept before they are asked again. */
  readonly ttlMs: number;
  /** All exporters heard of. */
  readonly exporters: () => Promise<readonly Pick<ExporterView, "address" | "lastSeen">[]>;
  /** Reports the devices that are polled: these are not asked. */
  readonly watchPolled?: ((listener: (change: InterfaceChange) => void) => () => void) | undefined;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly openSocket?: OpenUdpSocket;
}

/** Names of the interfaces of exporters, which are asked for them by SNMP. */
export interface ExporterInterfaces extends Component {
  /** Gives flow records the names, those of polled devices included. */
  readonly enricher: Enricher;
  /** Reports to another thread's directory all that is known, polled devices included, then each change. @returns what ends it. */
  readonly watch: (listener: (change: InterfaceChange) => void) => () => void;
}

/** How often to look for exporters that are new, or whose names are old. */
const lookEveryMs = 5000;
/** An exporter that did not answer is asked again no sooner. */
const failedTtlMs = 15 * 60_000;
/** Exporters that are asked at the same time, and that are asked at all: senders can be forged. */
const atOnce = 8;
const maxExporters = 2000;

/** IF-MIB (RFC 2863): ifDescr, ifName. */
const ifDescr = [1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
const ifName = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
const maxNames = 10_000;

/**
 * Asks each exporter of flows for the names of its interfaces, soon after its first datagram and again when they are old.
 * A device that is polled anyway is not asked: its names are known.
 */
export function createExporterInterfaces(options: ExporterInterfacesOptions): ExporterInterfaces {
  const { credentials, clock, log, ttlMs } = options;
  // The client of polled devices counts under the same names; the sums are shown.
  const metrics = createMetrics();
  options.metrics.addSource(() => metrics.families());
  const answers = metrics.counter(
    "netgloss_flow_exporter_names_total",
    "Exporters asked by SNMP for the names of their interfaces, by result.",
    { result: ["named", "failed"] },
  );
  const { openSocket } = options;
  const client = createSnmpClient({ metrics, log, clock, ...(openSocket !== undefined && { openSocket }) });
  const directory = new InterfaceDirectory();
  const enricher = createInterfaceEnricher(directory, metrics);
  /** Ids of polled devices by their addresses. */
  const polledIps = new Map<string, string>();
  /** When each exporter may be asked again. */
  const nextAt = new Map<string, number>();
  let isBusy = false;
  let timer: NodeJS.Timeout | undefined;
  let unwatch: (() => void) | undefined;

  const idOf = (address: string): string => `exporter ${address}`;

  const ask = async (address: string): Promise<void> => {
    for (const credential of credentials) {
      const session = client.open({
        ip: address,
        port: options.port,
        credential,
        timeout: options.timeoutMs,
        retries: options.retries,
        exponentialTimeout: false,
      });
      try {
        const names = await readNames(session);
        if (names === undefined) continue;
        nextAt.set(address, clock.monotonic() + ttlMs);
        answers.add(1, { result: "named" });
        if (!polledIps.has(address)) {
          directory.change({ deviceId: idOf(address), known: { ip: address, addresses: [], names } });
        }
        return;
      } finally {
        session.close();
      }
    }
    answers.add(1, { result: "failed" });
    nextAt.set(address, clock.monotonic() + Math.min(ttlMs, failedTtlMs));
    log.info({ exporter: address }, "an exporter does not report the names of its interfaces by SNMP");
  };

  const look = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    try {
      const exporters = await options.exporters();
      const present = new Set(exporters.map(({ address }) => address));
      for (const address of nextAt.keys()) {
        if (present.has(address)) continue;
        nextAt.delete(address);
        directory.change({ deviceId: idOf(address) });
      }
      const now = clock.monotonic();
      const due = [...present].filter(
        (address) =>
          (nextAt.get(address) ?? -Infinity) <= now &&
          !polledIps.has(address) &&
          (nextAt.has(address) || nextAt.size < maxExporters),
      );
      const wanted = due.slice(0, maxExporters);
      const workers = Array.from({ length: Math.min(atOnce, wanted.length) }, async () => {
        for (let address = wanted.shift(); address !== undefined; address = wanted.shift()) await ask(address);
      });
      await Promise.all(workers);
    } catch (error) {
      log.warn({ error }, "exporters could not be asked for the names of their interfaces");
    } finally {
      isBusy = false;
    }
  };

  const takePolled = (change: InterfaceChange): void => {
    const { deviceId, known } = change;
    for (const [ip, id] of polledIps) if (id === deviceId) polledIps.delete(ip);
    if (known !== undefined) {
      polledIps.set(known.ip, deviceId);
      directory.change({ deviceId: idOf(known.ip) });
    }
    directory.change(change);
  };

  return {
    name: "names of exporters' interfaces",
    enricher,
    watch: (listener) => directory.watch(listener),
    async start() {
      unwatch = options.watchPolled?.(takePolled);
      timer = setInterval(() => void look(), lookEveryMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      unwatch?.();
      client.close();
    },
  };
}

/** Names by ifIndex: ifName, or ifDescr where there is none. @returns undefined when the agent does not answer. */
async function readNames(session: Session): Promise<ReadonlyMap<number, string> | undefined> {
  const columns = [new Map<number, string>(), new Map<number, string>()] as const;
  let answered = false;
  const summary = await walk(
    session,
    [ifDescr, ifName],
    (root, varbinds) => {
      answered = true;
      for (const { oid, value } of varbinds) {
        const index = oid.at(-1);
        if (index !== undefined && value instanceof Uint8Array && value.length > 0) {
          columns[root === 0 ? 0 : 1].set(index, formatDisplayString(value));
        }
      }
    },
    { maxValues: maxNames },
  );
  if (!answered && !summary.isComplete) return undefined;
  return new Map([...columns[0], ...columns[1]]);
}
