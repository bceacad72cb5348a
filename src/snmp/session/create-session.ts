import type { PduType } from "./codec/pdu-codec.ts";
import type { Peer } from "./peer.ts";
import type { Requester } from "./requester.ts";
import { checkRequest, type Request } from "./request.ts";
import type { Session, SnmpResponse } from "./session.ts";
import { SnmpError } from "./snmp-error.ts";
import type { Oid } from "./oid.ts";

/** A session over a requester. `onClose` runs once and fails the requests that wait. */
export function createSession(
  version: Session["version"],
  peer: Peer,
  requester: Requester,
  onClose: () => void,
): Session {
  let isOpen = true;

  const ask = async (request: Request): Promise<SnmpResponse> => {
    if (!isOpen) throw new SnmpError("closed", "the session was closed");
    if (request.type === "getBulk" && version === "1") {
      throw new SnmpError("unsupported", "SNMP version 1 has no GetBulk");
    }
    checkRequest(request);
    try {
      const response = await requester.request(request);
      for (const fault of response.faults ?? []) peer.valueFaults[fault]++;
      return response;
    } catch (error) {
      if (error instanceof SnmpError) throw error;
      // A cipher or hash that this host does not allow, for one.
      throw new SnmpError("unsupported", error instanceof Error ? error.message : String(error), { cause: error });
    }
  };
  const plain = (type: Exclude<Request["type"] & PduType, "getBulk">, oids: readonly Oid[]): Promise<SnmpResponse> =>
    ask({ type, oids, nonRepeaters: 0, maxRepetitions: 0 });

  return {
    version,
    counts: peer.counts,
    limits: peer.limits,
    valueFaults: peer.valueFaults,
    get: (oids) => plain("get", oids),
    getNext: (oids) => plain("getNext", oids),
    getBulk: (oids, nonRepeaters, maxRepetitions) => ask({ type: "getBulk", oids, nonRepeaters, maxRepetitions }),
    engine: () => (version === "3" ? peer.engine?.view() : undefined),
    close() {
      if (!isOpen) return;
      isOpen = false;
      onClose();
    },
  };
}
