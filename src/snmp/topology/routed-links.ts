import type { Key } from "../../base/ip/index.ts";
import type { DeviceDirectory, Port } from "./device-ports.ts";
import type { RowTypes } from "./device-tables.ts";
import {
  endOf,
  type EvidenceKind,
  type Link,
  type LinkDraft,
  type LinkDrafts,
  type Node,
  push,
} from "./link-drafts.ts";

/** The most addresses of a link's network: /30, /31, /126, /127. Larger networks belong to a site. */
const addressesOfALink = 4n;
interface Member {
  readonly node: Node;
  readonly port: Port;
  readonly address: string;
}

/**
 * Adds the links of layer 3: networks of at most four addresses in which two devices have addresses, and sessions of OSPF and BGP with
 * an address of a connected network. Sessions through other routers are no links.
 *
 * @returns the links to peers that are not polled.
 */
export function* addRoutedLinks(
  drafts: LinkDrafts,
  bridged: LinkDrafts,
  nodes: ReadonlyMap<string, Node>,
  directory: DeviceDirectory,
): Generator<void, readonly Link[]> {
  const networks = new Map<string, Member[]>();
  let count = 0;
  for (const node of nodes.values()) {
    for (const { address, index, network } of node.ports.inNetworks) {
      if (network === undefined || !isOfALink(network)) continue;
      const key = `${network.family} ${network.first} ${network.last}`;
      if (++count % 256 === 0) yield;
      push(networks, key, { node, port: node.ports.port(index), address });
    }
    yield;
  }
  for (const members of networks.values()) {
    yield* addNetwork(drafts, members, nodes, directory);
    yield;
  }
  const unpolled = new Map<string, Link>();
  for (const node of nodes.values()) {
    const { tables } = node;
    for (const peer of tables.rows("peer")) {
      yield;
      const { protocol, address, index } = peer;
      const port = index === 0 ? node.ports.towards(address) : node.ports.port(index);
      const other = nodes.get(peerOf(peer, nodes, directory) ?? "");
      if (other !== undefined) addSession(drafts, node, port, other, peer, directory);
      else if (port !== undefined) {
        const id = `3 ${tables.id}|${port.index} ${address}`;
        unpolled.set(id, linkToPeer(id, node, port, address, protocol, unpolled.get(id)));
      }
    }
    yield;
  }
  yield* addAnnouncedBelow(drafts, bridged);
  return [...unpolled.values()];
}

const isOfALink = ({ first, last }: Key): boolean => first !== last && last - first < addressesOfALink;

/** Returns the device of a session: the one with the address, and if several have it, the one that also has the router id. */
function peerOf(
  { address, router }: RowTypes["peer"],
  nodes: ReadonlyMap<string, Node>,
  directory: DeviceDirectory,
): string | undefined {
  const byAddress = directory.ofAddress(address);
  if (byAddress !== undefined || router === undefined) return byAddress;
  const byRouter = directory.ofRouter(router);
  return nodes.get(byRouter ?? "")?.ports.addresses.has(address) === true ? byRouter : undefined;
}

/** Adds a session, which identifies the other end if the router id is known. */
function addSession(
  drafts: LinkDrafts,
  node: Node,
  port: Port | undefined,
  other: Node,
  { protocol, address, router }: RowTypes["peer"],
  directory: DeviceDirectory,
): void {
  // BGP passes other routers. OSPF does not, even if addresses have no network (PPP).
  if (other === node || (port === undefined && protocol === "bgp")) return;
  const row = other.ports.addresses.get(address);
  const draft = drafts.at(node, port, other, row && other.ports.port(row.index));
  if (draft === undefined) return;
  draft.add(protocol, node, router === undefined || directory.ofRouter(router) !== other.tables.id);
  const own = directory.routersOf(other.tables.id);
  if (router !== undefined && own?.has(router) === false)
    draft.doubts.add(
      `The router at ${address} of ${node.tables.name} is ${router}, which ${other.tables.name} is not.`,
    );
}

/**
 * The most interfaces in a network. If there are more, interfaces that ARP does not connect stay unconnected, because there would be
 * too many pairs.
 */
const maxMembers = 8;

/**
 * Connects the members of a network. If the network is in use more than once, it connects those that ARP shows to each other; pairs of
 * the others are unsure.
 */
