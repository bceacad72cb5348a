import { fieldNames } from "../../elements/mapping/element-names.ts";

/** First segments of names that are not below `flow`. */
const roots = new Set(
  fieldNames.map(([, name]) => name.slice(0, name.indexOf("."))).filter((segment) => segment !== "flow"),
);

/** The name of a flow's field, of what stands behind `flow.reverse.`, where names below `flow` have lost that. */
export function forwardName(rest: string): string {
  return roots.has(rest.slice(0, rest.indexOf("."))) ? rest : `flow.${rest}`;
}

const opposites = new Map([
  ["src", "dst"],
  ["dst", "src"],
  ["in", "out"],
  ["out", "in"],
]);

const ends = new Map([
  ["src", "dst"],
  ["dst", "src"],
]);

/**
 * The name with source and destination, in and out in each other's place; those of outer headers, too. Where packets come in, those of the
 * other direction go out: sources and destinations there change places as well.
 */
export function swapSides(name: string): string {
  const segments = name.split(".");
  if (segments[0] !== "flow") return name;
  const at = segments[1] === "outer" || segments[1] === "middle" ? 2 : 1;
  const opposite = opposites.get(segments[at] ?? "");
  if (opposite === undefined) return name;
  const swapped = segments.with(at, opposite);
  if (opposite === "src" || opposite === "dst") return swapped.join(".");
  return swapped.map((segment, i) => (i > at ? (ends.get(segment) ?? segment) : segment)).join(".");
}
