import { execFile } from "node:child_process";
import type { Definitions } from "../definitions/definitions.ts";
import { describeDevice, type DeviceFacts } from "../discovery/describe-device.ts";
import { refusal, sysDescrOid, sysNameOid, sysObjectIdOid, textOf } from "../discovery/identify.ts";
import { getScalars } from "../session/walk.ts";
import { learnAddresses } from "../discovery/learn-interfaces.ts";
import { formatOid, type Oid, type VarBind } from "../session/ber.ts";
import type { Session, SnmpResponse } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import { sessionCredential, type Network } from "./networks.ts";
import type { Clock, Counter, Gauge, Metrics } from "../../base/report/index.ts";

/** An address to probe for a device. */
export interface SweepTarget {
  /** The address as canonical text. */
  readonly address: string;
  readonly network: Network;
  /** The reason for the probe, unless the address is in the network's ranges. */
  readonly reason?: string;
}

/** A device that answered, with the facts that identify it. */
export interface SweptDevice extends SweepTarget {
  /** The position of the accepted credential among those of the network, from 0. */
  readonly credential: number;
  readonly sysName: string | undefined;
  readonly sysDescr: string | undefined;
  /** The sysObjectID as text with a leading dot. */
  readonly sysObjectId: string | undefined;
  /** The engine id as hex digits. */
  readonly engineId: string | undefined;
  readonly facts: DeviceFacts;
  /** Its own addresses, without those that many devices have at the same time. */
  readonly addresses: readonly string[];
}

/** The results of one try with a credential. */
const tryResults = ["accepted", "timeout", "wrong_credential", "refused", "other"] as const;
type TryResult = (typeof tryResults)[number];

type ProbeResult =
  | { readonly device: SweptDevice }
  /** Without a refusal, nobody answered. With one, there is an agent that accepted no credential, or answers with errors. */
  | { readonly device: undefined; readonly refusal: string | undefined };

interface ProbeParts {
  readonly client: SnmpClient;
  readonly definitions: Definitions;
  /** Resolves when the next message may be sent. */
  readonly turn: () => Promise<void>;
  readonly tried: (result: TryResult) => void;
}

/** snmpEngineID of SNMP-FRAMEWORK-MIB (RFC 3411), which agents have in every version. */
const snmpEngineId: Oid = [1, 3, 6, 1, 6, 3, 10, 2, 1, 1, 0];
const asked: readonly Oid[] = [sysObjectIdOid, sysDescrOid, sysNameOid, snmpEngineId];
const maxOids = 16;

/**
 * Tries the credentials of a network at an address until one is accepted, then reads the identity of the device.
 *
 * @throws SnmpError `closed` if the run was stopped.
 */
async function probeAddress(parts: ProbeParts, target: SweepTarget): Promise<ProbeResult> {
  const { network } = target;
  let refused: string | undefined;
  for (const [credential, given] of network.credentials.entries()) {
    let session: Session | undefined;
    try {
      session = withRetries(
        parts.client.open({
          ip: target.address,
          port: network.port,
          credential: sessionCredential(given),
          timeout: network.timeoutMs,
          retries: 0,
          exponentialTimeout: false,
          turn: parts.turn,
        }),
        network.retries,
      );
      const { values, errorStatus } = await getScalars(session, asked, maxOids);
      if (errorStatus !== 0 && values.every((value) => value === undefined)) throw refusal(errorStatus);
      parts.tried("accepted");
      return { device: await describe(parts, target, credential, session, values) };
    } catch (error) {
      if (!(error instanceof SnmpError) || error.code === "closed") throw error;
      const result = resultOf(error);
      parts.tried(result);
      if (result !== "timeout") refused ??= error.message;
    } finally {
      session?.close();
    }
  }
  return { device: undefined, refusal: refused };
}

function resultOf({ code }: SnmpError): TryResult {
  if (code === "timeout" || code === "refused") return code;
  return code === "auth" ? "wrong_credential" : "other";
}

