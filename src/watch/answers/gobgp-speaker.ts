import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, type Any } from "@bufbuild/protobuf/wkt";
import { createClient, type Client } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import {
  CommunitiesAttributeSchema,
  ExtendedCommunitiesAttributeSchema,
  FlowSpecComponentSchema,
  FlowSpecIPPrefixSchema,
  FlowSpecNLRISchema,
  GobgpApi,
  IPAddressPrefixSchema,
  MpReachNLRIAttributeSchema,
  NextHopAttributeSchema,
  OriginAttributeSchema,
  PathSchema,
  TrafficRateExtendedSchema,
  type Path,
} from "./gen/gobgp_pb.ts";
import { componentTypes, type Match, type Route } from "./route.ts";
import type { Speaker } from "./speaker.ts";

/** Bits of a numeric operator (RFC 8955, section 4.2.1.1) and of a bitmask operator (4.2.1.2). */
const [equal, atLeast, atMost, and] = [0x01, 0x03, 0x05, 0x40];
const [isSet, isNotSet] = [0x01, 0x02];
const [synBit, ackBit, fragmentBit] = [0x02n, 0x10n, 0x02n];

type Items = readonly (readonly [op: number, value: bigint])[];

/** The items of each component of a match. */
const itemsOf: Readonly<Record<Exclude<keyof Match, "source">, (match: Match) => Items>> = {
  protocol: ({ protocol = 0 }) => [[equal, BigInt(protocol)]],
  destinationPorts: ({ destinationPorts = [] }) => destinationPorts.map((port) => [equal, BigInt(port)]),
  sourcePorts: ({ sourcePorts = [] }) => sourcePorts.map((port) => [equal, BigInt(port)]),
  syn: () => [
    [isSet, synBit],
    [and | isNotSet, ackBit],
  ],
  packetLength: ({ packetLength = { from: 0, to: 0 } }) => [
    [atLeast, BigInt(packetLength.from)],
    [and | atMost, BigInt(packetLength.to)],
  ],
  fragment: () => [[isSet, fragmentBit]],
};

/** A speaker that announces through GoBGP's API, version 3. */
export class GobgpSpeaker implements Speaker {
  readonly #sessions: Http2SessionManager;
  readonly #client: Client<typeof GobgpApi>;

  constructor(url: string) {
    this.#sessions = new Http2SessionManager(url);
    this.#client = createClient(GobgpApi, createGrpcTransport({ baseUrl: url, sessionManager: this.#sessions }));
  }

  async announce(route: Route, signal: AbortSignal): Promise<void> {
    await this.#client.addPath({ path: pathOf(route) }, { signal });
  }

  async withdraw(route: Route, signal: AbortSignal): Promise<void> {
    const path = pathOf(route);
    await this.#client.deletePath({ family: path.family!, path: { ...path, isWithdraw: true } }, { signal });
  }

  close(): void {
    this.#sessions.abort();
  }
}

function pack<Desc extends DescMessage>(schema: Desc, init: MessageInitShape<Desc>): Any {
  return anyPack(schema, create(schema, init));
}

function split(prefix: string): { readonly prefix: string; readonly prefixLen: number } {
  const [address = "", length] = prefix.split("/");
  return { prefix: address, prefixLen: Number(length) };
}

/** Returns a route in GoBGP's form. */
function pathOf({ kind, prefix, nextHop, communities, match = {}, bytesPerSecond = 0 }: Route): Path {
  const isIpv6 = prefix.includes(":");
  const family = { afi: isIpv6 ? 2 : 1, safi: kind === "flowspec" ? 133 : 1 };
  const nlri =
    kind === "blackhole"
      ? pack(IPAddressPrefixSchema, split(prefix))
      : pack(FlowSpecNLRISchema, { rules: componentsOf(prefix, match) });
  const hop = nextHop ?? (isIpv6 ? "::" : "0.0.0.0");
  const isPlain = kind === "blackhole" && !isIpv6;
  const attributes = [
    pack(OriginAttributeSchema, { origin: 0 }),
    isPlain
      ? pack(NextHopAttributeSchema, { nextHop: hop })
      : pack(MpReachNLRIAttributeSchema, { family, nextHops: [hop], nlris: [nlri] }),
  ];
  if (communities.length > 0)
    attributes.push(pack(CommunitiesAttributeSchema, { communities: communities.map(communityNumber) }));
  if (kind === "flowspec") {
    const rate = pack(TrafficRateExtendedSchema, { asn: 0, rate: bytesPerSecond });
    attributes.push(pack(ExtendedCommunitiesAttributeSchema, { communities: [rate] }));
  }
  return create(PathSchema, { family, nlri, pattrs: attributes });
}

/** Returns the components in the order of their numbers, which routers require. */
function componentsOf(prefix: string, match: Match): Any[] {
  const names = (Object.keys(componentTypes) as (keyof typeof componentTypes)[]).filter(
    (name) => name === "prefix" || match[name] !== undefined,
  );
  return names.map((name) => {
    const type = componentTypes[name];
    if (name === "prefix") return pack(FlowSpecIPPrefixSchema, { type, ...split(prefix) });
    if (name === "source") return pack(FlowSpecIPPrefixSchema, { type, ...split(match.source ?? "") });
    const items = itemsOf[name](match).map(([op, value]) => ({ op, value }));
    return pack(FlowSpecComponentSchema, { type, items });
  });
}

function communityNumber(text: string): number {
  const [high = 0, low = 0] = text.split(":").map(Number);
  return high * 65_536 + low;
}
