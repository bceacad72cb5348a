import type { Key } from "../../base/ip/index.ts";
import type { DeviceDirectory, Port } from "./device-ports.ts";
import { endOf, type EvidenceKind, type Link, type LinkDrafts, type Node } from "./link-drafts.ts";

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
export function* addRoutedLinks(
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