/** Reads the identity and addresses of a device. It counts as found even if it stops answering meanwhile. */
async function describe(
  { definitions }: ProbeParts,
  target: SweepTarget,
  credential: number,
  session: Session,
  [sysObjectId, sysDescr, sysName, engineId]: readonly (VarBind | undefined)[],
): Promise<SweptDevice> {
  const oid = sysObjectId?.type === "ObjectIdentifier" ? sysObjectId.value : undefined;
  const identity = { credential, sysObjectId: oid, sysDescr: textOf(sysDescr), sysName: textOf(sysName) };
  const known = engineId?.type === "OctetString" ? engineId.value : session.engine()?.id;
  const answered = async <T>(question: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await question;
    } catch (error) {
      if (error instanceof SnmpError && error.code !== "closed") return otherwise;
      throw error;
    }
  };
  const facts = await answered<DeviceFacts>(
    describeDevice(session, definitions, identity, { maxOids, maxRepetitions: 0 }),
    new Map(),
  );
  const addresses = await answered<readonly string[]>(learnAddresses(session, { maxOids }), []);
  return {
    ...target,
    ...identity,
    sysObjectId: oid && formatOid(oid),
    engineId: known === undefined || known.length < 5 ? undefined : Buffer.from(known).toString("hex"),
    facts,
    addresses,
  };
}

/** Returns a session whose further tries are requests of their own, because every message of a sweep waits for its turn. */
function withRetries(session: Session, retries: number): Session {
  const again = async (ask: () => Promise<SnmpResponse>): Promise<SnmpResponse> => {
    for (let left = retries; ; left--) {
      try {
        return await ask();
      } catch (error) {
        if (left === 0 || !(error instanceof SnmpError) || error.code !== "timeout") throw error;
      }
    }
  };
  return {
    version: session.version,
    counts: session.counts,
    limits: session.limits,
    valueFaults: session.valueFaults,
    get: (oids) => again(() => session.get(oids)),
    getNext: (oids) => again(() => session.getNext(oids)),
    getBulk: (oids, nonRepeaters, repetitions) => again(() => session.getBulk(oids, nonRepeaters, repetitions)),
    engine: () => session.engine(),
    close: () => session.close(),
  };
}

/** An address with an agent that accepts none of the credentials. */
export interface RefusedAddress {
  readonly address: string;
  readonly network: string;
  readonly reason: string;
}

export interface SweepResult {
  /** The devices in the order of the targets, in whatever order they answered. */
  readonly devices: readonly SweptDevice[];
  readonly refused: readonly RefusedAddress[];
  /** The number of addresses whose probe was completed. */
  readonly probed: number;
  /** True if the sweep was stopped before its end. */
  readonly isStopped: boolean;
}

/** The results for an address. */
const addressResults = ["found", "refused", "silent", "no_ping"] as const;
type AddressResult = (typeof addressResults)[number];

export interface SweepParts extends ProbeParts {
  /** Reports whether an address answers a ping. */
  readonly ping: (address: string, timeoutMs: number, signal: AbortSignal) => Promise<boolean>;
  readonly ended: (result: AddressResult) => void;
  readonly signal: AbortSignal;
  /** The most addresses to probe at the same time. */
  readonly maxInFlight: number;
  readonly reached: (addresses: number) => void;
}

/** The most refusals in the list; all are counted. */
const maxRefused = 1000;

/**
 * Probes each target, with a limited number at the same time, and each message in its turn.
 *
 * @throws what `ping` throws.
 */
export async function sweep(parts: SweepParts, targets: Iterable<SweepTarget>): Promise<SweepResult> {
  const { signal } = parts;
  const found: [place: number, SweptDevice][] = [];
  const refused: [place: number, RefusedAddress][] = [];
  const queue = targets[Symbol.iterator]();
  let place = 0;
  let probed = 0;

  const probe = async (target: SweepTarget, at: number): Promise<AddressResult> => {
    const { address, network } = target;
    if (network.ping) {
      await parts.turn();
      if (!(await parts.ping(address, network.timeoutMs, signal))) return "no_ping";
    }
    const result = await probeAddress(parts, target);
    if (result.device !== undefined) {
      found.push([at, result.device]);
      return "found";
    }
    if (result.refusal === undefined) return "silent";
    if (refused.length < maxRefused) refused.push([at, { address, network: network.name, reason: result.refusal }]);
    return "refused";
  };
  const work = async (): Promise<void> => {
    for (let next = queue.next(); !next.done && !signal.aborted; next = queue.next()) {
      try {
        const result = await probe(next.value, place++);
        parts.ended(result);
        parts.reached(++probed);
      } catch (error) {
        if (!signal.aborted && !(error instanceof SnmpError && error.code === "closed")) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: parts.maxInFlight }, work));
  return {
    devices: inOrder(found),
    refused: inOrder(refused),
    probed,
    isStopped: signal.aborted,
  };
}

function inOrder<T>(items: [place: number, T][]): T[] {
  return items.sort(([a], [b]) => a - b).map(([, item]) => item);
}

/** The changes of a device that a discovery may find. */
const foundChanges = ["new", "changed", "gone", "duplicate"] as const;
type FoundChange = (typeof foundChanges)[number];

