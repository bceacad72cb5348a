import { fieldNames } from "../mapping/field-names.ts";

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

/** The name with source and destination, in and out in each other's place. */
export function swapSides(name: string): string {
  const [first, side = "", ...rest] = name.split(".");
  const opposite = first === "flow" ? opposites.get(side) : undefined;
  return opposite === undefined ? name : [first, opposite, ...rest].join(".");
}
