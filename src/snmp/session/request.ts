import type { Pdu, PduType } from "./codec/pdu-codec.ts";
import { formatOid, isOid, type Oid } from "./oid.ts";
import type { SnmpResponse } from "./session.ts";
import { SnmpError } from "./snmp-error.ts";
import type { VarBind } from "./var-bind.ts";

/** A request before it has an id. */
export interface Request {
  readonly type: Extract<PduType, "get" | "getNext" | "getBulk">;
  readonly oids: readonly Oid[];
  /** 0 unless it is a getBulk. */
  readonly nonRepeaters: number;
  readonly maxRepetitions: number;
}

/** Fails with `invalid` when the request cannot be put into bytes. */
export function checkRequest({ oids, nonRepeaters, maxRepetitions }: Request): void {
  if (oids.length === 0) throw new SnmpError("invalid", "a request without object identifiers");
  const bad = oids.find((oid) => !isOid(oid));
  if (bad !== undefined) throw new SnmpError("invalid", `not an object identifier: ${formatOid(bad).slice(0, 128)}`);
  for (const count of [nonRepeaters, maxRepetitions]) {
    if (!Number.isInteger(count) || count < 0 || count > 0x7fffffff) {
      throw new SnmpError("invalid", `not a number of repetitions: ${count}`);
    }
  }
}

export function requestPdu(request: Request, id: number): Pdu {
  const varbinds = request.oids.map((oid): VarBind => ({ oid, type: "Null", value: null }));
  return {
    type: request.type,
    requestId: id,
    errorStatus: request.nonRepeaters,
    errorIndex: request.maxRepetitions,
    varbinds,
  };
}

/**
 * Turns a response PDU into the answer to the request; fails with `malformed` when it does not answer what was asked.
 * Rows beyond max-repetitions are cut off: the next request finds them again.
 */
export function responseTo(request: Request, pdu: Pdu): SnmpResponse {
  const { errorStatus, errorIndex, faults } = pdu;
  const asked = request.oids.length;
  if (errorStatus !== 0) return { varbinds: pdu.varbinds.slice(0, asked), errorStatus, errorIndex, faults };
  if (request.type === "getBulk") {
    const repeaters = Math.max(asked - request.nonRepeaters, 0);
    const most = asked - repeaters + repeaters * request.maxRepetitions;
    const varbinds = pdu.varbinds.length > most ? pdu.varbinds.slice(0, most) : pdu.varbinds;
    return { varbinds, errorStatus, errorIndex, faults };
  }
  if (pdu.varbinds.length !== asked) {
    throw new SnmpError("malformed", `${pdu.varbinds.length} varbinds answer ${asked}`);
  }
  if (request.type === "get") {
    for (const [i, oid] of request.oids.entries()) {
      const answered = (pdu.varbinds[i] as VarBind).oid;
      if (!isSameOid(oid, answered)) {
        throw new SnmpError("malformed", `${formatOid(answered)} answers ${formatOid(oid)}`);
      }
    }
  }
  return { varbinds: pdu.varbinds, errorStatus, errorIndex, faults };
}

function isSameOid(a: Oid, b: Oid): boolean {
  return a.length === b.length && a.every((part, i) => part === b[i]);
}

/** The largest UDP payload over IPv4; IPv6 without jumbograms takes 20 more. */
export const maxDatagram = 65_507;

/** Fails with `too_big` when the datagram is larger than the agent or UDP takes. */
export function checkSize(datagram: Uint8Array, limit: number): Uint8Array {
  if (datagram.length > limit) {
    throw new SnmpError("too_big", `a request of ${datagram.length} bytes where ${limit} are allowed`);
  }
  return datagram;
}
