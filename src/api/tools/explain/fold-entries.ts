import { create } from "@bufbuild/protobuf";
import type { LayeredEntry, UdmContext, UdmEntry } from "../../../udm/index.ts";
import { ExplainedLoserSchema, type ExplainedLoser, type ExplainedOrigin } from "../../gen/udm/v1/tools_pb.ts";

/** What entries say of one field. */
export interface Claim {
  readonly origins: readonly ExplainedOrigin[];
  readonly losers: readonly ExplainedLoser[];
  /** What it says, as a value that is not used. */
  readonly loserAs: (field: string, reason: string) => ExplainedLoser;
}

export interface Fold {
  /** By name of the field. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Entries that count for nothing in this context. */
  readonly ignored: readonly ExplainedLoser[];
}

interface OpenClaim {
  readonly origins: ExplainedOrigin[];
  readonly losers: ExplainedLoser[];
  readonly first: LayeredEntry;
  readonly values: string[];
  readonly loserAs: Claim["loserAs"];
}

/**
 * Follows the rules by which entries become fields: of each field the most specific entry counts; tags are united; an address is internal
 * when any entry says so.
 *
 * @param origins of all entries that cover the address, the most specific first.
 * @param applies what the address is.
 */
export function foldEntries(
  origins: ReadonlyMap<LayeredEntry, ExplainedOrigin>,
  object: string,
  applies: UdmContext,
): Fold {
  const claims = new Map<string, OpenClaim>();
  const ignored: ExplainedLoser[] = [];

  const claim = (
    from: LayeredEntry,
    origin: ExplainedOrigin,
    field: string,
    value: string,
    isUnited: boolean,
  ): void => {
    const found = claims.get(field);
    if (found === undefined) {
      const loserAs: Claim["loserAs"] = (name, reason) => loser(name, value, origin, reason);
      claims.set(field, { origins: [origin], losers: [], first: from, values: [value], loserAs });
      return;
    }
    if (isUnited && !found.values.includes(value)) {
      found.values.push(value);
      found.origins.push(origin);
      return;
    }
    const reason = isUnited ? "a more specific entry has it already" : reasonOf(found.first, from);
    found.losers.push(loser(field, value, origin, reason));
  };

  for (const [from, origin] of origins) {
    const { entry } = from;
    const only = entry.fileOnly?.contexts;
    if (only !== undefined && !only.includes(applies)) {
      const where = only.length === 0 ? "nowhere: its contexts are not known" : `to ${only.join(" and ")} only`;
      ignored.push(loser("", "null", origin, `the entry applies ${where}`));
      continue;
    }
    for (const [field, value, isUnited] of valuesOf(entry, object)) claim(from, origin, field, value, isUnited);
  }
  return { claims, ignored };
}

function* valuesOf(
  { name, tags, vlan, internal, metadata }: UdmEntry,
  object: string,
): Iterable<readonly [field: string, value: string, isUnited: boolean]> {
  if (name !== "") yield [`${object}.ip.subnet.name`, JSON.stringify(name), false];
  for (const tag of tags) yield [`${object}.ip.subnet.tags`, JSON.stringify(tag), true];
  if (internal) yield [`${object}.isInternal`, "true", true];
  if (vlan !== 0n) yield [`${object}.vlan.tag.id`, vlan.toString(), false];
  for (const [key, value] of metadata) yield [key.startsWith(".") ? object + key : key, JSON.stringify(value), false];
}

function reasonOf(winner: LayeredEntry, other: LayeredEntry): string {
  const { key } = winner.entry;
  if (key.text !== other.entry.key.text) return `${key.text} is more specific`;
  return winner.layer === undefined
    ? "what people write comes before layers"
    : `the layer ${winner.layer} comes before ${other.layer ?? ""}`;
}

function loser(field: string, value: string, origin: ExplainedOrigin, reason: string): ExplainedLoser {
  return create(ExplainedLoserSchema, { field, value, origin, reason });
}
