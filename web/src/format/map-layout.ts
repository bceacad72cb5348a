import type { MapEdge, MapNode } from "./network-map.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where a node is. */
export interface PlacedNode extends Point {
  readonly node: MapNode;
}

/** The frame around a group. */
export interface PlacedGroup {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface MapLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: ReadonlyMap<string, PlacedNode>;
  readonly groups: readonly PlacedGroup[];
  /** By the key of a line: the point that it bends to. */
  readonly bends: ReadonlyMap<string, Point>;
}

/** The room of a node with its name. */
export const cell = { width: 116, height: 92 };
const gap = 14;
const headHeight = 26;

/**
 * Places the nodes of each group in rows: those with the most links first, then what is one link away from them, and so on. Groups stand side by
 * side as far as the width goes. The same map always has the same places.
 */
export function layOut(nodes: readonly MapNode[], edges: readonly MapEdge[], width: number): MapLayout {
  const neighbors = neighborsOf(nodes, edges);
  const groups = groupNodes(nodes, neighbors);
  const isFramed = groups.length > 1 || (groups[0]?.[0]?.group ?? "") !== "";
  const maxColumns = Math.max(2, Math.floor((width - 2 * gap) / cell.width));
  const placed = new Map<string, PlacedNode>();
  const frames: PlacedGroup[] = [];
  let [x, y, shelfHeight, right] = [0, 0, 0, 0];
  for (const members of groups) {
    const columns = isFramed
      ? Math.min(maxColumns, Math.max(2, Math.ceil(Math.sqrt(members.length) * 1.4)))
      : maxColumns;
    const rows = rowsOf(members, neighbors, columns);
    const frameWidth = Math.max(widthOf(rows), isFramed ? 2 : 1) * cell.width + gap;
    const frameHeight = rows.length * cell.height + (isFramed ? headHeight : 0);
    if (x > 0 && x + frameWidth > Math.max(width, maxColumns * cell.width + gap)) {
      [x, y, shelfHeight] = [0, y + shelfHeight + gap, 0];
    }
    for (const [at, row] of rows.entries()) {
      const left = x + (frameWidth - row.length * cell.width) / 2;
      for (const [column, node] of row.entries()) {
        placed.set(node.id, {
          node,
          x: left + (column + 0.5) * cell.width,
          // Neighbors in a row are not at one height, so that a line between two of them does not run through those between.
          y: y + (isFramed ? headHeight : 0) + at * cell.height + 28 + (column % 2) * 12,
        });
      }
    }
    const [first] = members;
    if (isFramed && first !== undefined && first.kind !== "group") {
      frames.push({ name: first.group, x, y, width: frameWidth, height: frameHeight });
    }
    right = Math.max(right, x + frameWidth);
    shelfHeight = Math.max(shelfHeight, frameHeight);
    x += frameWidth + gap;
  }
  return { width: right, height: y + shelfHeight, nodes: placed, groups: frames, bends: bendsOf(edges, placed) };
}

/** How far a line may bend to one side, the straight one first. */
const sideways = [0, 44, -44, 88, -88, 132, -132];
/** A line that is so near to the middle of a node looks as if it led there. */
const tooNear = 17;

/** Lines bend around the nodes that they do not lead to, as far as that can be had. */
function bendsOf(edges: readonly MapEdge[], placed: ReadonlyMap<string, PlacedNode>): Map<string, Point> {
  const bends = new Map<string, Point>();
  for (const { id, source, target } of edges) {
    const [from, to] = [placed.get(source), placed.get(target)];
    if (from === undefined || to === undefined) continue;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const reach = 66 + tooNear;
    const [left, right] = [Math.min(from.x, to.x) - reach, Math.max(from.x, to.x) + reach];
    const [top, bottom] = [Math.min(from.y, to.y) - reach, Math.max(from.y, to.y) + reach];
    const others = [...placed.values()].filter(
      (node) => node !== from && node !== to && node.x > left && node.x < right && node.y > top && node.y < bottom,
    );
    let best: { readonly bend: Point; readonly hits: number } | undefined;
    for (const side of sideways) {
      const bend = {
        x: (from.x + to.x) / 2 + (side * (to.y - from.y)) / length,
        y: (from.y + to.y) / 2 - (side * (to.x - from.x)) / length,
      };
      const hits = hitsOf(from, bend, to, others, Math.ceil(length / 12));
      if (best === undefined || hits < best.hits) best = { bend, hits };
      if (hits === 0) break;
    }
    if (best !== undefined) bends.set(id, best.bend);
  }
  return bends;
}

