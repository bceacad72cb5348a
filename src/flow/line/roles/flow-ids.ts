import type { FieldValues } from "../../../record/index.ts";
import type { Client } from "./decide-role.ts";
import { endAddresses, portOf, protocolsWithPorts, type EndAddress } from "./end-addresses.ts";

/** What identifies the conversation and the session that a flow belongs to, sixteen digits each. */
export interface FlowIds {
  readonly conversation: string;
  readonly session: string;
}

/**
 * Both follow from addresses, protocol and ports alone. The session's is the same for both directions of a flow. The conversation's is the
 * same for all sessions of a client with a service: addresses of client and server, protocol, port of the server; where it is not known
 * which is the client, of both addresses and the protocol.
 *
 * @returns undefined for a record without two addresses of one family and a protocol.
 */
export function flowIds(record: FieldValues, client: Client | undefined, seed: number): FlowIds | undefined {
  const addresses = endAddresses(record);
  const protocol = record.get("l4.proto.id");
  if (addresses === undefined || typeof protocol !== "number" || protocol > 255) return undefined;
  const port = (name: string): number => (protocolsWithPorts.has(protocol) ? Math.max(0, portOf(record, name)) : 0);
  const [source, destination] = addresses;
  const [sourcePort, destinationPort] = [port("flow.src.l4.port.id"), port("flow.dst.l4.port.id")];
  const order = compare(source, destination);
  const isTurned = order > 0 || (order === 0 && sourcePort > destinationPort);
  const fromDestination = client === undefined ? isTurned : client === "destination";
  const serverPort = client === undefined ? 0 : fromDestination ? sourcePort : destinationPort;
  const [low, high] = isTurned ? [destinationPort, sourcePort] : [sourcePort, destinationPort];
  const hash = (turned: boolean, ports: number): string => {
    const [first, second] = turned ? [destination, source] : [source, destination];
    const last = (BigInt(protocol) << 32n) | BigInt(ports);
    return hashOf(seed, [first.upper, first.lower, second.upper, second.lower, last]);
  };
  return {
    conversation: hash(fromDestination, serverPort),
    session: hash(isTurned, (low * 0x1_0000 + high) >>> 0),
  };
}

function compare(a: EndAddress, b: EndAddress): number {
  if (a.upper !== b.upper) return a.upper > b.upper ? 1 : -1;
  if (a.lower !== b.lower) return a.lower > b.lower ? 1 : -1;
  return 0;
}

const multiply = (a: bigint, b: bigint): bigint => BigInt.asUintN(64, a * b);

/** A multiply and a shift for each number, and one more at the end; of 64 bits. */
function hashOf(seed: number, values: readonly bigint[]): string {
  let hash = BigInt(seed);
  for (const value of values) {
    const mixed = multiply(hash ^ value, 0x9e3779b97f4a7c15n);
    hash = mixed ^ (mixed >> 29n);
  }
  const rest = multiply(hash ^ (hash >> 32n), 0xd6e8feb86659fd93n);
  return (rest ^ (rest >> 32n)).toString(16).padStart(16, "0");
}
