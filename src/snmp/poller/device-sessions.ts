import type { Clock } from "../../base/report/index.ts";
import {
  marks,
  type Marks,
  sysNameOid,
  sysObjectIdOid,
  sysUpTimeOid,
  textOf,
  openSession,
} from "../discovery/identify.ts";
import { getScalars } from "../session/walk.ts";
import type { Oid } from "../session/ber.ts";
import type { Session } from "../session/session.ts";
import { type Device, deviceCredentials } from "../definitions/definitions.ts";
import { noValueFaults } from "../session/ber.ts";
import type { PeerCounts } from "../session/peer.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";

/** The age of a device according to one answer. */
export interface UptimeReading {
  /** sysUpTime in hundredths of a second, modulo 2^32; undefined if the device has none. */
  readonly ticks: number | undefined;
  /** snmpEngineBoots of version 3. */
  readonly boots: number | undefined;
  /** snmpEngineID of version 3, in hex. */
  readonly engineId: string | undefined;
  /** The time in ms of a monotonic clock. */
  readonly at: number;
}

const wrap = 2 ** 32;
/** Returns the most by which the clocks of device and collector may differ: a tenth of the elapsed time, and a minute. */
const tolerance = (elapsed: number): number => elapsed / 10 + 6000;

/**
 * Reports whether the device has restarted between two readings: its engine booted or is another one, or its uptime went back. The wrap
 * of the counter every 497 days is no restart. An uptime shorter than the time since the earlier reading is a restart, too, even if it
 * is greater than before.
 */
export function hasRestarted(earlier: UptimeReading, later: UptimeReading): boolean {
  if (earlier.engineId !== undefined && later.engineId !== undefined && earlier.engineId !== later.engineId)
    return true;
  if (earlier.boots !== undefined && later.boots !== undefined && later.boots !== earlier.boots) return true;
  if (earlier.ticks === undefined || later.ticks === undefined) return false;
  const elapsed = (later.at - earlier.at) / 10;
  const expected = earlier.ticks + elapsed;
  if (later.ticks >= earlier.ticks) return later.ticks < elapsed - tolerance(elapsed);
  const isWrap = Math.abs(later.ticks + wrap - expected) <= tolerance(elapsed);
  return !isWrap;
}

/** The time until an agent has all parts of its tables: net-snmp has the load of processors only after a minute. */
const settledMs = 300_000;
/** The duration of a discovery, some seconds, together with the difference of both clocks. */
const discoveryMs = 10_000;

/**
 * Reports whether a device that is up for `uptimeMs` has completed its start since its discovery, so that it may have more now. It
 * returns false if the start was complete at the discovery, or if the device started after it.
 */
export function hasSettledSince(sinceDiscoveryMs: number, uptimeMs: number): boolean {
  const ageMs = uptimeMs - sinceDiscoveryMs;
  return uptimeMs >= settledMs && ageMs < settledMs && ageMs > -discoveryMs;
}

/** The facts about the identity of a device from one request. */
export interface Pulse {
  /** True if the device has restarted since the previous pulse. */
  readonly isRestarted: boolean;
  /** sysUpTime in ms, if the device has it. */
  readonly uptimeMs: number | undefined;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
  /** The first value of the fingerprint that has changed since the previous pulse. */
  readonly change: string | undefined;
}

