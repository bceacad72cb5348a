import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { sankey, sankeyLinkHorizontal } from "d3-sankey";
import type { ExploreAnswer, KeyValue } from "../../api/explore-answer.ts";
import { flowPicture, type PictureLink, type PictureNode } from "../../format/flow-diagram.ts";
import { shortened } from "../../format/shortened.ts";
import { formatNumber, type Unit } from "../../format/numbers.ts";
import { colorName, seriesColors } from "../../ui/charts/palette.ts";
import { keyText } from "../../format/key-text.ts";

export interface FlowSankeyProps {
  readonly answer: ExploreAnswer;
  readonly unit: Unit;
  readonly labels: readonly string[];
  readonly onPick: (dimension: string, value: KeyValue) => void;
}

/** Narrower, and the names would lie on one another: the picture scrolls then. */
/** For each column of nodes. */
const leastWidth = 130;
const letterWidth = 7;
const nodeHeight = 34;

/** The layout puts nodes where their ids were. */
const nodeOf = (end: unknown): PictureNode => end as PictureNode;

/** Who talks to whom: the values of two or three dimensions, as broad as what went between them. */
export function FlowSankey({ answer, unit, labels, onPick }: FlowSankeyProps): JSX.Element {
  const columns = Math.min(3, answer.dimensions.length);
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.max(leastWidth * columns, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [columns]);
  const picture = useMemo(() => flowPicture(answer.rows, columns, answer.others.value), [answer, columns]);
  const tallest = Math.max(
    ...labels.slice(0, columns).map((_, at) => picture.nodes.filter((n) => n.column === at).length),
  );
  const height = Math.max(180, Math.min(640, tallest * nodeHeight));

  const laid = useMemo(() => {
    if (width === 0 || picture.links.length === 0) return undefined;
    return sankey<PictureNode, PictureLink>()
      .nodeId((node) => node.id)
      .nodeAlign((node) => node.column)
      .nodeWidth(12)
      .nodePadding(14)
      .extent([
        [1, 24],
        [width - 1, height + 20],
      ])({ nodes: picture.nodes.map((node) => ({ ...node })), links: picture.links.map((link) => ({ ...link })) });
  }, [picture, width, height]);

  const textOf = ({ key, column, isOthers = false }: PictureNode): string =>
    isOthers ? `${String(answer.others.keys)} others` : keyText(key, answer.dimensions[column] ?? "");
  const longest = Math.max(8, Math.min(30, Math.floor(width / columns / letterWidth)));
  const path = sankeyLinkHorizontal();
  const firsts = picture.nodes.filter(({ column }) => column === 0).map(({ id }) => id);
  const colorOfNode = (node: PictureNode): string =>
    node.isOthers === true
      ? "--c-others"
      : node.column === 0
        ? colorName(Math.min(firsts.indexOf(node.id), seriesColors))
        : "--line-strong";
  return (
    <div class="sankey-scroll" ref={holder} tabIndex={0} role="region" aria-label="Flow diagram">
      {laid !== undefined && (
        <svg
          class="sankey"
          width={width}
          height={height + 26}
          role="group"
          aria-label={`From ${labels.slice(0, columns).join(" to ")}`}
        >
          {labels.slice(0, columns).map((label, column) => (
            <text
              key={label}
              class="sankey-head"
              x={(column / Math.max(1, columns - 1)) * (width - 2)}
              y={12}
              text-anchor={column === 0 ? "start" : column === columns - 1 ? "end" : "middle"}
            >
              {label}
            </text>
          ))}
          <g fill="none">
            {laid.links.map((link) => {
              const [source, target] = [nodeOf(link.source), nodeOf(link.target)];
              return (
                <path
                  key={`${source.id}\n${target.id}`}
                  class="sankey-link"
                  d={path(link) ?? ""}
                  stroke={`var(${colorOfNode(source)})`}
                  stroke-width={Math.max(1, link.width ?? 1)}
                >
                  <title>{`${textOf(source)} → ${textOf(target)}: ${formatNumber(link.value, unit)}`}</title>
                </path>
              );
            })}
          </g>
          {laid.nodes.map((node) => {
            const { x0 = 0, x1 = 0, y0 = 0, y1 = 0 } = node;
            const isLast = node.column === columns - 1;
            const text = textOf(node);
            const isOthers = node.isOthers === true;
            const pick = (): void => onPick(answer.dimensions[node.column] ?? "", node.key);
            return (
              <g
                key={node.id}
                class={isOthers ? "sankey-node others" : "sankey-node"}
                role={isOthers ? "img" : "button"}
                // SVG knows it in small letters only.
                tabindex={isOthers ? undefined : 0}
                aria-label={`${text}: ${formatNumber(node.value, unit)}${isOthers ? "" : ". Show only this"}`}
                onClick={isOthers ? undefined : pick}
                onKeyDown={(event) => {
                  if (isOthers) return;
                  if (event.key !== "Enter" && event.key !== " ") return;
                  event.preventDefault();
                  pick();
                }}
              >
                <rect
                  x={x0}
                  y={y0}
                  width={x1 - x0}
                  height={Math.max(2, y1 - y0)}
                  rx={2}
                  fill={`var(${colorOfNode(node)})`}
                />
                <text x={isLast ? x0 - 7 : x1 + 7} y={(y0 + y1) / 2} dy="0.35em" text-anchor={isLast ? "end" : "start"}>
                  {shortened(text, longest)}
                </text>
                <title>{text}</title>
              </g>
            );
          })}
        </svg>
      )}
    </div>
  );
}
