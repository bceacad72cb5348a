import type { Pdu } from "../../../src/snmp/session/message-codec.ts";
import { errorStatus } from "../../../src/snmp/session/snmp-error.ts";
import type { Oid } from "../../../src/snmp/session/ber.ts";
import type { VarBind } from "../../../src/snmp/session/ber.ts";
import type { AgentRow, AgentTable } from "./agent-table.ts";

/** What a PDU is answered from. */
export interface AgentView {
  readonly table: AgentTable;
  /** Seconds since the agent was started. */
  readonly uptime: number;
  /** Version 1 has no exceptions, no Counter64 and no GetBulk. */
  readonly isVersion1: boolean;
}

/** Values that a GetBulk is answered with at most, whatever it asks for; the message size limits it further. */
const maxBulkValues = 2000;

/** The response to a request as RFC 3416 section 4.2 and RFC 1157 section 4.1 have it, whatever its size. */
export function answerPdu(request: Pdu, view: AgentView): Pdu {
  switch (request.type) {
    case "get":
      return answerEach(request, view, (oid) => getOne(oid, view));
    case "getNext":
      return answerEach(request, view, (oid) => nextOne(oid, view));
    case "getBulk":
      return { ...request, type: "response", errorStatus: 0, errorIndex: 0, varbinds: bulk(request, view) };
    case "set":
    case "response":
    case "trap":
    case "inform":
    case "report":
      break;
  }
  return { ...request, type: "response", errorStatus: errorStatus.genErr, errorIndex: 0 };
}

function answerEach(request: Pdu, view: AgentView, answer: (oid: Oid) => VarBind): Pdu {
  const varbinds = request.varbinds.map(({ oid }) => answer(oid));
  const missing = varbinds.findIndex(({ value, type }) => value === null && type !== "Null");
  if (view.isVersion1 && missing >= 0) {
    return { ...request, type: "response", errorStatus: errorStatus.noSuchName, errorIndex: missing + 1 };
  }
  return { ...request, type: "response", errorStatus: 0, errorIndex: 0, varbinds };
}

function getOne(oid: Oid, view: AgentView): VarBind {
  const row = view.table.find(oid);
  if (row !== undefined) {
    const varbind = valueOf(row, view);
    if (varbind.type !== "Counter64" || !view.isVersion1) return varbind;
  }
  // An object is there when it has any instance; the tables do not say where an object ends, so its parent decides.
  const parent = oid.slice(0, -1);
  const neighbour = view.table.after(parent);
  const hasSibling = neighbour !== undefined && parent.every((part, i) => neighbour.oid[i] === part);
  return { oid, type: hasSibling ? "noSuchInstance" : "noSuchObject", value: null };
}

function nextOne(oid: Oid, view: AgentView): VarBind {
  for (let row = view.table.after(oid); row !== undefined; row = view.table.after(row.oid)) {
    const varbind = valueOf(row, view);
    if (varbind.type !== "Counter64" || !view.isVersion1) return varbind;
  }
  return { oid, type: "endOfMibView", value: null };
}

function bulk(request: Pdu, view: AgentView): VarBind[] {
  const oids = request.varbinds.map(({ oid }) => oid);
  const nonRepeaters = Math.min(Math.max(request.errorStatus, 0), oids.length);
  const varbinds = oids.slice(0, nonRepeaters).map((oid) => nextOne(oid, view));
  let row = oids.slice(nonRepeaters);
  for (let i = 0; i < request.errorIndex && row.length > 0 && varbinds.length < maxBulkValues; i++) {
    const answers = row.map((oid) => nextOne(oid, view));
    varbinds.push(...answers);
    if (answers.every(({ type }) => type === "endOfMibView")) break;
    row = answers.map(({ oid }) => oid);
  }
  return varbinds;
}

function valueOf(row: AgentRow, view: AgentView): VarBind {
  const value = typeof row.value === "function" ? row.value(view.uptime) : row.value;
  return { oid: row.oid, ...value };
}
