import type { Key } from "../../base/ip/index.ts";
import { DeviceDirectory, type Port, type KnownDevice } from "./device-ports.ts";
import {
  endOf,
  type EvidenceKind,
  type Link,
  LinkDrafts,
  type Node,
  portKey,
  type LinkDraft,
  type LinkEnd,
} from "./link-drafts.ts";
import type { RowTypes } from "./device-tables.ts";

/** Networks of more addresses are those of a site, not of a link: /30, /31, /126, /127. */
const addressesOfALink = 4n;

interface Member {
  readonly node: Node;
  readonly port: Port;
  readonly address: string;
}

/**
 * Adds the links of layer 3: networks of at most four addresses that two devices have addresses of, and sessions of OSPF and BGP with
 * an address of a connected network. Sessions that go through other routers are no links.
 *
 * @returns the links to peers that are not polled.
 */
function* addRoutedLinks(
  drafts: LinkDrafts,
  nodes: ReadonlyMap<string, Node>,
  directory: DeviceDirectory,
): Generator<void, readonly Link[]> {
  const networks = new Map<string, Member[]>();
  for (const node of nodes.values()) {
    for (const { address, index, network } of node.ports.addresses.values()) {
      if (network === undefined || !isOfALink(network)) continue;
      const key = `${network.family} ${network.first} ${network.last}`;
      networks.set(key, [...(networks.get(key) ?? []), { node, port: node.ports.port(index), address }]);
    }
    yield;
  }
  for (const members of networks.values()) addNetwork(drafts, members);
  yield;
  const unpolled = new Map<string, Link>();
  for (const node of nodes.values()) {
    const { tables } = node;
    for (const { protocol, address } of tables.rows("peer")) {
      const port = node.ports.towards(address);
      if (port === undefined) continue;
      const other = nodes.get(directory.ofAddress(address) ?? "");
      if (other === undefined) {
        const id = `3 ${tables.id}|${port.index} ${address}`;
        unpolled.set(id, linkToPeer(id, node, port, address, protocol, unpolled.get(id)));
      } else if (other !== node) {
        const row = other.ports.addresses.get(address);
        drafts.at(node, port, other, row && other.ports.port(row.index)).add(protocol, node);
      }
    }
    yield;
  }
  return [...unpolled.values()];
}

const isOfALink = ({ first, last }: Key): boolean => first !== last && last - first < addressesOfALink;

/** Joins the two members of a network. Of more, as where networks are used twice, it joins those that ARP shows to each other. */
function addNetwork(drafts: LinkDrafts, members: readonly Member[]): void {
  const isAlone = new Set(members.map(({ node }) => node)).size === 2;
  for (const [i, a] of members.entries()) {
    for (const b of members.slice(i + 1)) {
      if (a.node === b.node) continue;
      const [aSees, bSees] = [isInArp(a, b), isInArp(b, a)];
      if (!isAlone && !aSees && !bSees) continue;
      const draft = drafts.at(a.node, a.port, b.node, b.port);
      for (const { node } of [a, b]) draft.add("subnet", node);
      if (aSees) draft.add("arp", a.node);
      if (bSees) draft.add("arp", b.node);
    }
  }
}

/** Tells whether a device has a MAC address of the other one for its address. */
function isInArp({ node }: Member, { node: other, address }: Member): boolean {
  for (const row of node.tables.rows("arp")) {
    if (row.address === address && other.ports.hasMac(row.mac)) return true;
  }
  return false;
}

function linkToPeer(
  id: string,
  node: Node,
  port: Port,
  address: string,
  kind: EvidenceKind,
  earlier: Link | undefined,
): Link {
  const evidence = [...(earlier?.evidence ?? []), { kind, by: node.tables.id, at: node.tables.readAt("peer") ?? 0 }];
  const b = { device: undefined, name: undefined, address, port: undefined, aggregate: undefined };
  const confidence = evidence.length > 1 ? "confirmed" : "likely";
  return { id, layer: 3, a: endOf(node, port), b, confidence, evidence, doubts: [] };
}

