import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { exploreQueryCall, type ExploreQuestion } from "../../api/explore.ts";
import { useCall } from "../../api/use-call.ts";

/** The name by metadata of an address that stands in the answer, by the dimension and the address. */
export type AddressNames = ReadonlyMap<string, string>;
export const nameKey = (dimension: string, address: unknown): string => `${dimension} ${String(address)}`;

const addressField = /^(flow\.(?:src|dst|client|server|export)\.ip)\.addr$/;

/**
 * Names of the addresses of an answer: of several in its time, that with the most traffic. One further question, for the first dimension of addresses
 * whose name is no dimension itself.
 */
export function useAddressNames(question: ExploreQuestion, answer: ExploreAnswer | undefined): AddressNames {
  const { dimensions = [], rows = [] } = answer ?? {};
  const at = dimensions.findIndex((name) => addressField.test(name) && !dimensions.includes(nameField(name)));
  const dimension = dimensions[at] ?? "";
  const addresses = [...new Set(rows.flatMap(({ key }) => (typeof key[at] === "string" ? [key[at]] : [])))];
  const names = useCall<ExploreAnswer>(
    addresses.length === 0
      ? undefined
      : exploreQueryCall({
          ...question,
          filter: `${dimension} in (${addresses.toSorted().join(", ")})`,
          dimensions: [dimension, nameField(dimension)],
          measure: "bytes",
          limit: 1000,
          granularity: "none",
          compare: false,
        }),
    { keepsOld: true },
  );
  const found = new Map<string, string>();
  for (const { key } of names.answer?.rows ?? []) {
    const [address, name] = key;
    if (typeof name === "string" && !found.has(nameKey(dimension, address))) {
      found.set(nameKey(names.answer?.dimensions[0] ?? "", address), name);
    }
  }
  return found;
}

const nameField = (dimension: string): string => dimension.replace(addressField, "$1.subnet.name");
