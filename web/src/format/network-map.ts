import { certainties, certaintyOf, endName, nodeIdOf, type Certainty, type Link } from "./link-text.ts";

/** A polled device. */
export interface MapDevice {
  readonly id: string;
  readonly ip: string;
  readonly name: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What is drawn as one: a device, a neighbor that is not polled, or a group that is closed. */
export interface MapNode {
  readonly id: string;
  readonly kind: "polled" | "neighbor" | "group";
  readonly name: string;
  readonly address: string;
  /** "" without groups. */
  readonly group: string;
  /** Devices and neighbors in it. */
  readonly count: number;
}

/** All links between two nodes, drawn as one line. */
export interface MapEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** That of the surest link. */
  readonly certainty: Certainty;
  readonly linkIds: readonly string[];
}

export interface NetworkMap {
  readonly nodes: readonly MapNode[];
  readonly edges: readonly MapEdge[];
  /** What was drawn as groups, or not at all, because there is too much of it. */
  readonly isCut: boolean;
}

export interface MapView {
  readonly layer: number;
  /** A key of {@link groupKeys}. */
  readonly groupBy: string;
  /** The group that is open where all of them do not fit. */
  readonly open: string;
}

/** Nodes that are drawn. */
export const maxNodes = 500;
/** Groups by the network of the address: what there is without metadata. */
export const byNetwork = "network";
export const withoutGroups = "none";
const unnamedGroup = "not said";

/** What devices can be grouped by: the keys of their metadata but their names, the site first, then what there always is. */
export function groupKeys(devices: readonly MapDevice[]): readonly string[] {
  const keys = new Set(devices.flatMap(({ metadata }) => Object.keys(metadata)));
  const named = [...keys].filter((key) => key !== "host.name").sort();
  const isSite = (key: string): boolean => key === "site" || key === "site.name";
  return [...named.filter(isSite), ...named.filter((key) => !isSite(key)), byNetwork, withoutGroups];
}

/** The grouping that is shown first: by site where metadata say it. */
export function firstGroupKey(keys: readonly string[]): string {
  const [first = withoutGroups] = keys;
  return first.startsWith("site") ? first : withoutGroups;
}

/** The nodes and lines of one layer. */
export function networkMap(devices: readonly MapDevice[], links: readonly Link[], view: MapView): NetworkMap {
  const wanted = links.filter(({ layer }) => layer === view.layer);
  const nodes = nodesOf(devices, wanted, view.groupBy);
  if (nodes.size <= maxNodes) return { nodes: [...nodes.values()], edges: edgesOf(wanted, (id) => id), isCut: false };
  const whole = view.groupBy === withoutGroups ? nodesOf(devices, wanted, byNetwork) : nodes;
  const shown = new Map<string, MapNode>();
  const shownAs = new Map<string, string>();
  for (const node of whole.values()) {
    const isOpen = node.group === view.open;
    const id = isOpen ? node.id : groupId(node.group);
    const earlier = shown.get(id);
    if (earlier === undefined && shown.size >= maxNodes) continue;
    shownAs.set(node.id, id);
    if (isOpen) shown.set(id, node);
    else {
      const count = (earlier?.count ?? 0) + 1;
      shown.set(id, { id, kind: "group", name: node.group, address: "", group: node.group, count });
    }
  }
  return { nodes: [...shown.values()], edges: edgesOf(wanted, (id) => shownAs.get(id)), isCut: true };
}

const groupId = (group: string): string => `group ${group}`;

/** Devices and their neighbors by their keys, in the order of their names. */
function nodesOf(devices: readonly MapDevice[], links: readonly Link[], groupBy: string): Map<string, MapNode> {
  const nodes = new Map<string, MapNode>();
  for (const { id, ip, name, metadata } of devices) {
    const group = groupOf(ip, metadata, groupBy);
    nodes.set(id, { id, kind: "polled", name: name || ip, address: ip, group, count: 1 });
  }
  // A neighbor that is not polled is where the device is that knows it.
  for (const link of links) {
    for (const [end, other] of [
      [link.a, link.b],
      [link.b, link.a],
    ] as const) {
      const id = nodeIdOf(end, link);
      if (nodes.has(id)) continue;
      const group = nodes.get(nodeIdOf(other, link))?.group ?? groupOf(end.address ?? "", {}, groupBy);
      const kind = end.device === undefined ? "neighbor" : "polled";
      nodes.set(id, { id, kind, name: endName(end), address: end.address ?? "", group, count: 1 });
    }
  }
  const sorted = [...nodes.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  return new Map(sorted.map((node) => [node.id, node]));
}

function groupOf(ip: string, metadata: MapDevice["metadata"], groupBy: string): string {
  if (groupBy === withoutGroups) return "";
  if (groupBy !== byNetwork) return metadata[groupBy] ?? unnamedGroup;
  if (ip === "") return unnamedGroup;
  if (!ip.includes(":")) return `${ip.split(".").slice(0, 3).join(".")}.0/24`;
  return `${ip.split("::")[0]?.split(":").slice(0, 4).join(":") ?? ""}::/64`;
}

function edgesOf(links: readonly Link[], shownAs: (id: string) => string | undefined): MapEdge[] {
  const edges = new Map<string, { source: string; target: string; rank: number; linkIds: string[] }>();
  for (const link of links) {
    const [source = "", target = ""] = [link.a, link.b].map((end) => shownAs(nodeIdOf(end, link)) ?? "").sort();
    if (source === "" || source === target) continue;
    const id = `${source} – ${target}`;
    const rank = certainties.indexOf(certaintyOf(link));
    const edge = edges.get(id);
    if (edge === undefined) edges.set(id, { source, target, rank, linkIds: [link.id] });
    else {
      edge.linkIds.push(link.id);
      edge.rank = Math.min(edge.rank, rank);
    }
  }
  return Array.from(edges, ([id, { rank, ...edge }]) => ({ id, ...edge, certainty: certainties[rank] ?? "unsure" }));
}