/** What a device says of a neighbour at one of its ports. */
interface Claim {
  readonly from: Node;
  readonly port: Port;
  /** Undefined: it is no polled device. */
  readonly to: Node | undefined;
  readonly toPort: Port | undefined;
  readonly neighbor: RowTypes["neighbor"];
  readonly address: string | undefined;
  /** True if what it says of itself fits different devices. */
  readonly isDoubtful: boolean;
}

/**
 * Infers the links of layers 2 and 3 from the tables of devices. It yields between devices, so that many of them do not hold the
 * event loop.
 *
 * Neighbours that announce themselves (LLDP, CDP) are joined from both ends. Learnt MAC addresses support such links, and give others
 * where nobody announces anything: two bridges are joined where each is seen by the other and no third one lies between. On layer 3,
 * networks of at most four addresses join two devices, and so do sessions of OSPF and BGP with an address of a connected network.
 */
export function* inferLinks(devices: Iterable<KnownDevice>): Generator<void, readonly Link[]> {
  const nodes = new Map<string, Node>();
  const directory = new DeviceDirectory();
  for (const { tables, ports } of devices) {
    directory.add(tables, ports);
    nodes.set(tables.id, { tables, ports, seen: new Map() });
    yield;
  }
  const claims: Claim[] = [];
  for (const node of nodes.values()) {
    noteSeen(node, nodes, directory);
    for (const claim of claimsOf(node, nodes, directory)) claims.push(claim);
    yield;
  }
  const bridged = new LinkDrafts();
  yield* addAnnounced(bridged, claims);
  const announced = announcedPorts(bridged);
  const isTaken = (node: Node, port: Port): boolean =>
    announced.get(node)?.some((own) => node.ports.areOne(own, port)) === true;
  for (const node of nodes.values()) {
    addSeen(bridged, node, isTaken);
    yield;
  }
  const routed = new LinkDrafts();
  const peers = yield* addRoutedLinks(routed, nodes, directory);
  return [
    ...Array.from(bridged, (draft) => draft.finish(2)),
    ...linksToUnpolled(claims),
    ...Array.from(routed, (draft) => draft.finish(3)),
    ...peers,
  ];
}

function noteSeen(node: Node, nodes: ReadonlyMap<string, Node>, directory: DeviceDirectory): void {
  const { tables, ports, seen } = node;
  for (const { mac, port } of tables.rows("forwarding")) {
    const other = nodes.get(directory.ofMac(mac) ?? "");
    if (other === undefined || other === node) continue;
    const at = ports.ofBridge(port);
    const known = seen.get(other);
    if (known === undefined) seen.set(other, [at]);
    else if (!known.some((earlier) => ports.areOne(earlier, at))) known.push(at);
  }
}

function* claimsOf(from: Node, nodes: ReadonlyMap<string, Node>, directory: DeviceDirectory): Generator<Claim> {
  const managed = new Map<string, string[]>();
  for (const { port, row, address } of from.tables.rows("neighborAddress")) {
    const key = `${port} ${row}`;
    managed.set(key, [...(managed.get(key) ?? []), address]);
  }
  for (const neighbor of from.tables.rows("neighbor")) {
    const { protocol, port, row, name, chassis } = neighbor;
    const given = protocol === "lldp" ? managed.get(`${port} ${row}`) : [neighbor.address];
    const addresses = (given ?? []).filter((address) => address !== undefined);
    const found = directory.of({ chassis, addresses, name });
    const to = found && nodes.get(found.device);
    // Some agents list themselves.
    if (to === from) continue;
    yield {
      from,
      port: protocol === "lldp" ? from.ports.ofLldp(port, neighbor.portName) : from.ports.port(port),
      to,
      toPort: to?.ports.ofAnnouncement(neighbor.remote),
      neighbor,
      address: addresses[0],
      isDoubtful: found?.isDoubtful === true,
    };
  }
}

