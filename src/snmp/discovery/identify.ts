import type { Session } from "../session/session.ts";
import { getScalars } from "../session/walk.ts";
import { type Oid, type VarBind } from "../session/ber.ts";
import { SnmpError, errorStatus as statusNumbers, errorStatusName } from "../session/snmp-error.ts";
import { deviceCredentials, type Device } from "../definitions/definitions.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { readName } from "../values/convert-value.ts";

/** The values that change when a device gets other interfaces or modules: IF-MIB (RFC 2863), ENTITY-MIB (RFC 6933). */
export const marks: readonly (readonly [name: string, oid: Oid])[] = [
  ["ifNumber", [1, 3, 6, 1, 2, 1, 2, 1, 0]],
  ["ifTableLastChange", [1, 3, 6, 1, 2, 1, 31, 1, 5, 0]],
  ["entLastChangeTime", [1, 3, 6, 1, 2, 1, 47, 1, 4, 1, 0]],
];

/** The values of a device's fingerprint, by name. */
export type Marks = ReadonlyMap<string, string>;

/** Reads the whole fingerprint; undefined if the device does not answer. */
export async function readMarks(session: Session, maxOids: number): Promise<Marks | undefined> {
  try {
    const oids = marks.map(([, oid]) => oid);
    const { values } = await getScalars(session, oids, maxOids);
    return new Map(marks.flatMap(([name], i) => (values[i] === undefined ? [] : [[name, String(values[i].value)]])));
  } catch (error) {
    if (error instanceof SnmpError && error.code !== "closed") return undefined;
    throw error;
  }
}

// SNMPv2-MIB (RFC 3418): sysObjectID, sysDescr, sysUpTime, sysName.
export const sysObjectIdOid: Oid = [1, 3, 6, 1, 2, 1, 1, 2, 0];
export const sysDescrOid: Oid = [1, 3, 6, 1, 2, 1, 1, 1, 0];
export const sysUpTimeOid: Oid = [1, 3, 6, 1, 2, 1, 1, 3, 0];
export const sysNameOid: Oid = [1, 3, 6, 1, 2, 1, 1, 5, 0];
const identity: readonly Oid[] = [sysObjectIdOid, sysDescrOid, sysUpTimeOid, sysNameOid];

export interface Identity {
  /** The position of the accepted credential, from 0. */
  readonly credential: number;
  readonly sysObjectId: Oid | undefined;
  readonly sysDescr: string | undefined;
  readonly sysName: string | undefined;
}

/** Opens a session with one of the device's credentials. @throws SnmpError `invalid` if there is no such credential. */
export function openSession(
  client: Pick<SnmpClient, "open">,
  device: Device,
  credential: number,
  retries: number,
  context?: string,
): Session {
  const chosen = deviceCredentials(device, context)[credential];
  if (chosen === undefined) throw new SnmpError("invalid", `${device.id} has no credential ${credential + 1}`);
  const { ip, port, transport, timeoutMs: timeout, exponentialTimeout } = device;
  return client.open({ ip, port, transport, credential: chosen, timeout, retries, exponentialTimeout });
}

/**
 * Tries the device's credentials in order until the device answers. An answer without any value counts, one with an error status does
 * not.
 *
 * @throws SnmpError of the last credential if none is accepted.
 */
export async function identify(
  client: Pick<SnmpClient, "open">,
  device: Device,
): Promise<{ session: Session; identity: Identity }> {
  let failure = new SnmpError("invalid", `${device.id} has no credentials`);
  for (const credential of deviceCredentials(device).keys()) {
    let session: Session | undefined;
    try {
      session = openSession(client, device, credential, device.retries);
      const { values, errorStatus } = await getScalars(session, identity, device.maxOids);
      if (errorStatus !== 0 && values.every((value) => value === undefined)) throw refusal(errorStatus);
      const [sysObjectId, sysDescr, , sysName] = values;
      return {
        session,
        identity: {
          credential,
          sysObjectId: sysObjectId?.type === "ObjectIdentifier" ? sysObjectId.value : undefined,
          sysDescr: textOf(sysDescr),
          sysName: textOf(sysName),
        },
      };
    } catch (error) {
      session?.close();
      if (!(error instanceof SnmpError)) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Returns the error of an agent that answers all requests with an error status. */
export function refusal(status: number): SnmpError {
  const hint = status === statusNumbers.authorizationError ? ", it may want a higher security level of this user" : "";
  return new SnmpError("refused", `the device answers with the error ${errorStatusName(status)}${hint}`);
}

/** Returns the text of an OctetString; undefined if it has none or is empty. */
export function textOf(varbind: VarBind | undefined): string | undefined {
  if (varbind?.type !== "OctetString") return undefined;
  return readName(varbind.value);
}
