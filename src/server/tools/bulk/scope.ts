import { keyContains, parseKey, KeyError, type Key } from "../../../base/ip/index.ts";
import { maxViolations, type UdmEntry } from "../../../metadata/index.ts";
import type { FieldViolation } from "../../error/api-error.ts";
import { quote } from "../../../base/text/index.ts";
import type { UdmScope } from "../../gen/udm/v1/tools_pb.ts";
import { badRequest } from "../../udm/store-fault.ts";
import { findInJson, type FindBytes } from "../search/find-bytes.ts";

/** Which entries a replacement is about. */
export interface Scope {
  /** They lie within this key. */
  readonly within: Key | undefined;
  /** Of each, one has to be found in the JSON of an entry. */
  readonly anyOf: readonly (readonly FindBytes[])[];
  has(entry: UdmEntry): boolean;
  /** For messages: `within 10.0.0.0/8`. */
  readonly description: string;
}

/** @throws ConnectError `invalid_argument` when not exactly one scope is given. */
export function readScope(scope: UdmScope | undefined): Scope {
  const { all = false, within = "", tag = "", metadataName = "", metadataValue = "" } = scope ?? {};
  const given = [all, within !== "", tag !== "", metadataName !== ""].filter(Boolean).length;
  if (given !== 1 || (metadataName === "" && metadataValue !== "")) {
    const description = "scope must name exactly one of all, within, tag, and metadata_name with metadata_value";
    throw badRequest([{ field: "scope", description }]);
  }
  const everything: Scope = { within: undefined, anyOf: [], has: () => true, description: "all entries" };
  if (all) return everything;
  if (within !== "") return scopeWithin(readKey(within));
  const text = tag === "" ? metadataValue : tag;
  const find = text === "" ? undefined : findInJson(text);
  const anyOf = find === undefined ? [] : [[find]];
  if (tag !== "") {
    return {
      ...everything,
      anyOf,
      has: ({ tags }) => tags.includes(tag),
      description: `entries with the tag ${quote(tag)}`,
    };
  }
  return {
    ...everything,
    anyOf,
    has: ({ metadata }) => metadata.get(metadataName) === metadataValue,
    description: `entries with the metadata ${quote(metadataName)} of ${quote(metadataValue)}`,
  };
}

/** What is wrong with a key whose entry is not in the scope. */
export function outsideOf(scope: Scope, key: string): string {
  return `the entry of ${quote(key)} is not in the scope: ${scope.description}`;
}

/** The entries that are not in the scope, at most {@link maxViolations}. */
export function scopeFaults(
  scope: Scope,
  wanted: ReadonlyMap<string, { readonly entry: UdmEntry }>,
): readonly FieldViolation[] {
  const faults: FieldViolation[] = [];
  for (const [key, { entry }] of wanted) {
    if (faults.length < maxViolations && !scope.has(entry))
      faults.push({ field: key, description: outsideOf(scope, key) });
  }
  return faults;
}

function scopeWithin(key: Key): Scope {
  return {
    within: key,
    anyOf: [],
    has: (entry) => keyContains(key, entry.key),
    description: `entries within ${key.text}`,
  };
}

function readKey(text: string): Key {
  try {
    return parseKey(text);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    throw badRequest([{ field: "scope.within", description: error.message }]);
  }
}
