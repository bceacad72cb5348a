import type { Clock } from "../../report/index.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { sysNameOid, sysObjectIdOid, sysUpTimeOid, textOf } from "../discovery/identify.ts";
import type { Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import { hasRestarted, type UptimeReading } from "./uptime.ts";

/** What one request learns about who is there. */
export interface Pulse {
  /** Whether the device has restarted since the pulse before. */
  readonly isRestarted: boolean;
  readonly sysObjectId: Oid | undefined;
  readonly sysName: string | undefined;
}

/** Asks who is there, once for all that ask by one session at the same time. */
export interface Heartbeat {
  /** @throws SnmpError when the device does not answer. */
  beat(session: Session): Promise<Pulse>;
}

/** @param onPulse is called once for each answer, before those that asked get it. */
export function createHeartbeat(clock: Clock, onPulse: (pulse: Pulse) => void): Heartbeat {
  let lastReading: UptimeReading | undefined;
  const underWay = new Map<Session, Promise<Pulse>>();

  const ask = async (session: Session): Promise<Pulse> => {
    const { values } = await getScalars(session, [sysUpTimeOid, sysObjectIdOid, sysNameOid], 3);
    const [uptime, sysObjectId, sysName] = values;
    const engine = session.engine();
    const reading: UptimeReading = {
      ticks: uptime?.type === "TimeTicks" ? uptime.value : undefined,
      boots: engine?.boots,
      engineId: engine === undefined ? undefined : Buffer.from(engine.id).toString("hex"),
      at: clock.monotonic(),
    };
    const isRestarted = lastReading !== undefined && hasRestarted(lastReading, reading);
    lastReading = reading;
    const pulse: Pulse = {
      isRestarted,
      sysObjectId: sysObjectId?.type === "ObjectIdentifier" ? sysObjectId.value : undefined,
      sysName: textOf(sysName),
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
  };
}
