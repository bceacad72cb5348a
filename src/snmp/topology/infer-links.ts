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
/** More neighbours at one port, by one protocol, are not looked at. */
const maxNeighborsOfPort = 256;

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

/** Returns the device of a session: that with the address; of several, that with the router id, too. */
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

/** Notes a session, which says who is at the other end where the router id is known. */
function addSession(
  drafts: LinkDrafts,
  node: Node,
  port: Port | undefined,
  other: Node,
  { protocol, address, router }: RowTypes["peer"],
  directory: DeviceDirectory,
): void {
  // BGP goes through other routers. OSPF does not, also where addresses have no network (PPP).
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

/** Of a network that more interfaces have, those that ARP joins to nobody are joined to nobody: there are too many pairs. */
const maxMembers = 8;

/**
 * Joins the members of a network. If it is used more than once, it joins those that ARP shows to each other; pairs of the others are
 * unsure.
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
        // Of the same address in two VRFs of it, the interface has the MAC address.
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
  // The same network elsewhere has the same addresses.
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

/** The MAC addresses that a device has for addresses of others at this port. */
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

/** Two ends of a network that announce themselves to each other at these ports are those of it. */
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

function push<V>(table: Map<string, V[]>, key: string, value: V): void {
  const values = table.get(key);
  if (values === undefined) table.set(key, [value]);
  else values.push(value);
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

/** What a device says of a neighbour at one of its ports. */
interface Claim {
  readonly from: Node;
  readonly port: Port;
  /** Undefined: it is no polled device. */
  readonly to: Node | undefined;
  readonly toPort: Port | undefined;
  readonly protocol: RowTypes["neighbor"]["protocol"] | "stp";
  /** What it announces of itself. Spanning tree names bridges that are polled, and nothing else. */
  readonly neighbor: RowTypes["neighbor"] | undefined;
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
 *
 * @param leftOut is called for each neighbor of a port, and each link of two devices, that are too many.
 */
export function* inferLinks(devices: Iterable<KnownDevice>, leftOut: () => void): Generator<void, readonly Link[]> {
  const nodes = new Map<string, Node>();
  const directory = new DeviceDirectory();
  for (const device of devices) {
    const { tables } = device;
    const ports = yield* device.inSteps();
    yield* directory.add(tables, ports);
    nodes.set(tables.id, { tables, ports, seen: new Map(), behind: new Map(), arp: undefined });
    yield;
  }
  const claims: Claim[] = [];
  for (const node of nodes.values()) {
    yield* noteSeen(node, nodes, directory);
    for (const claim of claimsOf(node, nodes, directory, leftOut)) {
      if (claim !== undefined) claims.push(claim);
      yield;
    }
  }
  const bridged = new LinkDrafts(leftOut);
  yield* addAnnounced(bridged, claims);
  const announced = announcedPorts(bridged);
  const isTaken = (node: Node, port: Port): boolean => announced.get(node)?.has(node.ports.wholeOf(port)) === true;
  for (const node of nodes.values()) yield* addSeen(bridged, node, isTaken);
  const routed = new LinkDrafts(leftOut);
  const peers = yield* addRoutedLinks(routed, bridged, nodes, directory);
  const links: Link[] = [];
  for (const [layer, drafts] of [[2, bridged] as const, [3, routed] as const]) {
    for (const draft of drafts) {
      links.push(draft.finish(layer));
      yield;
    }
  }
  const unpolled = yield* linksToUnpolled(claims);
  return links.concat(unpolled, peers);
}

function* noteSeen(node: Node, nodes: ReadonlyMap<string, Node>, directory: DeviceDirectory): Generator<void> {
  const { tables, ports, seen, behind } = node;
  let count = 0;
  for (const { mac, port } of tables.rows("forwarding")) {
    if (++count % 256 === 0) yield;
    const other = nodes.get(directory.ofMac(mac) ?? "");
    if (other === undefined || other === node) continue;
    const at = ports.ofBridge(port);
    const whole = ports.wholeOf(at);
    const known = seen.get(other) ?? [];
    const there = known.find((earlier) => earlier.whole === whole);
    if (there !== undefined) {
      there.macs.push(mac);
      continue;
    }
    known.push({ port: at, whole, macs: [mac] });
    seen.set(other, known);
    push(behind, whole, other);
  }
  yield;
}

/** Yields what a device says, undefined for what is left out. */
function* claimsOf(
  from: Node,
  nodes: ReadonlyMap<string, Node>,
  directory: DeviceDirectory,
  leftOut: () => void,
): Generator<Claim | undefined> {
  const managed = new Map<string, string[]>();
  for (const { port, row, address } of from.tables.rows("neighborAddress")) {
    const key = `${port} ${row}`;
    if ((managed.get(key)?.length ?? 0) < maxAddressesOfNeighbor) push(managed, key, address);
  }
  const counts = new Map<string, number>();
  for (const neighbor of from.tables.rows("neighbor")) {
    const { protocol, port, row, name, chassis } = neighbor;
    const count = (counts.get(`${protocol} ${port}`) ?? 0) + 1;
    counts.set(`${protocol} ${port}`, count);
    if (count > maxNeighborsOfPort) {
      leftOut();
      continue;
    }
    const given = protocol === "lldp" ? managed.get(`${port} ${row}`) : [neighbor.address];
    const addresses = (given ?? []).filter((address) => address !== undefined);
    const found = directory.of({ chassis, addresses, name });
    const to = found && nodes.get(found.device);
    // Some agents list themselves.
    if (to === from) {
      yield undefined;
      continue;
    }
    yield {
      from,
      port: protocol === "lldp" ? from.ports.ofLldp(port, neighbor.portName) : from.ports.port(port),
      to,
      toPort: to?.ports.ofAnnouncement(neighbor.remote),
      protocol,
      neighbor,
      address: addresses[0],
      isDoubtful: found?.isDoubtful === true,
    };
  }
  for (const { port, bridge, bridgePort } of from.tables.rows("designated")) {
    const to = nodes.get(directory.ofMac(bridge) ?? "");
    if (to === undefined || to === from) continue;
    const toPort = bridgePort === undefined ? undefined : to.ports.ofBridge(bridgePort);
    yield {
      from,
      port: from.ports.ofBridge(port),
      to,
      toPort,
      protocol: "stp",
      neighbor: undefined,
      address: undefined,
      isDoubtful: false,
    };
  }
}

const maxAddressesOfNeighbor = 16;

/** Joins what both ends announce of one link; what contradicts it and what supports it is noted. */
function* addAnnounced(drafts: LinkDrafts, claims: readonly Claim[]): Generator<void> {
  const atPort = new Map<string, Claim[]>();
  // Claims that name both ports first: they say which of several links one without is about.
  // Of an aggregated interface, LLDP names the parts, spanning tree the whole.
  const rank = ({ toPort, protocol }: Claim): number => (toPort?.index === undefined ? 2 : protocol === "stp" ? 1 : 0);
  const ordered = [0, 1, 2].flatMap((wanted) => claims.filter((claim) => rank(claim) === wanted));
  const hearing = new Map<string, Set<Node>>();
  for (const claim of ordered) {
    const { from, port, to, toPort, protocol, isDoubtful } = claim;
    push(atPort, claimKey(from, port), claim);
    if (to === undefined) continue;
    yield;
    if (toPort?.index !== undefined && protocol !== "cdp") {
      const key = claimKey(to, toPort);
      hearing.set(key, (hearing.get(key) ?? new Set<Node>()).add(from));
    }
    const draft = drafts.at(from, port, to, toPort?.index === undefined ? undefined : toPort);
    if (draft === undefined) continue;
    if (toPort !== undefined) draft.setPort(to, toPort);
    draft.add(protocol, from);
    if (isDoubtful) draft.doubts.add(`What ${to.tables.name} announces fits other devices, too.`);
  }
  const listed = new Map<Node, ReadonlySet<string>>();
  for (const draft of drafts) {
    for (const node of draft.ends) {
      if (!listed.has(node)) listed.set(node, new Set(Array.from(node.tables.rows("neighbor"), (row) => row.protocol)));
      const port = draft.portOf(node);
      if (port === undefined) continue;
      const other = otherEnd(draft, node);
      doubtSharedPort(draft, node, port, atPort.get(claimKey(node, port)) ?? []);
      doubtOthersHear(draft, node, port, hearing.get(claimKey(node, port)));
      if (isSeenAt(node, port, other)) draft.add("forwarding", node);
    }
    doubtSilence(draft, listed);
    doubtBetween(draft);
    yield;
  }
}

const claimKey = ({ tables }: Node, port: Port): string => `${tables.id} ${port.index ?? port.name}`;

const otherEnd = ({ ends: [a, b] }: LinkDraft, node: Node): Node => (node === a ? b : a);

function doubtSharedPort(draft: LinkDraft, node: Node, port: Port, claims: readonly Claim[]): void {
  const others = claims.filter(({ to }) => to !== otherEnd(draft, node));
  // LLDP goes no further than the next bridge, CDP through bridges that do not know it.
  const nearer = draft.has("lldp", node) ? undefined : others.find(({ protocol }) => protocol === "lldp");
  const shared = nearer ?? others.find(({ to, protocol }) => to !== undefined && draft.has(protocol, node));
  if (shared === undefined) return;
  const name = shared.to?.tables.name ?? shared.neighbor?.name ?? shared.address ?? "another device";
  draft.doubts.add(`${name} announces itself at ${port.name ?? port.index} of ${node.tables.name}, too.`);
}

/** Several devices name this port as that at their other end: a hub is between, or an unmanaged switch. */
function doubtOthersHear(draft: LinkDraft, node: Node, port: Port, hearing: ReadonlySet<Node> | undefined): void {
  const own = otherEnd(draft, node);
  if (hearing?.has(own) !== true) return;
  for (const other of hearing) {
    if (other === own) continue;
    draft.doubts.add(`${other.tables.name} is at ${port.name ?? port.index} of ${node.tables.name}, too.`);
    return;
  }
}

/** One end says nothing of the other, though it lists its neighbours by the same protocol. */
function doubtSilence(draft: LinkDraft, listed: ReadonlyMap<Node, ReadonlySet<string>>): void {
  for (const node of draft.ends) {
    const other = otherEnd(draft, node);
    for (const protocol of ["lldp", "cdp"] as const) {
      if (!draft.has(protocol, other) || draft.has(protocol, node) || draft.has("forwarding", node)) continue;
      if (listed.get(node)?.has(protocol) === true)
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
  const behind = (port && node.behind.get(node.ports.wholeOf(port))) ?? [];
  // From both ends of the list: devices of a row often have their order.
  for (let i = 0; i < behind.length; i++) {
    const third = behind[i % 2 === 0 ? i / 2 : behind.length - (i + 1) / 2] as Node;
    if (third === other) continue;
    // It may see them at different ports, and has not been asked since it started.
    if (third.tables.isAwaited) return third;
    const here = third.seen.get(node);
    const there = here && third.seen.get(other);
    if (there !== undefined && !here?.some((one) => there.some((two) => one.whole === two.whole))) return third;
  }
  return undefined;
}

function isSeenAt(node: Node, port: Port, other: Node): boolean {
  const whole = node.ports.wholeOf(port);
  return node.seen.get(other)?.some((seen) => seen.whole === whole) === true;
}

/**
 * Joins a bridge by the addresses that it learnt to those that announce nothing: to a bridge that sees it, too, and to a device that
 * learns no addresses itself, such as a router, where no other polled device is behind the port.
 */
function* addSeen(drafts: LinkDrafts, node: Node, isTaken: (node: Node, port: Port) => boolean): Generator<void> {
  for (const [other, [seen, another]] of node.seen) {
    yield;
    if (seen === undefined || another !== undefined || drafts.between(node, other).length > 0) continue;
    const { port, whole, macs } = seen;
    if (isTaken(node, port)) continue;
    if (other.seen.size === 0) {
      if ((node.behind.get(whole)?.length ?? 0) > 1) continue;
      drafts.at(node, port, other, portOfMacs(macs, other))?.add("forwarding", node);
      continue;
    }
    const [back, anotherBack] = other.seen.get(node) ?? [];
    if (back === undefined || anotherBack !== undefined || isTaken(other, back.port)) continue;
    if (bridgeBetween(node, port, other) !== undefined || bridgeBetween(other, back.port, node) !== undefined) continue;
    const draft = drafts.at(node, port, other, back.port);
    draft?.add("forwarding", node);
    draft?.add("forwarding", other);
  }
  yield;
}

/** Returns the ports of each device at which a neighbour announces itself: what else is seen there is behind that. */
function announcedPorts(drafts: LinkDrafts): ReadonlyMap<Node, ReadonlySet<string>> {
  const taken = new Map<Node, Set<string>>();
  for (const draft of drafts) {
    for (const node of draft.ends) {
      const port = draft.portOf(node);
      if (port === undefined) continue;
      const wholes = taken.get(node) ?? new Set<string>();
      taken.set(node, wholes.add(node.ports.wholeOf(port)));
    }
  }
  return taken;
}

/** Returns the port of a device whose MAC address was learnt at another one's port; undefined unless it is one. */
function portOfMacs(macs: readonly string[], { ports }: Node): Port | undefined {
  let found: Port | undefined;
  for (const mac of macs) {
    const own = ports.ofMac(mac);
    if (own === undefined || ports.isVirtual(own)) continue;
    if (found !== undefined && found.index !== own.index) return undefined;
    found = own;
  }
  return found;
}

/** Links to neighbours that are not polled, one for each port and neighbour. */
function* linksToUnpolled(claims: readonly Claim[]): Generator<void, readonly Link[]> {
  const links = new Map<string, Link>();
  for (const { from, port, to, neighbor, address } of claims) {
    yield;
    if (to !== undefined || neighbor === undefined) continue;
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
    if (earlier?.evidence.some(({ kind }) => kind === protocol) === true) continue;
    const both = earlier === undefined ? [evidence] : [...earlier.evidence, evidence];
    const isConfirmed = new Set(both.map(({ kind }) => kind)).size > 1;
    const confidence = isConfirmed ? "confirmed" : "likely";
    links.set(id, { id, layer: 2, a, b: earlier?.b ?? b, confidence, evidence: both, doubts: [] });
  }
  return [...links.values()];
}
