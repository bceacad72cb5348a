import { fieldNames } from "../elements/mapping/element-names.ts";
import type { Convert } from "../elements/mapping/convert-type.ts";
import { convertField } from "../elements/mapping/convert-field.ts";
import { convertType } from "../elements/mapping/convert-type.ts";
import { enumerations } from "../elements/registry/enumerations.gen.ts";

/** First segments of names that are not below `flow`. */
const roots = new Set(
  fieldNames.map(([, name]) => name.slice(0, name.indexOf("."))).filter((segment) => segment !== "flow"),
);

/** The name of a flow's field, of what stands behind `flow.reverse.`, where names below `flow` have lost that. */
export function forwardName(rest: string): string {
  return roots.has(rest.slice(0, rest.indexOf("."))) ? rest : `flow.${rest}`;
}

const oppositeSegments = new Map([
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
 * The name with source and destination, in and out swapped; those of outer headers, too. Where packets come in, those of the
 * other direction go out: sources and destinations there are swapped as well.
 */
export function swapSides(name: string): string {
  const segments = name.split(".");
  if (segments[0] !== "flow") return name;
  const at = segments[1] === "outer" || segments[1] === "middle" ? 2 : 1;
  const other = oppositeSegments.get(segments[at] ?? "");
  if (other === undefined) return name;
  const swapped = segments.with(at, other);
  if (other === "src" || other === "dst") return swapped.join(".");
  return swapped.map((segment, i) => (i > at ? (ends.get(segment) ?? segment) : segment)).join(".");
}

/**
 * The part of a record that a line is of: all of it, or one direction of a biflow (RFC 5103). The line of the reverse direction has
 * its values under the names of a flow, and what is said of both with the sides swapped.
 */
export type Direction = "whole" | "forward" | "reverse";

/** Names, or beginnings of names, of what is said of both directions at once. What else has no reverse is the first one's. */
export const commonNames = [
  "@timestamp",
  "app.",
  "flow.biflow.direction.",
  "flow.direction.",
  "flow.dst.",
  "flow.end.",
  "flow.export.",
  "flow.firewall.",
  "flow.ie.commonPropertiesId",
  "flow.ie.flowId",
  "flow.ie.observationPointId",
  "flow.ie.observationTime",
  "flow.ie.sampl",
  "flow.ie.selector",
  "flow.in.",
  "flow.middle.",
  "flow.nat.",
  "flow.out.",
  "flow.outer.",
  "flow.src.",
  "flow.start.",
  "flow.tunnel.",
  "flow.user.",
  "ip.version.",
  "l4.",
];

const reversePrefix = "flow.reverse.";

export function isReverseName(name: string): boolean {
  return name.startsWith(reversePrefix);
}

/** The names that a field of the reverse direction may have in a record, by its name in the line of that direction. */
export function reverseNames(name: string): readonly string[] {
  return [reversePrefix + name, reversePrefix + name.replace(/^flow\./, "")];
}

/** The name of a field of the record in the line of a direction; undefined where it is not in that line. */
export function nameIn(direction: Direction, name: string): string | undefined {
  if (direction === "whole") return name;
  const isReverse = isReverseName(name);
  if (direction === "forward") return isReverse ? undefined : name;
  if (isReverse) return forwardName(name.slice(reversePrefix.length));
  return commonNames.some((beginning) => name.startsWith(beginning)) ? swapSides(name) : undefined;
}

/** Returns the conversion of a field that says something of one direction, for the other. */
export function turned(name: string, convert: Convert): Convert {
  const known = opposites.get(convert);
  return known !== undefined && turnedNames.has(name) ? known : convert;
}

const turnedNames: ReadonlySet<string> = new Set([
  "flow.direction.name",
  "flow.biflow.direction.id",
  "flow.biflow.direction.name",
]);

function convertBack(convert: Convert, pairs: ReadonlyMap<unknown, string | number>): Convert {
  return (source, at, length) => {
    const value = convert(source, at, length);
    return value === undefined ? undefined : (pairs.get(value) ?? value);
  };
}

/** The values for the end that began it: source or destination (RFC 5103 section 6.3). */
const [bySource, byDestination] = [1, 2].map((id) => enumerations.biflowDirection.get(id) ?? "") as [string, string];
const opposites = new Map<Convert, Convert>([
  [
    convertField.directionName,
    convertBack(
      convertField.directionName,
      new Map([
        ["ingress", "egress"],
        ["egress", "ingress"],
      ]),
    ),
  ],
  [
    convertType.unsigned8,
    convertBack(
      convertType.unsigned8,
      new Map([
        [1, 2],
        [2, 1],
      ]),
    ),
  ],
  [
    convertField.biflowDirectionName,
    convertBack(
      convertField.biflowDirectionName,
      new Map([
        [bySource, byDestination],
        [byDestination, bySource],
      ]),
    ),
  ],
]);