/**
 * Reads the identity of a device, once for all callers that use one session at the same time.
 *
 * @param onPulse called once for each answer, before the callers get it.
 * @param maxOids the most OIDs in one request.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #onPulse: (pulse: Pulse) => void;
  readonly #maxOids: () => number;
  /** The values of the device's fingerprint; undefined before the first answer. */
  #lastMarks: Marks | undefined;
  #lastReading: UptimeReading | undefined;
  readonly #underWay = new Map<Session, Promise<Pulse>>();

  constructor(clock: Clock, onPulse: (pulse: Pulse) => void, maxOids: () => number) {
    this.#clock = clock;
    this.#onPulse = onPulse;
    this.#maxOids = maxOids;
  }

  /** @throws SnmpError if the device does not answer. */
  beat(session: Session): Promise<Pulse> {
    let pulse = this.#underWay.get(session);
    if (pulse === undefined) {
      pulse = this.#ask(session).finally(() => this.#underWay.delete(session));
      this.#underWay.set(session, pulse);
    }
    return pulse;
  }

  /**
   * Forgets the last answer, because the device may be another.
   *
   * @param known the fingerprint at its discovery; if undefined, the next answer gives it.
   */
  forget(known: Marks | undefined): void {
    this.#lastMarks = known;
  }

  async #ask(session: Session): Promise<Pulse> {
    const asked = marks.filter(([name]) => this.#lastMarks?.has(name) ?? true);
    const oids = [sysUpTimeOid, sysObjectIdOid, sysNameOid, ...asked.map(([, oid]) => oid)];
    const { values } = await getScalars(session, oids, Math.max(3, this.#maxOids()));
    const [uptime, sysObjectId, sysName, ...found] = values;
    const engine = session.engine();
    const reading: UptimeReading = {
      ticks: uptime?.type === "TimeTicks" ? uptime.value : undefined,
      boots: engine?.boots,
      engineId: engine === undefined ? undefined : Buffer.from(engine.id).toString("hex"),
      at: this.#clock.monotonic(),
    };
    const isRestarted = this.#lastReading !== undefined && hasRestarted(this.#lastReading, reading);
    this.#lastReading = reading;
    const now = new Map<string, string>();
    for (const [i, [name]] of asked.entries()) if (found[i] !== undefined) now.set(name, String(found[i].value));
    const change = [...now].find(
      ([name, value]) => this.#lastMarks !== undefined && this.#lastMarks.get(name) !== value,
    )?.[0];
    // A mark that is missing once is still requested the next time.
    this.#lastMarks = this.#lastMarks === undefined ? now : new Map([...this.#lastMarks, ...now]);
    const pulse: Pulse = {
      isRestarted,
      uptimeMs: reading.ticks === undefined ? undefined : reading.ticks * 10,
      sysObjectId: sysObjectId?.type === "ObjectIdentifier" ? sysObjectId.value : undefined,
      sysName: textOf(sysName),
      change,
    };
    this.#onPulse(pulse);
    return pulse;
  }
}

const noFaults = noValueFaults();
const noCounts = { requests: 0, retries: 0, timeouts: 0, ignored: 0 };

/**
 * The sessions by which a device is polled.
 *
 * @param inFlight resolves when all current work has ended; until then a replaced session stays open.
 */
export class DeviceSessions {
  readonly #client: SnmpClient;
  readonly #inFlight: () => Promise<unknown>;
  #polling: Session | undefined;
  #single: Session | undefined;
  #reopen: ((context: string) => Session) | undefined;
  #contexts = new Map<string, Session>();
  #access: string | undefined;
  #terms: string | undefined;

  constructor(client: SnmpClient, inFlight: () => Promise<unknown>) {
    this.#client = client;
    this.#inFlight = inFlight;
  }

  /** The session with the device's retries; undefined if it could not be opened. */
  get polling(): Session | undefined {
    return this.#polling;
  }

  /** The session without retries. It also keeps the counts of the device's address for as long as the device is polled. */
  get single(): Session | undefined {
    return this.#single;
  }

  get counts(): Pick<PeerCounts, "requests" | "retries" | "timeouts" | "ignored"> {
    return this.#single?.counts ?? noCounts;
  }

  get valueFaults(): Session["valueFaults"] {
    return this.#single?.valueFaults ?? noFaults;
  }

  /** Opens the sessions again with one of the device's credentials. @returns the reason of a failure; undefined for success. */
  open(device: Device, credential: number): string | undefined {
    this.#access = accessOf(device);
    this.#terms = termsOf(device);
    const before = [this.#polling, this.#single, ...this.#contexts.values()];
    this.#contexts = new Map();
    this.#reopen = (context) => openSession(this.#client, device, credential, device.retries, context);
    this.#polling = undefined;
    this.#single = undefined;
    let failure: string | undefined;
    try {
      this.#polling = openSession(this.#client, device, credential, device.retries);
      this.#single = openSession(this.#client, device, credential, 0);
    } catch (error) {
      if (!(error instanceof SnmpError)) throw error;
      failure = error.message;
    }
    void this.#inFlight().then(() => before.forEach((old) => old?.close()));
    return failure;
  }

  /** Returns a session like `polling` in another of the device's contexts. @throws SnmpError if it cannot be opened. */
  inContext(context: string): Session {
    const known = this.#contexts.get(context);
    if (known !== undefined) return known;
    if (this.#reopen === undefined) throw new SnmpError("closed", "there is no session");
    const session = this.#reopen(context);
    this.#contexts.set(context, session);
    return session;
  }

  /** Reports whether the sessions were opened with the settings of this device. */
  suit(device: Device): boolean {
    return this.#access === accessOf(device) && this.#terms === termsOf(device);
  }

  /** Reports whether this device has the credentials with which the sessions were opened. */
  haveAccessOf(device: Device): boolean {
    return this.#access === accessOf(device);
  }

  close(): void {
    for (const session of [this.#polling, this.#single, ...this.#contexts.values()]) session?.close();
  }
}

/** Returns the credentials in the clear, for comparison only; they must never be shown. */
function accessOf(device: Device): string {
  return JSON.stringify([device.transport, deviceCredentials(device)]);
}

function termsOf({ timeoutMs, retries, exponentialTimeout }: Device): string {
  return JSON.stringify([timeoutMs, retries, exponentialTimeout]);
}
