import { randomBytes } from "node:crypto";
import type { Pdu } from "../../src/snmp/session/message-codec.ts";
import type { SnmpAgent } from "../../test/support/snmp-agent/index.ts";
import type { DeviceClass } from "./fleet-layout.ts";

/** Below the system group all is well: devices are discovered before they misbehave. */
const systemGroup = "1.3.6.1.2.1.1.";
/** Milliseconds before an answer of a slow one. */
const pause = 300;

/** Makes an agent answer as devices of its class do. */
export function misbehave(agent: SnmpAgent, deviceClass: DeviceClass): void {
  if (deviceClass === "endless") agent.faults.liesAbout = endless(8);
  if (deviceClass === "endless and large") agent.faults.liesAbout = endless(1000);
  if (deviceClass === "endless and slow") {
    agent.faults.liesAbout = endless(8);
    agent.faults.delay = pause;
  }
  if (deviceClass === "backwards") agent.faults.liesAbout = backwards;
  if (deviceClass === "garbage") agent.faults.sends = (datagram) => [randomBytes(64), randomBytes(1400), datagram];
}

/** Every table has a next row, for ever, and whatever is asked for is there. */
function endless(bytes: number): (response: Pdu, request: Pdu) => Pdu {
  const value = new Uint8Array(bytes).fill(0x61);
  return (response, request) => {
    const isNext = request.type === "getBulk" || request.type === "getNext";
    if (!isNext || request.varbinds.some(({ oid }) => `${oid.join(".")}.`.startsWith(systemGroup))) return response;
    const rows = request.type === "getBulk" ? Math.max(1, request.errorIndex) : 1;
    const varbinds: Pdu["varbinds"][number][] = [];
    const most = Math.max(1, Math.floor(50_000 / (bytes + 40)));
    for (let row = 1; row <= rows && varbinds.length < most; row++)
      for (const { oid } of request.varbinds) varbinds.push({ oid: following(oid, row), type: "OctetString", value });
    return { ...response, varbinds };
  };
}

/** Tables have one index: what has more numbers than the OID of a column ends in a row. */
function following(oid: readonly number[], row: number): number[] {
  const isColumn = oid.length < 11 || (oid[6] === 4 && oid.length < 13);
  return isColumn ? [...oid, row] : [...oid.slice(0, -1), (oid.at(-1) as number) + row];
}

/** What comes next lies before, and values have other types than asked for. */
function backwards(response: Pdu, request: Pdu): Pdu {
  if (request.type === "get") return response;
  return {
    ...response,
    varbinds: response.varbinds
      .toReversed()
      .map(({ oid }) => ({ oid, type: "Opaque" as const, value: randomBytes(20) })),
  };
}
