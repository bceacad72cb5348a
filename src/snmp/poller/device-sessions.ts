import type { Clock } from "../../base/report/index.ts";
import {
  getScalars,
  marks,
  type Marks,
  sysNameOid,
  sysObjectIdOid,
  sysUpTimeOid,
  textOf,
  openSession,
} from "../discovery/identify.ts";
import type { Oid } from "../session/var-bind.ts";
import type { Session } from "../session/session.ts";
import { type Device, deviceCredentials } from "../definitions/definitions.ts";
import { noValueFaults } from "../session/ber.ts";
import type { PeerCounts } from "../session/peer.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";

/** What a device said of its age in one answer. */
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
/** How far a device's clock and ours may be apart: a tenth of the time between, and a minute. */
const tolerance = (elapsed: number): number => elapsed / 10 + 6000;

/**
 * Whether the device has restarted between two readings: its engine booted or is another one, or its uptime went
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
 * Whether a device that is up for `uptimeMs` has settled since its discovery, so that it may have more now. It has not where
 * it was up for long already, or started after it.
 */
export function hasSettledSince(sinceDiscoveryMs: number, uptimeMs: number): boolean {
  const ageMs = uptimeMs - sinceDiscoveryMs;
  return uptimeMs >= settledMs && ageMs < settledMs && ageMs > -discoveryMs;
}

/** What one request learns about who is there. */
export interface Pulse {
  /** Whether the device has restarted since the pulse before. */
  readonly isRestarted: boolean;
  /** sysUpTime in milliseconds, where the device has it. */
  readonly uptimeMs: number | undefined;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
  /** The first of the marks of what it consists of that is different since the pulse before. */
  readonly change: string | undefined;
}

/** Asks who is there, once for all that ask by one session at the same time. */
interface Heartbeat {
  /** @throws SnmpError when the device does not answer. */
  beat(session: Session): Promise<Pulse>;
  /** The device may be another. @param known its marks, as it was discovered; undefined: the next answer says them. */
  forget(known: Marks | undefined): void;
}

/**
 * @param onPulse is called once for each answer, before those that asked get it.
 * @param maxOids the most OIDs in one request.
 */
export function createHeartbeat(clock: Clock, onPulse: (pulse: Pulse) => void, maxOids: () => number): Heartbeat {
  /** Values of the marks that the device has; undefined until it was asked. */
  let lastMarks: Marks | undefined;
  let lastReading: UptimeReading | undefined;
  const underWay = new Map<Session, Promise<Pulse>>();

  const ask = async (session: Session): Promise<Pulse> => {
    const asked = marks.filter(([name]) => lastMarks?.has(name) ?? true);
    const oids = [sysUpTimeOid, sysObjectIdOid, sysNameOid, ...asked.map(([, oid]) => oid)];
    const { values } = await getScalars(session, oids, Math.max(3, maxOids()));
    const [uptime, sysObjectId, sysName, ...found] = values;
    const engine = session.engine();
    const reading: UptimeReading = {
      ticks: uptime?.type === "TimeTicks" ? uptime.value : undefined,
      boots: engine?.boots,
      engineId: engine === undefined ? undefined : Buffer.from(engine.id).toString("hex"),
      at: clock.monotonic(),
    };
    const isRestarted = lastReading !== undefined && hasRestarted(lastReading, reading);
    lastReading = reading;
    const now = new Map<string, string>();
    for (const [i, [name]] of asked.entries()) if (found[i] !== undefined) now.set(name, String(found[i].value));
    const change = [...now].find(([name, value]) => lastMarks !== undefined && lastMarks.get(name) !== value)?.[0];
    // A mark that is missing once is asked for all the same.
    lastMarks = lastMarks === undefined ? now : new Map([...lastMarks, ...now]);
    const pulse: Pulse = {
      isRestarted,
      uptimeMs: reading.ticks === undefined ? undefined : reading.ticks * 10,
      sysObjectId: sysObjectId?.type === "ObjectIdentifier" ? sysObjectId.value : undefined,
      sysName: textOf(sysName),
      change,
    };
    onPulse(pulse);
    return pulse;
  };
  return {
    beat(session) {
      let pulse = underWay.get(session);
      if (pulse === undefined) {
        pulse = ask(session).finally(() => underWay.delete(session));
        underWay.set(session, pulse);
      }
      return pulse;
    },
    forget: (known) => void (lastMarks = known),
  };
}

/** The sessions by which a device is polled. */
export interface DeviceSessions {
  /** With the device's retries; undefined when it could not be opened. */
  readonly polling: Session | undefined;
  /** As `polling`, in another of the device's contexts. @throws SnmpError when it cannot be opened. */
  inContext(context: string): Session;
  /** Without retries. It also keeps the counts of the device's address for as long as it is polled. */
  readonly single: Session | undefined;
  readonly counts: Pick<PeerCounts, "requests" | "retries" | "timeouts" | "ignored">;
  readonly valueFaults: Session["valueFaults"];
  /** Opens them again with one of the device's credentials. @returns why that failed, if it did. */
  open(device: Device, credential: number): string | undefined;
  /** Whether they were opened with what this device says. */
  suit(device: Device): boolean;
  /** Whether this device is asked with the credentials that they were opened with. */
  haveAccessOf(device: Device): boolean;
  close(): void;
}

const noFaults = noValueFaults();
const noCounts = { requests: 0, retries: 0, timeouts: 0, ignored: 0 };

/** @param inFlight resolves when all that runs now has ended: until then a session that is replaced stays open. */
export function createDeviceSessions(client: SnmpClient, inFlight: () => Promise<unknown>): DeviceSessions {
  let polling: Session | undefined;
  let single: Session | undefined;
  let reopen: ((context: string) => Session) | undefined;
  let contexts = new Map<string, Session>();
  let access: string | undefined;
  let terms: string | undefined;
  return {
    get polling() {
      return polling;
    },
    get single() {
      return single;
    },
    get counts() {
      return single?.counts ?? noCounts;
    },
    get valueFaults() {
      return single?.valueFaults ?? noFaults;
    },
    open(device, credential) {
      access = accessOf(device);
      terms = termsOf(device);
      const before = [polling, single, ...contexts.values()];
      contexts = new Map();
      reopen = (context) => openSession(client, device, credential, device.retries, context);
      polling = undefined;
      single = undefined;
      let failure: string | undefined;
      try {
        polling = openSession(client, device, credential, device.retries);
        single = openSession(client, device, credential, 0);
      } catch (error) {
        if (!(error instanceof SnmpError)) throw error;
        failure = error.message;
      }
      void inFlight().then(() => before.forEach((old) => old?.close()));
      return failure;
    },
    inContext(context) {
      const known = contexts.get(context);
      if (known !== undefined) return known;
      if (reopen === undefined) throw new SnmpError("closed", "there is no session");
      const session = reopen(context);
      contexts.set(context, session);
      return session;
    },
    suit: (device) => access === accessOf(device) && terms === termsOf(device),
    haveAccessOf: (device) => access === accessOf(device),
    close() {
      for (const session of [polling, single, ...contexts.values()]) session?.close();
    },
  };
}

/** The credentials in the clear: to compare, never to show. */
function accessOf(device: Device): string {
  return JSON.stringify([device.transport, deviceCredentials(device)]);
}

function termsOf({ timeoutMs, retries, exponentialTimeout }: Device): string {
  return JSON.stringify([timeoutMs, retries, exponentialTimeout]);
}
