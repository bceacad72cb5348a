import { readWhen, writeWhen, type ExploreQuestion, type Measure } from "./explore.ts";
import type { QueryValues } from "../navigation/place.ts";

/** What the page asks, as the address bar has it; its time is that of `usePageTime`. */
export type ExploreState = Omit<ExploreQuestion, "compare" | "from" | "to"> & { readonly compare: boolean };

export const defaultDimensions: readonly string[] = ["flow.src.ip.subnet.name", "flow.dst.ip.subnet.name"];

export const measures: readonly (readonly [Measure, string])[] = [
  ["bits_per_second", "Bits per second"],
  ["packets_per_second", "Packets per second"],
  ["bytes", "Bytes"],
  ["packets", "Packets"],
  ["flows", "Flows"],
  ["utilisation_in", "Percent of the interface in"],
  ["utilisation_out", "Percent of the interface out"],
  ["sources", "Different source addresses"],
  ["destinations", "Different destination addresses"],
  ["source_ports", "Different source ports"],
  ["destination_ports", "Different destination ports"],
];

/** All flows together, in the address bar: what is empty there is left out, and stands for the usual fields. */
const noDimension = "nothing";

/** The state that an address stands for; what it does not say, or says wrongly, is as at first. */
export function readState(query: URLSearchParams): ExploreState {
  const measure = query.get("measure");
  const limit = Number(query.get("limit"));
  const dimensions = query.get("by");
  return {
    filter: query.get("filter") ?? "",
    dimensions:
      dimensions === null
        ? defaultDimensions
        : dimensions
            .split(",")
            .filter((name) => name !== "" && name !== noDimension)
            .slice(0, 4),
    measure: measures.find(([name]) => name === measure)?.[0] ?? "bits_per_second",
    when: readWhen(query),
    limit: Number.isInteger(limit) && limit >= 1 && limit <= 100 ? limit : 10,
    granularity: "auto",
    compare: query.get("compare") === "true",
  };
}

/** What the address says of a state: only what is not as at first. */
export function writeState(state: Partial<ExploreState>): QueryValues {
  const { filter, dimensions, measure, when, limit, compare } = state;
  return {
    ...(filter !== undefined && { filter }),
    ...(dimensions !== undefined && {
      by: dimensions.join() === defaultDimensions.join() ? undefined : dimensions.join() || noDimension,
    }),
    ...(measure !== undefined && { measure: measure === "bits_per_second" ? undefined : measure }),
    ...(when !== undefined && { when: writeWhen(when) }),
    ...(limit !== undefined && { limit: limit === 10 ? undefined : limit }),
    ...(compare !== undefined && { compare: compare ? true : undefined }),
  };
}
