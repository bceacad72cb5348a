import { parseAddress } from "../../../src/base/ip/index.ts";
import type { RecordFields } from "../../../src/record/index.ts";

const mask = (1n << 64n) - 1n;
const mix = (hash: bigint, value: bigint): bigint => {
  const mixed = ((hash ^ value) * 0x9e37_79b9_7f4a_7c15n) & mask;
  return mixed ^ (mixed >> 29n);
};

/** What is noted of a flow by which exporters are compared; undefined where it is not of the sample. */
export function seenOf(record: RecordFields): { readonly hash: number; readonly directions: number } | undefined {
  const ends = ["flow.src", "flow.dst"].map((end) => {
    const text = record.get(`${end}.ip.addr`);
    return {
      address: typeof text === "string" ? parseAddress(text) : undefined,
      port: record.get(`${end}.l4.port.id`),
    };
  });
  const [source, destination] = ends;
  const protocol = record.get("l4.proto.id");
  if (source?.address === undefined || destination?.address === undefined) return undefined;
  if (source.address.family !== destination.address.family) return undefined;
  if (!isBelow(source.port, 65_536) || source.port === 0 || !isBelow(destination.port, 65_536)) return undefined;
  if (!isBelow(protocol, 256)) return undefined;
  const ports = source.port * 65_536 + destination.port;
  // One pair of ports in 64.
  if (((BigInt(ports) * 0x9e37_79b1n) & 0xffff_ffffn) >> 26n !== 1n) return undefined;
  let hash = 0n;
  for (const { address } of ends) {
    // IPv4 addresses as the IPv6 addresses that map them.
    const value = (address?.value ?? 0n) | (address?.family === 4 ? 0xffff_0000_0000n : 0n);
    hash = mix(mix(hash, value >> 64n), value & mask);
  }
  hash = mix(hash, (BigInt(protocol) << 32n) | BigInt(ports));
  hash = ((hash ^ (hash >> 32n)) * 0xd6e8_feb8_6659_fd93n) & mask;
  const said = record.get("flow.direction.name");
  return { hash: Number(hash >> 32n), directions: said === "ingress" ? 1 : said === "egress" ? 2 : 0 };
}

function isBelow(value: unknown, limit: number): value is number {
  return typeof value === "number" && value >= 0 && value < limit;
}
