import type { Socket } from "node:dgram";
import { once } from "node:events";
import type { Component } from "../../report/index.ts";
import {
  compareOids,
  decodeMessage,
  encodeCommunityMessage,
  errorStatus,
  readPduRest,
  type Oid,
  type Pdu,
  type VarBind,
} from "../../snmp/index.ts";
import { bindLoopback } from "./bind-loopback.ts";

export interface DemoAgent extends Component {
  /** Where it answers; known once it is started. */
  address(): { readonly ip: string; readonly port: number };
}

const version2c = 1;
const maxBulkValues = 40;

/**
 * An SNMP agent of version 2c on a loopback address, at a port that the system chooses. It answers Get, GetNext and
 * GetBulk (RFC 3416 section 4.2); what it does not understand, and another community, it does not answer.
 *
 * @param values all instances in order, as they are when a request comes.
 */
export function createDemoAgent(ip: string, community: string, values: () => readonly VarBind[]): DemoAgent {
  let socket: Socket | undefined;
  let bound = { ip, port: 0 };

  const answer = (datagram: Uint8Array): Uint8Array | undefined => {
    const message = decodeMessage(datagram);
    if (message.version !== version2c || !Buffer.from(community).equals(message.community)) return undefined;
    return encodeCommunityMessage(version2c, message.community, respond(readPduRest(message.pdu), values()));
  };

  return {
    name: `demo agent ${ip}`,
    async start() {
      const opened = await bindLoopback(ip);
      opened.on("message", (datagram, from) => {
        try {
          const response = answer(datagram);
          // An answer that the kernel does not take is lost like any other.
          if (response !== undefined) opened.send(response, from.port, from.address, () => {});
        } catch {
          // RFC 3412 section 7.2: what cannot be decoded is dropped.
        }
      });
      socket = opened;
      const { address, port } = opened.address();
      bound = { ip: address, port };
    },
    async stop() {
      if (socket === undefined) return;
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
    address: () => bound,
  };
}

function respond(request: Pdu, values: readonly VarBind[]): Pdu {
  const oids = request.varbinds.map(({ oid }) => oid);
  const response = { ...request, type: "response", errorStatus: 0, errorIndex: 0 } as const;
  switch (request.type) {
    case "get":
      return { ...response, varbinds: oids.map((oid) => getOne(values, oid)) };
    case "getNext":
      return { ...response, varbinds: oids.map((oid) => nextOne(values, oid)) };
    case "getBulk":
      // These two fields of a GetBulk lie where other requests have error-status and error-index.
      return { ...response, varbinds: bulk(values, oids, request.errorStatus, request.errorIndex) };
    case "set":
    case "response":
    case "trap":
    case "inform":
    case "report":
      break;
  }
  return { ...response, errorStatus: errorStatus.genErr };
}

function getOne(values: readonly VarBind[], oid: Oid): VarBind {
  const found = values.find((value) => compareOids(value.oid, oid) === 0);
  return found ?? { oid, type: "noSuchInstance", value: null };
}

function nextOne(values: readonly VarBind[], oid: Oid): VarBind {
  const found = values.find((value) => compareOids(value.oid, oid) > 0);
  return found ?? { oid, type: "endOfMibView", value: null };
}

function bulk(values: readonly VarBind[], oids: readonly Oid[], nonRepeaters: number, repetitions: number): VarBind[] {
  const single = Math.max(nonRepeaters, 0);
  const varbinds = oids.slice(0, single).map((oid) => nextOne(values, oid));
  let row = oids.slice(single);
  for (let i = 0; i < repetitions && row.length > 0 && varbinds.length < maxBulkValues; i++) {
    const next = row.map((oid) => nextOne(values, oid));
    varbinds.push(...next);
    row = next.map(({ oid }) => oid);
  }
  return varbinds;
}
