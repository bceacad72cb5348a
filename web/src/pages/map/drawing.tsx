import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { cell, layOut, type PlacedNode, type Point } from "../../format/map-layout.ts";
import type { MapEdge, NetworkMap } from "../../format/network-map.ts";

export interface DrawingProps {
  readonly map: NetworkMap;
  /** The key of a node or a line, or "". */
  readonly chosen: string;
  readonly choose: (what: { readonly device?: string; readonly link?: string }) => void;
  readonly openGroup: (name: string) => void;
}

/** The map as a drawing. Each node and each line can be reached by the keyboard; the focus chooses it. */
export function Drawing({ map, chosen, choose, openGroup }: DrawingProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.floor(element.clientWidth));
    return () => observer.disconnect();
  }, []);
  const layout = useMemo(() => layOut(map.nodes, map.edges, width), [map, width]);
  const near = new Set(
    map.edges.flatMap(({ id, source, target }) =>
      id === chosen || source === chosen || target === chosen ? [id, source, target] : [],
    ),
  );
  const names = new Map(map.nodes.map(({ id, name }) => [id, name]));
  return (
    <div ref={frame} class="map-drawing" role="region" aria-label="Drawing of the links" tabIndex={0}>
      {width > 0 && (
        <svg
          viewBox={`-2 -2 ${String(layout.width + 4)} ${String(layout.height + 4)}`}
          width={layout.width + 4}
          height={layout.height + 4}
          role="group"
          aria-label="Devices and links. The table below has the same links."
        >
          {layout.groups.map(({ name, x, y, width: across, height }) => (
            <g key={name}>
              <rect class="map-group" x={x} y={y} width={across} height={height} rx="10" />
              <text class="map-group-name" x={x + 10} y={y + 18}>
                {cut(name, across / 8)}
              </text>
            </g>
          ))}
          {map.edges.map((edge) => (
            <Line
              key={edge.id}
              edge={edge}
              from={layout.nodes.get(edge.source)}
              to={layout.nodes.get(edge.target)}
              bend={layout.bends.get(edge.id)}
              label={`${names.get(edge.source) ?? ""} to ${names.get(edge.target) ?? ""}, ${edge.certainty}${edge.linkIds.length > 1 ? `, ${String(edge.linkIds.length)} links` : ""}`}
              isChosen={edge.id === chosen}
              isNear={near.has(edge.id)}
              choose={() => choose({ link: edge.id })}
            />
          ))}
          {[...layout.nodes.values()].map((placed) => (
            <Node
              key={placed.node.id}
              placed={placed}
              isChosen={placed.node.id === chosen}
              isNear={near.has(placed.node.id)}
              choose={() => choose({ device: placed.node.id })}
              open={() => openGroup(placed.node.group)}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

function Line({
  edge: { certainty, linkIds },
  from,
  to,
  bend,
  label,
  isChosen,
  isNear,
  choose,
}: {
  readonly edge: MapEdge;
  readonly from: PlacedNode | undefined;
  readonly to: PlacedNode | undefined;
  readonly bend: Point | undefined;
  readonly label: string;
  readonly isChosen: boolean;
  readonly isNear: boolean;
  readonly choose: () => void;
}): JSX.Element | null {
  if (from === undefined || to === undefined || bend === undefined) return null;
  const { x, y } = bend;
  const d = `M${String(from.x)} ${String(from.y)}Q${String(x)} ${String(y)} ${String(to.x)} ${String(to.y)}`;
  return (
    <g
      class={`map-edge${isNear ? " near" : ""}`}
      role="button"
      tabindex={0}
      aria-label={label}
      aria-pressed={isChosen}
      onFocus={choose}
      onClick={choose}
    >
      <title>{label}</title>
      <path class="map-grip" d={d} />
      <path class={`map-line ${certainty}`} d={d} />
      {linkIds.length > 1 && (
        <text class="map-count" x={(from.x + 2 * x + to.x) / 4} y={(from.y + 2 * y + to.y) / 4 + 4}>
          {linkIds.length}
        </text>
      )}
    </g>
  );
}

function Node({
  placed: { node, x, y },
  isChosen,
  isNear,
  choose,
  open,
}: {
  readonly placed: PlacedNode;
  readonly isChosen: boolean;
  readonly isNear: boolean;
  readonly choose: () => void;
  readonly open: () => void;
}): JSX.Element {
  const isGroup = node.kind === "group";
  const what = isGroup ? `, ${String(node.count)} in it, opens` : node.kind === "neighbor" ? ", not polled" : "";
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    (isGroup ? open : choose)();
  };
  return (
    // What is written is cut, so it is no part of the button, which has the whole name.
    <g class="map-place" onClick={isGroup ? open : choose}>
      <g
        class={`map-node${isNear ? " near" : ""}`}
        role="button"
        tabindex={0}
        aria-label={`${node.name}${what}`}
        aria-pressed={isGroup ? undefined : isChosen}
        onFocus={isGroup ? undefined : choose}
        onKeyDown={onKeyDown}
      >
        <title>{node.address === "" ? node.name : `${node.name}, ${node.address}`}</title>
        {node.kind === "neighbor" ? (
          <circle class="map-shape neighbor" cx={x} cy={y} r="11" />
        ) : (
          <rect class={`map-shape ${node.kind}`} x={x - 15} y={y - 11} width="30" height="22" rx="5" />
        )}
      </g>
      {isGroup && (
        <text class="map-inside" x={x} y={y + 4} aria-hidden="true">
          {node.count}
        </text>
      )}
      <text class="map-name" x={x} y={y + 27} aria-hidden="true">
        {cut(node.name, (cell.width - 8) / 6.6)}
      </text>
    </g>
  );
}

/** A long name without its middle: what tells names of one network apart is at their ends. */
function cut(text: string, room: number): string {
  const most = Math.floor(room);
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(head + 1 - most)}`;
}
