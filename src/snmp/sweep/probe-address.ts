import type { Definitions } from "../definitions/definitions.ts";
import { describeDevice, type DeviceFacts } from "../discovery/describe-device.ts";
import { getScalars } from "../discovery/get-scalars.ts";
import { refusal, sysDescrOid, sysNameOid, sysObjectIdOid, textOf } from "../discovery/identify.ts";
import { learnAddresses } from "../discovery/learn-interfaces.ts";
import { formatOid, type Oid } from "../session/oid.ts";
import type { Session, SnmpResponse } from "../session/session.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { VarBind } from "../session/var-bind.ts";
import { sessionCredential, type Network } from "./network.ts";

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
  /** Which of the network's credentials it took, from 0. */
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

/** What one try with a credential came to. */
export const tryResults = ["accepted", "timeout", "wrong_credential", "refused", "other"] as const;
export type TryResult = (typeof tryResults)[number];

export type ProbeResult =
  | { readonly device: SweptDevice }
  /** Undefined: nobody answered. Else an agent is there that took no credential, or answers with errors. */
  | { readonly device: undefined; readonly refusal: string | undefined };

export interface ProbeParts {
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
export async function probeAddress(parts: ProbeParts, target: SweepTarget): Promise<ProbeResult> {
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

/** What it is and which addresses it has. It is found, too, where it stops answering half-way. */
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
