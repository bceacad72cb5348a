import type { Message } from "../../../src/snmp/session/message-codec.ts";
import { readPduRest, type Pdu } from "../../../src/snmp/session/message-codec.ts";
import { errorStatus, type ErrorStatusName } from "../../../src/snmp/session/snmp-error.ts";
import { compareOids, oidStartsWith, type Oid } from "../../../src/snmp/session/ber.ts";
import type { VarBind } from "../../../src/snmp/session/ber.ts";
import { fromHex } from "../snmp-bytes.ts";
import { oidOf, type AgentRow, type TypedValue } from "./agent-table.ts";
import type { SnmpAgent } from "./snmp-agent.ts";

/** How agents are not what they should be. All switches may be on together. */
export interface Oddities {
  /** The last arcs of a column's instances in the order in which the agent walks them, by the column's text. */
  readonly order?: Readonly<Record<string, readonly number[]>>;
  /** What the agent does with GetBulk: an error status, or what it leaves of the answer. */
  readonly bulk?: "silent" | "first row" | "first value" | "empty" | ErrorStatusName;
  /** The most OIDs of a request that it answers; it drops the others. Of versions 1 and 2c. */
  readonly dropsAbove?: number;
  /** Whether it answers each request of several OIDs with genErr and names the first. */
  readonly blamesFirst?: boolean;
  /** Answers with more values than this have one at their end whose name cannot be read. */
  readonly spoilsAbove?: number;
}

/** A value that is sent as these bytes, whatever they are. */
export const raw = (hex: string): TypedValue => ({ type: "Unknown", value: fromHex(hex) });

/** A name with a sub-identifier of 34 bits. */
const unreadable: VarBind = { oid: [1, 3, 2 ** 33], type: "Null", value: null };

/** Makes an agent odd, in place of the faults that it had. It stays odd while its table is replaced. */
export function makeOdd(agent: SnmpAgent, oddities: Oddities): void {
  const { bulk, dropsAbove = Infinity, blamesFirst = false, spoilsAbove = Infinity } = oddities;
  agent.faults.drops = (message) => {
    const request = requestIn(message);
    if (request === undefined) return false;
    return (bulk === "silent" && request.type === "getBulk") || request.varbinds.length > dropsAbove;
  };
  agent.faults.liesAbout = (response, request) => {
    const asked = request.varbinds.length;
    if (blamesFirst && asked > 1) return { ...response, errorStatus: errorStatus.genErr, errorIndex: 1 };
    const { varbinds } = oddities.order === undefined ? response : walked(agent, oddities.order, request, response);
    if (request.type === "getBulk" && bulk !== undefined && bulk !== "silent") return oddBulk(bulk, response, asked);
    return { ...response, varbinds: varbinds.length > spoilsAbove ? [...varbinds, unreadable] : varbinds };
  };
}

function requestIn(message: Message): Pdu | undefined {
  if (message.version === 3) return undefined;
  // The cursor is the agent's, too.
  return readPduRest({ ...message.pdu, rest: { ...message.pdu.rest } });
}

function oddBulk(bulk: Exclude<NonNullable<Oddities["bulk"]>, "silent">, response: Pdu, asked: number): Pdu {
  if (bulk === "first row") return { ...response, varbinds: response.varbinds.slice(0, asked) };
  if (bulk === "first value") return { ...response, varbinds: response.varbinds.slice(0, 1) };
  if (bulk === "empty") return { ...response, varbinds: [] };
  return { ...response, errorStatus: errorStatus[bulk], errorIndex: 1 };
}

/** The answer of an agent that walks its rows in another order. */
function walked(agent: SnmpAgent, order: NonNullable<Oddities["order"]>, request: Pdu, response: Pdu): Pdu {
  if (request.type !== "getNext" && request.type !== "getBulk") return response;
  const rows = inOrder(agent.table.rows, order);
  const place = new Map(rows.map(({ oid }, i) => [oid.join("."), i]));
  const next = (oid: Oid): VarBind => {
    const at = place.get(oid.join("."));
    const row = at === undefined ? rows.find((one) => compareOids(one.oid, oid) > 0) : rows[at + 1];
    if (row === undefined) return { oid, type: "endOfMibView", value: null };
    return { oid: row.oid, ...(typeof row.value === "function" ? row.value(agent.uptime()) : row.value) };
  };
  const varbinds: VarBind[] = [];
  let asked = request.varbinds.map(({ oid }) => oid);
  for (let i = 0; i < (request.type === "getBulk" ? request.errorIndex : 1); i++) {
    const answers = asked.map(next);
    varbinds.push(...answers);
    asked = answers.map(({ oid }) => oid);
  }
  return { ...response, varbinds };
}

function inOrder(rows: readonly AgentRow[], order: NonNullable<Oddities["order"]>): readonly AgentRow[] {
  let all = rows;
  for (const [text, arcs] of Object.entries(order)) {
    const column = oidOf(text);
    const start = all.findIndex(({ oid }) => oidStartsWith(oid, column));
    const own = all.filter(({ oid }) => oidStartsWith(oid, column));
    const sorted = own.toSorted((a, b) => arcs.indexOf(a.oid.at(-1) ?? 0) - arcs.indexOf(b.oid.at(-1) ?? 0));
    all = [...all.slice(0, start), ...sorted, ...all.slice(start + own.length)];
  }
  return all;
}
