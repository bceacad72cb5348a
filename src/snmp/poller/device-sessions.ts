import type { Device } from "../definitions/definitions.ts";
import { deviceCredentials } from "../definitions/device-credentials.ts";
import { openSession } from "../discovery/identify.ts";
import { noValueFaults } from "../session/codec/decode-error.ts";
import type { PeerCounts } from "../session/peer.ts";
import type { Session } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";

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