export class SweepMeasures {
  readonly #probes: Counter;
  readonly #tries: Counter;
  readonly #addresses: Counter;
  readonly #devices: Counter;
  readonly #runs: Counter;
  readonly #duration: Gauge;
  readonly #last: Gauge;

  constructor(metrics: Metrics) {
    this.#probes = metrics.counter(
      "netgloss_snmp_discovery_probes_total",
      "Requests that discovery of networks sent, tries after the first and pings included",
    );
    this.#probes.add(0);
    this.#tries = metrics.counter(
      "netgloss_snmp_discovery_tries_total",
      "Credentials that discovery of networks tried at an address, by result",
      { result: tryResults },
    );
    this.#addresses = metrics.counter(
      "netgloss_snmp_discovery_addresses_total",
      "Addresses that discovery of networks asked, by result",
      { result: addressResults },
    );
    this.#devices = metrics.counter(
      "netgloss_snmp_discovery_devices_total",
      "Devices that discovery of networks met, by what is different",
      { change: foundChanges },
    );
    this.#runs = metrics.counter("netgloss_snmp_discovery_runs_total", "Runs of discovery of networks, by result", {
      result: ["done", "failed", "stopped"],
    });
    this.#duration = metrics.gauge(
      "netgloss_snmp_discovery_duration_seconds",
      "Duration of the last run over networks",
    );
    this.#last = metrics.gauge(
      "netgloss_snmp_discovery_last_run_timestamp_seconds",
      "When the last run over networks ended; 0 before the first one",
    );
    this.#duration.set(0);
    this.#last.set(0);
  }

  sent(): void {
    this.#probes.add();
  }

  tried(result: TryResult): void {
    this.#tries.add(1, { result });
  }

  ended(result: AddressResult): void {
    this.#addresses.add(1, { result });
  }

  found(change: FoundChange, count: number): void {
    this.#devices.add(count, { change });
  }

  /** Counts a run. @param at in ms since the epoch. */
  run(result: "done" | "failed" | "stopped", at: number, milliseconds: number): void {
    this.#runs.add(1, { result });
    this.#duration.set(milliseconds / 1000);
    this.#last.set(at / 1000);
  }
}

interface Waiting {
  readonly go: () => void;
  readonly signal: AbortSignal;
}

/** The longest delay of a timer that is made up for, in ms. */
const maxLateMs = 20;

/**
 * Spreads tasks evenly over time.
 *
 * @param perSecond the number of tasks per second, above 0.
 */
export class SendPace {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #waiting: Waiting[] = [];
  #nextAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock;
    this.#everyMs = 1000 / perSecond;
  }

  /** Resolves when the next task may run, in the order of the calls. Rejects if the signal aborts. */
  turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => (signal.aborted ? reject(signal.reason as Error) : resolve());
      this.#waiting.push({ go, signal });
      if (this.#timer !== undefined) return;
      // Slots that passed without a task are not made up for.
      this.#nextAt = Math.max(this.#nextAt, this.#clock.monotonic());
      this.#letGo();
    });
  }

  #letGo(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonic();
    this.#nextAt = Math.max(this.#nextAt, now - maxLateMs);
    while (this.#nextAt <= now) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next.go();
      // A waiter that has given up does not use a slot.
      if (!next.signal.aborted) this.#nextAt += this.#everyMs;
    }
    this.#timer = setTimeout(() => this.#letGo(), Math.max(1, this.#nextAt - now));
  }
}

/** Thrown if the program `ping` cannot be run. */
class PingError extends Error {
  override readonly name = "PingError";
}

/**
 * Reports whether an address answers one echo request. It runs the system's program `ping`, because Node has no ICMP sockets.
 *
 * @throws PingError if there is no such program, or it may not be used.
 */
export async function systemPing(address: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const options = ["-n", "-q", "-c", "1", "-W", String(seconds), address];
  return new Promise((resolve, reject) => {
    execFile("ping", options, { signal, timeout: 2 * timeoutMs + 1000 }, (error, _out, problem) => {
      if (error === null) resolve(true);
      // Exit code 1 means no answer.
      else if (error.code === 1 || error.killed === true || signal.aborted) resolve(false);
      else if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        reject(new PingError("ping: true needs the program ping (Debian's package iputils-ping)"));
      } else if (/not permitted|permission/i.test(problem)) reject(new PingError(`ping: ${problem.trim()}`));
      // For example, there is no route to the address.
      else resolve(false);
    });
  });
}