/** Joins what both ends announce of one link; what contradicts it and what supports it is noted. */
function* addAnnounced(drafts: LinkDrafts, claims: readonly Claim[]): Generator<void> {
  const atPort = new Map<string, Claim[]>();
  // Claims that name both ports first: they say which of several links one without is about.
  const ordered = [...claims].sort(
    (a, b) => Number(a.toPort?.index === undefined) - Number(b.toPort?.index === undefined),
  );
  for (const claim of ordered) {
    const { from, port, to, toPort, neighbor, isDoubtful } = claim;
    const key = claimKey(from, port);
    atPort.set(key, [...(atPort.get(key) ?? []), claim]);
    if (to === undefined) continue;
    const draft = drafts.at(from, port, to, toPort?.index === undefined ? undefined : toPort);
    if (toPort !== undefined) draft.setPort(to, toPort);
    draft.add(neighbor.protocol, from);
    if (isDoubtful) draft.doubts.add(`What ${to.tables.name} announces fits other devices, too.`);
  }
  yield;
  for (const draft of drafts) {
    for (const node of draft.ends) {
      const port = draft.portOf(node);
      if (port === undefined) continue;
      const other = otherEnd(draft, node);
      doubtSharedPort(draft, node, port, atPort.get(claimKey(node, port)) ?? []);
      if (isSeenAt(node, port, other)) draft.add("forwarding", node);
    }
    doubtSilence(draft);
    doubtBetween(draft);
    yield;
  }
}

const claimKey = ({ tables }: Node, port: Port): string => `${tables.id} ${port.index ?? port.name}`;

const otherEnd = ({ ends: [a, b] }: LinkDraft, node: Node): Node => (node === a ? b : a);

function doubtSharedPort(draft: LinkDraft, node: Node, port: Port, claims: readonly Claim[]): void {
  const others = claims.filter(({ to }) => to !== otherEnd(draft, node));
  // LLDP goes no further than the next bridge, CDP through bridges that do not know it.
  const nearer = draft.has("lldp", node) ? undefined : others.find(({ neighbor }) => neighbor.protocol === "lldp");
  const shared = nearer ?? others.find(({ to, neighbor }) => to !== undefined && draft.has(neighbor.protocol, node));
  if (shared === undefined) return;
  const name = shared.to?.tables.name ?? shared.neighbor.name ?? shared.address ?? "another device";
  draft.doubts.add(`${name} announces itself at ${port.name ?? port.index} of ${node.tables.name}, too.`);
}

/** One end says nothing of the other, though it lists its neighbours by the same protocol. */
function doubtSilence(draft: LinkDraft): void {
  for (const node of draft.ends) {
    const other = otherEnd(draft, node);
    for (const protocol of ["lldp", "cdp"] as const) {
      if (!draft.has(protocol, other) || draft.has(protocol, node) || draft.has("forwarding", node)) continue;
      const lists = [...node.tables.rows("neighbor")].some((neighbor) => neighbor.protocol === protocol);
      if (lists)
        draft.doubts.add(
          `${node.tables.name} lists other ${protocol.toUpperCase()} neighbors, but not ${other.tables.name}.`,
        );
    }
  }
}

/** A link that CDP alone announces goes through a bridge that sees its ends at different ports. */
function doubtBetween(draft: LinkDraft): void {
  if (draft.has("lldp")) return;
  const [a, b] = draft.ends;
  const between = bridgeBetween(a, draft.portOf(a), b) ?? bridgeBetween(b, draft.portOf(b), a);
  if (between !== undefined) draft.doubts.add(`${between.tables.name} lies between.`);
}

/** Returns a third bridge behind this port that sees the two at different ports. */
function bridgeBetween(node: Node, port: Port | undefined, other: Node): Node | undefined {
  if (port === undefined) return undefined;
  for (const third of node.seen.keys()) {
    if (third === other || !isSeenAt(node, port, third)) continue;
    const [here, there] = [third.seen.get(node), third.seen.get(other)];
    if (here === undefined || there === undefined) continue;
    if (!here.some((one) => there.some((two) => third.ports.areOne(one, two)))) return third;
  }
  return undefined;
}

