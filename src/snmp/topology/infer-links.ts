import { DeviceDirectory, type Port, type KnownDevice } from "./device-ports.ts";
import { endOf, type Link, LinkDrafts, type Node, portKey, push, type LinkDraft, type LinkEnd } from "./link-drafts.ts";
import type { RowKind, RowTypes } from "./device-tables.ts";
import { addRoutedLinks } from "./routed-links.ts";

/** The most neighbours at one port by one protocol; further ones are ignored. */
const maxNeighborsOfPort = 256;

/** A device's facts about a neighbour at one of its ports. */
interface Claim {
  readonly from: Node;
  readonly port: Port;
  /** The polled device; undefined if the neighbour is not polled. */
  readonly to: Node | undefined;
  readonly toPort: Port | undefined;
  readonly protocol: RowTypes["neighbor"]["protocol"] | "stp";
  /** The neighbour's announcement of itself. Spanning tree has none; it only names bridges that are polled. */
  readonly neighbor: RowTypes["neighbor"] | undefined;
  readonly address: string | undefined;
  /** True if the announcement fits several devices. */
  readonly isDoubtful: boolean;
}

/**
 * Infers the links of layers 2 and 3 from the tables of devices. It yields between devices, so that many of them do not block the event
 * loop.
 *
 * Neighbours that announce themselves (LLDP, CDP) are connected from both ends. Learnt MAC addresses support such links. Where nothing
 * is announced, they give other links: two bridges are connected if each sees the other and no third one is between them. On layer 3,
 * two devices are connected by networks of at most four addresses, and by sessions of OSPF and BGP with an address of a connected
 * network.
 *
 * @param leftOut called for each neighbour of a port, and each link of two devices, beyond the limits.
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
  const bridged = new LinkDrafts(2, leftOut);
  yield* addAnnounced(bridged, claims);
  const announced = yield* announcedPorts(bridged);
  const isTaken = (node: Node, port: Port): boolean => announced.get(node)?.has(node.ports.wholeOf(port)) === true;
  for (const node of nodes.values()) yield* addSeen(bridged, node, isTaken);
  const routed = new LinkDrafts(3, leftOut);
  const peers = yield* addRoutedLinks(routed, bridged, nodes, directory);
  const links: Link[] = [];
  for (const drafts of [bridged, routed]) {
    for (const draft of drafts) {
      links.push(draft.finish());
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

/** Yields the facts of a device about its neighbours; undefined for those that are left out. */
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
    yield undefined;
  }
  const counts = new Map<string, number>();
  for (const neighbor of from.tables.rows("neighbor")) {
    const { protocol, port, row, name, chassis } = neighbor;
    const count = (counts.get(`${protocol} ${port}`) ?? 0) + 1;
    counts.set(`${protocol} ${port}`, count);
    if (count > maxNeighborsOfPort) {
      leftOut();
      yield undefined;
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

/** Connects the announcements of both ends of a link, and notes contradictions and support. */
function* addAnnounced(drafts: LinkDrafts, claims: readonly Claim[]): Generator<void> {
  const atPort = new Map<string, Claim[]>();
  // Claims that name both ports come first: they show which of several links a claim without a port concerns. For an aggregated
  // interface, LLDP names the parts, spanning tree the whole.
  const rank = ({ toPort, protocol }: Claim): number => (toPort?.index === undefined ? 2 : protocol === "stp" ? 1 : 0);
  const ordered = [0, 1, 2].flatMap((wanted) => claims.filter((claim) => rank(claim) === wanted));
  const hearing = new Map<string, Set<Node>>();
  for (const claim of ordered) {
    const { from, port, to, toPort, protocol, isDoubtful } = claim;
    push(atPort, claimKey(from, port), claim);
    yield;
    if (to === undefined) continue;
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
  // LLDP reaches only the next bridge; CDP passes bridges that do not support it.
  const nearer = draft.has("lldp", node) ? undefined : others.find(({ protocol }) => protocol === "lldp");
  const shared = nearer ?? others.find(({ to, protocol }) => to !== undefined && draft.has(protocol, node));
  if (shared === undefined) return;
  const name = shared.to?.tables.name ?? shared.neighbor?.name ?? shared.address ?? "another device";
  draft.doubts.add(`${name} announces itself at ${port.name ?? port.index} of ${node.tables.name}, too.`);
}

/** Notes a doubt if several devices name this port as their other end: there is a hub or an unmanaged switch between them. */
function doubtOthersHear(draft: LinkDraft, node: Node, port: Port, hearing: ReadonlySet<Node> | undefined): void {
  const own = otherEnd(draft, node);
  if (hearing?.has(own) !== true) return;
  for (const other of hearing) {
    if (other === own) continue;
    draft.doubts.add(`${other.tables.name} is at ${port.name ?? port.index} of ${node.tables.name}, too.`);
    return;
  }
}

/** Notes a doubt if one end does not list the other, although it lists neighbours by the same protocol. */
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

/** Notes a doubt if CDP alone announces a link and a bridge sees its ends at different ports. */
function doubtBetween(draft: LinkDraft): void {
  if (draft.has("lldp")) return;
  const [a, b] = draft.ends;
  const between = bridgeBetween(a, draft.portOf(a), b) ?? bridgeBetween(b, draft.portOf(b), a);
  if (between !== undefined) draft.doubts.add(`${between.tables.name} lies between.`);
}

/** The tables without which the ports at which a bridge sees others are unknown. */
const learning: readonly RowKind[] = ["forwarding", "bridgePort"];

/** Returns a third bridge behind this port that sees the two at different ports. */
function bridgeBetween(node: Node, port: Port | undefined, other: Node): Node | undefined {
  const behind = (port && node.behind.get(node.ports.wholeOf(port))) ?? [];
  // The search runs from both ends of the list, because devices in a row often have this order.
  for (let i = 0; i < behind.length; i++) {
    const third = behind[i % 2 === 0 ? i / 2 : behind.length - (i + 1) / 2] as Node;
    if (third === other) continue;
    // It may see them at different ports, but has not been read since its restart.
    if (third.tables.awaits(learning)) return third;
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
 * Connects a bridge with devices that announce nothing, by the addresses that it learnt. The other end may be a bridge that sees this
 * one, too. It may also be a device that learns no addresses, such as a router, if no other polled device is behind the port.
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

/** Returns the ports of each device at which a neighbour announces itself: other devices seen there are behind the neighbour. */
function* announcedPorts(drafts: LinkDrafts): Generator<void, ReadonlyMap<Node, ReadonlySet<string>>> {
  const taken = new Map<Node, Set<string>>();
  for (const draft of drafts) {
    for (const node of draft.ends) {
      const port = draft.portOf(node);
      if (port === undefined) continue;
      const wholes = taken.get(node) ?? new Set<string>();
      taken.set(node, wholes.add(node.ports.wholeOf(port)));
    }
    yield;
  }
  return taken;
}

/** Returns the port of a device whose MAC address was learnt at a port of another device; undefined unless there is exactly one. */
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

/** Returns the links to neighbours that are not polled, one for each port and neighbour. */
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