function* addNetwork(
  drafts: LinkDrafts,
  members: readonly Member[],
  nodes: ReadonlyMap<string, Node>,
  directory: DeviceDirectory,
): Generator<void> {
  const addresses = new Set(members.map(({ address }) => address));
  const isOnce = addresses.size === members.length && new Set(members.map(({ node }) => node)).size === members.length;
  if (isOnce) {
    for (const [i, a] of members.entries()) {
      for (const b of members.slice(i + 1)) addMembers(drafts, a, b, directory);
    }
    return;
  }
  const byEnd = new Map<string, Member[]>();
  const joined = new Set<Member>();
  for (const member of members) push(byEnd, `${member.node.tables.id} ${member.address}`, member);
  for (const a of members) {
    yield;
    for (const address of addresses) {
      for (const mac of arpOf(a).get(address) ?? []) {
        const other = nodes.get(directory.ofMac(mac) ?? "");
        // If the same address is in two VRFs, the MAC address belongs to the interface.
        const ends = (other && byEnd.get(`${other.tables.id} ${address}`)) ?? [];
        const [b, another] =
          ends.length < 2 ? ends : ends.filter(({ port }) => other?.ports.ofMac(mac)?.index === port.index);
        if (b === undefined || another !== undefined || addMembers(drafts, a, b, directory) === undefined) continue;
        joined.add(a).add(b);
      }
    }
  }
  if (members.length > maxMembers) return;
  const alone = members.filter((member) => !joined.has(member));
  for (const [i, a] of alone.entries()) {
    for (const b of alone.slice(i + 1)) {
      addMembers(drafts, a, b, directory)?.doubts.add(`Other devices have the network of ${a.address}, too.`);
    }
  }
}

function addMembers(drafts: LinkDrafts, a: Member, b: Member, directory: DeviceDirectory): LinkDraft | undefined {
  // The same network at another place has the same addresses.
  if (a.node === b.node || a.address === b.address) return undefined;
  const draft = drafts.at(a.node, a.port, b.node, b.port);
  if (draft === undefined) return undefined;
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    draft.add("subnet", one.node, true);
    const macs = arpOf(one).get(other.address);
    if (macs === undefined) continue;
    if ([...macs].some((mac) => directory.ofMac(mac) === other.node.tables.id)) draft.add("arp", one.node);
    else if (other.node.ports.hasMacs && macs.size > 0 && ![...macs].some((mac) => other.node.ports.hasMac(mac)))
      draft.doubts.add(
        `${one.node.tables.name} has ${other.address} with a MAC address that is none of ${other.node.tables.name}.`,
      );
  }
  return draft;
}

/** Returns the MAC addresses that a device has for addresses of others at this port. */
function arpOf({ node, port }: Member): ReadonlyMap<string, ReadonlySet<string>> {
  if (node.arp === undefined) {
    node.arp = new Map();
    for (const { address, mac, index } of node.tables.rows("arp")) {
      const ofPort = node.arp.get(index) ?? new Map<string, Set<string>>();
      node.arp.set(index, ofPort);
      ofPort.set(address, (ofPort.get(address) ?? new Set<string>()).add(mac));
    }
  }
  return node.arp.get(port.index ?? -1) ?? noArp;
}

const noArp: ReadonlyMap<string, ReadonlySet<string>> = new Map();

/** Confirms two ends of a network that announce themselves to each other at these ports. */
function* addAnnouncedBelow(routed: LinkDrafts, bridged: LinkDrafts): Generator<void> {
  for (const draft of routed) {
    yield;
    const [a, b] = draft.ends;
    const [aPort, bPort] = draft.ports;
    if (aPort === undefined || bPort === undefined) continue;
    for (const below of bridged.between(a, b)) {
      const isAt = (node: Node, port: Port): boolean => {
        const own = below.portOf(node);
        return own?.index !== undefined && node.ports.areOne(own, port);
      };
      if (below.doubts.size > 0 || !isAt(a, aPort) || !isAt(b, bPort)) continue;
      for (const kind of ["lldp", "cdp"] as const) {
        for (const node of draft.ends) if (below.has(kind, node)) draft.add(kind, node);
      }
    }
  }
}

function linkToPeer(
  id: string,
  node: Node,
  port: Port,
  address: string,
  kind: EvidenceKind,
  earlier: Link | undefined,
): Link {
  if (earlier?.evidence.some((known) => known.kind === kind) === true) return earlier;
  const evidence = [...(earlier?.evidence ?? []), { kind, by: node.tables.id, at: node.tables.readAt("peer") ?? 0 }];
  const b = { device: undefined, name: undefined, address, port: undefined, aggregate: undefined };
  const confidence = evidence.length > 1 ? "confirmed" : "likely";
  return { id, layer: 3, a: endOf(node, port), b, confidence, evidence, doubts: [] };
}