/** How many nodes a bent line passes too near. */
function hitsOf(from: Point, bend: Point, to: Point, others: readonly Point[], steps: number): number {
  const hit = new Set<Point>();
  for (let step = 1; step < steps; step++) {
    const t = step / steps;
    const [a, b, c] = [(1 - t) ** 2, 2 * t * (1 - t), t ** 2];
    const [x, y] = [a * from.x + b * bend.x + c * to.x, a * from.y + b * bend.y + c * to.y];
    for (const other of others) {
      if (Math.abs(other.x - x) < tooNear && Math.abs(other.y - y) < tooNear) hit.add(other);
    }
  }
  return hit.size;
}

type Neighbors = ReadonlyMap<string, readonly string[]>;

function neighborsOf(nodes: readonly MapNode[], edges: readonly MapEdge[]): Neighbors {
  const neighbors = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { source, target } of edges) {
    neighbors.get(source)?.push(target);
    neighbors.get(target)?.push(source);
  }
  return neighbors;
}

/** Groups in the order of how many links lead out of them. */
function groupNodes(nodes: readonly MapNode[], neighbors: Neighbors): MapNode[][] {
  const groupOf = new Map(nodes.map(({ id, kind, group }) => [id, kind === "group" ? "" : group]));
  const groups = new Map<string, MapNode[]>();
  for (const node of nodes) {
    const name = groupOf.get(node.id) ?? "";
    const members = groups.get(name);
    if (members === undefined) groups.set(name, [node]);
    else members.push(node);
  }
  const leadOut = (members: readonly MapNode[]): number => {
    const others = members.flatMap(({ id }) => neighbors.get(id) ?? []);
    return others.filter((id) => groupOf.get(id) !== groupOf.get(members[0]?.id ?? "")).length;
  };
  return Array.from(groups.values(), (members) => ({ members, out: leadOut(members) }))
    .sort((a, b) => b.out - a.out)
    .map(({ members }) => members);
}

/**
 * Rows of at most so many nodes, by the distance from the node of their part that has the most links. Small parts stand side by side; what has no
 * links comes last.
 */
function rowsOf(members: readonly MapNode[], neighbors: Neighbors, columns: number): MapNode[][] {
  const byId = new Map(members.map((node) => [node.id, node]));
  const inside = ({ id }: MapNode): MapNode[] => (neighbors.get(id) ?? []).flatMap((other) => byId.get(other) ?? []);
  const degreeOf = ({ id }: MapNode): number => neighbors.get(id)?.length ?? 0;
  const rows: MapNode[][] = [];
  const seen = new Set<MapNode>();
  let block: MapNode[][] = [];
  const singles: MapNode[] = [];
  for (const root of members.toSorted((a, b) => degreeOf(b) - degreeOf(a))) {
    if (seen.has(root)) continue;
    const part: MapNode[][] = [];
    seen.add(root);
    for (let row = [root]; row.length > 0;) {
      part.push(...evenRows(row, columns));
      const next = new Set(row.flatMap(inside).filter((node) => !seen.has(node)));
      for (const node of next) seen.add(node);
      row = [...next];
    }
    if (part.length === 1) singles.push(root);
    else if (widthOf(block) + widthOf(part) <= columns) {
      block = Array.from({ length: Math.max(block.length, part.length) }, (_, i) => [
        ...(block[i] ?? []),
        ...(part[i] ?? []),
      ]);
    } else {
      rows.push(...block);
      block = part;
    }
  }
  return [...rows, ...block, ...evenRows(singles, columns)];
}

const widthOf = (rows: readonly (readonly MapNode[])[]): number => Math.max(0, ...rows.map(({ length }) => length));

/** Rows of about the same length. */
function evenRows(nodes: readonly MapNode[], columns: number): MapNode[][] {
  const count = Math.ceil(nodes.length / columns);
  const size = Math.ceil(nodes.length / Math.max(1, count));
  return Array.from({ length: count }, (_, i) => nodes.slice(i * size, (i + 1) * size)).filter(
    ({ length }) => length > 0,
  );
}
