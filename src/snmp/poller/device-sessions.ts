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

/** The age of a device, as it gave it in one answer. */
export interface UptimeReading {
  /** sysUpTime in hundredths of a second, modulo 2^32; undefined where the device has none. */
  readonly ticks: number | undefined;
  /** snmpEngineBoots, in version 3. */
  readonly boots: number | undefined;
  /** snmpEngineID in hex, in version 3. */
  readonly engineId: string | undefined;
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
}

const wrap = 2 ** 32;
/** Returns how far a device's clock and ours may be apart: a tenth of the time between, and a minute. */
const tolerance = (elapsed: number): number => elapsed / 10 + 6000;

/**
 * Tells whether the device has restarted between two readings: its engine booted or is another one, or its uptime went
 * back, which every 497 days is the wrap of the counter and no restart. An uptime shorter than the time since the earlier
 * reading is a restart too, though it may be greater than it was.
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

/** Agents have parts of their tables later than others: net-snmp has the load of processors after a minute. */
const settledMs = 300_000;
/** A discovery takes some seconds; both clocks may differ by as much. */
const discoveryMs = 10_000;

/**
 * Tells whether a device that is up for `uptimeMs` has completed its start since its discovery, so that it may have more now.
 * It has not where it was up for long already, or started after it.
 */
export function hasSettledSince(sinceDiscoveryMs: number, uptimeMs: number): boolean {
  const ageMs = uptimeMs - sinceDiscoveryMs;
  return uptimeMs >= settledMs && ageMs < settledMs && ageMs > -discoveryMs;
}

/** Facts that one request learns about who is there. */
export interface Pulse {
  /** True if the device has restarted since the pulse before. */
  readonly isRestarted: boolean;
  /** sysUpTime in milliseconds, where the device has it. */
  readonly uptimeMs: number | undefined;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
  /** The first value of the fingerprint that is different since the pulse before. */
  readonly change: string | undefined;
}

/**
 * Asks who is there, once for all that ask by one session at the same time.
 *
 * @param onPulse is called once for each answer, before those that asked get it.
 * @param maxOids the most OIDs in one request.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #onPulse: (pulse: Pulse) => void;
  readonly #maxOids: () => number;
  /** Values of the device's fingerprint; undefined until it was asked. */
  #lastMarks: Marks | undefined;
  #lastReading: UptimeReading | undefined;
  readonly #underWay = new Map<Session, Promise<Pulse>>();

  constructor(clock: Clock, onPulse: (pulse: Pulse) => void, maxOids: () => number) {
    this.#clock = clock;
    this.#onPulse = onPulse;
    this.#maxOids = maxOids;
  }

  /** @throws SnmpError when the device does not answer. */
  beat(session: Session): Promise<Pulse> {
    let pulse = this.#underWay.get(session);
    if (pulse === undefined) {
      pulse = this.#ask(session).finally(() => this.#underWay.delete(session));
      this.#underWay.set(session, pulse);
    }
    return pulse;
  }

  /** The device may be another. @param known its fingerprint, as it was discovered; undefined: the next answer gives it. */
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
    // A mark that is missing once is asked for all the same.
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
 * @param inFlight resolves when all that runs now has ended: until then a session that is replaced stays open.
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

  /** With the device's retries; undefined when it could not be opened. */
  get polling(): Session | undefined {
    return this.#polling;
  }

  /** Without retries. It also keeps the counts of the device's address for as long as it is polled. */
  get single(): Session | undefined {
    return this.#single;
  }

  get counts(): Pick<PeerCounts, "requests" | "retries" | "timeouts" | "ignored"> {
    return this.#single?.counts ?? noCounts;
  }

  get valueFaults(): Session["valueFaults"] {
    return this.#single?.valueFaults ?? noFaults;
  }

  /** Opens them again with one of the device's credentials. @returns why that failed, if it did. */
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

  /** As `polling`, in another of the device's contexts. @throws SnmpError when it cannot be opened. */
  inContext(context: string): Session {
    const known = this.#contexts.get(context);
    if (known !== undefined) return known;
    if (this.#reopen === undefined) throw new SnmpError("closed", "there is no session");
    const session = this.#reopen(context);
    this.#contexts.set(context, session);
    return session;
  }

  /** Tells whether they were opened with what this device says. */
  suit(device: Device): boolean {
    return this.#access === accessOf(device) && this.#terms === termsOf(device);
  }

  /** Tells whether this device is asked with the credentials that they were opened with. */
  haveAccessOf(device: Device): boolean {
    return this.#access === accessOf(device);
  }

  close(): void {
    for (const session of [this.#polling, this.#single, ...this.#contexts.values()]) session?.close();
  }
}

/** The credentials in the clear: to compare, never to show. */
function accessOf(device: Device): string {
  return JSON.stringify([device.transport, deviceCredentials(device)]);
}

function termsOf({ timeoutMs, retries, exponentialTimeout }: Device): string {
  return JSON.stringify([timeoutMs, retries, exponentialTimeout]);
}
