import type { Clock } from "../../base/report/index.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { marks, type Marks } from "../discovery/marks.ts";
import { sysNameOid, sysObjectIdOid, sysUpTimeOid, textOf } from "../discovery/identify.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { hasRestarted, type UptimeReading } from "./uptime.ts";

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
export interface Heartbeat {
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