function isSeenAt(node: Node, port: Port, other: Node): boolean {
  return node.seen.get(other)?.some((seen) => node.ports.areOne(seen, port)) === true;
}

/**
 * Joins a bridge by the addresses that it learnt to those that announce nothing: to a bridge that sees it, too, and to a device that
 * learns no addresses itself, such as a router, where no other polled device is behind the port.
 */
function addSeen(drafts: LinkDrafts, node: Node, isTaken: (node: Node, port: Port) => boolean): void {
  for (const [other, [port, another]] of node.seen) {
    if (port === undefined || another !== undefined || drafts.between(node, other).length > 0) continue;
    if (isTaken(node, port)) continue;
    if (other.seen.size === 0) {
      if ([...node.seen.keys()].some((third) => third !== other && isSeenAt(node, port, third))) continue;
      const draft = drafts.at(node, port, other, portOfMacs(node, port, other));
      draft.add("forwarding", node);
      continue;
    }
    const [back, anotherBack] = other.seen.get(node) ?? [];
    if (back === undefined || anotherBack !== undefined || isTaken(other, back)) continue;
    if (bridgeBetween(node, port, other) !== undefined || bridgeBetween(other, back, node) !== undefined) continue;
    const draft = drafts.at(node, port, other, back);
    draft.add("forwarding", node);
    draft.add("forwarding", other);
  }
}

/** Returns the ports of each device at which a neighbour announces itself: what else is seen there is behind that. */
function announcedPorts(drafts: LinkDrafts): ReadonlyMap<Node, readonly Port[]> {
  const taken = new Map<Node, Port[]>();
  for (const draft of drafts) {
    for (const node of draft.ends) {
      const port = draft.portOf(node);
      if (port !== undefined) taken.set(node, [...(taken.get(node) ?? []), port]);
    }
  }
  return taken;
}

/** Returns the port of a device whose MAC address was learnt at another one's port; undefined unless it is one. */
function portOfMacs(node: Node, port: Port, other: Node): Port | undefined {
  let found: Port | undefined;
  for (const row of node.tables.rows("forwarding")) {
    const own = other.ports.ofMac(row.mac);
    if (own === undefined || other.ports.isVirtual(own) || !node.ports.areOne(node.ports.ofBridge(row.port), port))
      continue;
    if (found !== undefined && found.index !== own.index) return undefined;
    found = own;
  }
  return found;
}

/** Links to neighbours that are not polled, one for each port and neighbour. */
function linksToUnpolled(claims: readonly Claim[]): Link[] {
  const links = new Map<string, Link>();
  for (const { from, port, to, neighbor, address } of claims) {
    if (to !== undefined) continue;
    const { protocol, name, chassis, remote } = neighbor;
    const called = remote.id ?? remote.descr;
    const a = endOf(from, port);
    const b: LinkEnd = {
      device: undefined,
      name: name ?? chassis,
      address,
      port: called === undefined ? undefined : { index: undefined, name: called },
      aggregate: undefined,
    };
    const id = `2 ${portKey(a)} ${(name ?? chassis ?? address ?? "?").toLowerCase()}`;
    const evidence = { kind: protocol, by: from.tables.id, at: from.tables.readAt("neighbor") ?? 0 };
    const earlier = links.get(id);
    const both = earlier === undefined ? [evidence] : [...earlier.evidence, evidence];
    const isConfirmed = new Set(both.map(({ kind }) => kind)).size > 1;
    const confidence = isConfirmed ? "confirmed" : "likely";
    links.set(id, { id, layer: 2, a, b: earlier?.b ?? b, confidence, evidence: both, doubts: [] });
  }
  return [...links.values()];
}
