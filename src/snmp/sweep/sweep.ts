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

/** An address that is asked whether a device is there. */
export interface SweepTarget {
  /** Canonical text. */
  readonly address: string;
  readonly network: Network;
  /** Why it is asked, where that is not because of the network's ranges. */
  readonly reason?: string;
}

/** A device that answered, and what identifies it. */
export interface SweptDevice extends SweepTarget {
  /** The accepted one of the network's credentials, from 0. */
  readonly credential: number;
  readonly sysName: string | undefined;
  readonly sysDescr: string | undefined;
  /** Text with a leading dot. */
  readonly sysObjectId: string | undefined;
  /** Hex digits. */
  readonly engineId: string | undefined;
  readonly facts: DeviceFacts;
  /** Its own addresses, without those that many devices have at once. */
  readonly addresses: readonly string[];
}

/** The results of one try with a credential. */
const tryResults = ["accepted", "timeout", "wrong_credential", "refused", "other"] as const;
type TryResult = (typeof tryResults)[number];

type ProbeResult =
  | { readonly device: SweptDevice }
  /** Undefined: nobody answered. Else an agent is there that took no credential, or answers with errors. */
  | { readonly device: undefined; readonly refusal: string | undefined };

interface ProbeParts {
  readonly client: SnmpClient;
  readonly definitions: Definitions;
  /** Resolves when the next message may be sent. */
  readonly turn: () => Promise<void>;
  readonly tried: (result: TryResult) => void;
}

/** SNMP-FRAMEWORK-MIB (RFC 3411): snmpEngineID. Agents answer it in every version. */
const snmpEngineId: Oid = [1, 3, 6, 1, 6, 3, 10, 2, 1, 1, 0];
const asked: readonly Oid[] = [sysObjectIdOid, sysDescrOid, sysNameOid, snmpEngineId];
const maxOids = 16;

/**
 * Asks an address with one credential of its network after the other until one is answered, then what the device is.
 *
 * @throws SnmpError `closed` when the run was stopped.
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

/** Reads what it is and which addresses it has. It is found, too, where it stops answering half-way. */
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

/** Every message of a sweep waits for its turn, so the tries after the first are requests of their own. */
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

/** An agent that answers, but none of the credentials. */
export interface RefusedAddress {
  readonly address: string;
  readonly network: string;
  readonly reason: string;
}

export interface SweepResult {
  /** In the order of the targets, whichever answered first. */
  readonly devices: readonly SweptDevice[];
  readonly refused: readonly RefusedAddress[];
  /** Addresses that were asked to the end. */
  readonly probed: number;
  /** True if it was stopped before its end. */
  readonly isStopped: boolean;
}

/** The results for an address. */
const addressResults = ["found", "refused", "silent", "no_ping"] as const;
type AddressResult = (typeof addressResults)[number];

export interface SweepParts extends ProbeParts {
  /** Tells whether an address answers a ping. */
  readonly ping: (address: string, timeoutMs: number, signal: AbortSignal) => Promise<boolean>;
  readonly ended: (result: AddressResult) => void;
  readonly signal: AbortSignal;
  /** The most addresses that are asked at the same time. */
  readonly maxInFlight: number;
  readonly reached: (addresses: number) => void;
}

/** The number of refusals that are listed; all are counted. */
const maxRefused = 1000;

/**
 * Asks each target, this many at the same time, each message in its turn.
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

/** The changes of a device that discovery met. */
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

  /** @param at milliseconds since the epoch. */
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

/** The time that a late timer may make up for. */
const maxLateMs = 20;

/**
 * Lets one task go after the other, this many in a second.
 *
 * @param perSecond above 0.
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

  /** Resolves when the next task may go, in the order of the calls. Rejects when the signal aborts. */
  turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = (): void => (signal.aborted ? reject(signal.reason as Error) : resolve());
      this.#waiting.push({ go, signal });
      if (this.#timer !== undefined) return;
      // Slots that nobody used while there was nothing to do are not made up for.
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

/** The program `ping` cannot be run. */
class PingError extends Error {
  override readonly name = "PingError";
}

/**
 * Tells whether an address answers one echo request, by the program `ping` of the system: Node has no sockets for ICMP.
 *
 * @throws PingError when there is no such program, or it may not be used.
 */
export async function systemPing(address: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1000));
  const options = ["-n", "-q", "-c", "1", "-W", String(seconds), address];
  return new Promise((resolve, reject) => {
    execFile("ping", options, { signal, timeout: 2 * timeoutMs + 1000 }, (error, _out, problem) => {
      if (error === null) resolve(true);
      // Exit code 1: no answer.
      else if (error.code === 1 || error.killed === true || signal.aborted) resolve(false);
      else if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        reject(new PingError("ping: true needs the program ping (Debian's package iputils-ping)"));
      } else if (/not permitted|permission/i.test(problem)) reject(new PingError(`ping: ${problem.trim()}`));
      // An address without a route, for one.
      else resolve(false);
    });
  });
}
