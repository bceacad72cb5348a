import { createHash } from "node:crypto";
import { DefinitionSet, type LoadedFile, type Placed } from "./definition-set.ts";
import { kinds, type Definitions, type Kind } from "./definitions.ts";
import { compareFindings, type Finding } from "./finding.ts";
import { meaningHash } from "./meaning-hash.ts";
import type { Pacer } from "./pacer.ts";
import { joinDefaults, resolveDevices } from "./resolve-devices.ts";
import { resolveObjects } from "./resolve-objects.ts";

/** The definitions and all that is wrong with them, by place. */
export interface Resolved {
  readonly definitions: Definitions;
  readonly findings: readonly Finding[];
}

/**
 * Joins the definitions of all files: fills in defaults, follows references, reports the ones that lead nowhere. What is
 * wrong is left out, so the result can be run whatever the findings.
 */
export async function resolveDefinitions(
  files: readonly LoadedFile[],
  listed: readonly Finding[],
  pacer: Pacer,
): Promise<Resolved> {
  const set = new DefinitionSet();
  set.addFindings(listed);
  for (const file of files) {
    if (pacer.isDue()) await pacer.rest();
    set.addFile(file);
  }
  const enums = {
    integer: draftsOf(set, "enum_integer"),
    bitmap: draftsOf(set, "enum_bitmap"),
    oid: draftsOf(set, "enum_oid"),
  };
  const objectTypes = draftsOf(set, "object_type");
  const defaults = joinDefaults(set, layersOf(files));
  const objects = await resolveObjects(set, enums, objectTypes, pacer);
  const objectGroups = members(set, "object_group", "object", ["objects"]);
  if (pacer.isDue()) await pacer.rest();
  const deviceGroups = members(set, "device_group", "object_group", ["object_groups"]);
  const sysoids = members(set, "sysoid", "device_group", []);
  const devices = await resolveDevices(set, defaults, objectTypes, pacer);

  const hashes = Object.fromEntries(kinds.map((kind) => [kind, hashesOf(set, kind)])) as Record<
    Kind,
    Map<string, string>
  >;
  hashes.device_default = new Map();
  hashes.device = new Map();
  for (const [id, device] of devices) {
    if (pacer.isDue()) await pacer.rest();
    hashes.device.set(id, meaningHash(device));
  }
  const findings = (await set.findings(pacer)).sort(compareFindings);
  const definitions: Definitions = {
    revision: await revisionOf(hashes, pacer),
    devices,
    deviceGroups,
    objectGroups,
    objects,
    enums,
    sysoids,
    identities: draftsOf(set, "identity"),
    objectTypes,
    warnings: findings.filter((finding) => finding.severity === "warning"),
    hashes,
  };
  return { definitions, findings };
}

function draftsOf<K extends "enum_integer" | "enum_bitmap" | "enum_oid" | "identity" | "object_type">(
  set: DefinitionSet,
  kind: K,
): Map<string, Placed<K>["draft"]> {
  return new Map([...set.of(kind)].map(([id, placed]) => [id, placed.draft]));
}

/** All defaults, not only the last: each sets what it sets. */
function layersOf(files: readonly LoadedFile[]): Placed<"device_default">[] {
  return files
    .filter((file): file is LoadedFile<"device_default"> => file.kind === "device_default")
    .flatMap((file) =>
      file.parsed.entries.flatMap((entry) =>
        entry.draft === undefined ? [] : [{ ...entry, draft: entry.draft, file }],
      ),
    );
}

/** The members of groups that exist, sorted. */
function members(
  set: DefinitionSet,
  kind: "object_group" | "device_group" | "sysoid",
  of: Kind,
  path: readonly string[],
): Map<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>();
  const label = of.replace("_", " ");
  for (const [id, placed] of set.of(kind)) {
    const existing = placed.draft.filter((member, i) => set.refer(placed, "error", [...path, i], of, member, label));
    groups.set(id, [...new Set(existing)].sort());
  }
  return groups;
}

/** Of what each definition says by itself: whether what it refers to exists is another's meaning. */
function hashesOf(set: DefinitionSet, kind: Kind): Map<string, string> {
  const isList = kind === "object_group" || kind === "device_group" || kind === "sysoid";
  return new Map(
    [...set.of(kind)].map(([id, placed]) => [
      id,
      isList ? meaningHash([...new Set(placed.draft as readonly string[])].sort()) : placed.hash,
    ]),
  );
}

/** Of all lines in their order. No kind's lines stand among those of another, so that each kind can be sorted by itself. */
async function revisionOf(hashes: Readonly<Record<Kind, ReadonlyMap<string, string>>>, pacer: Pacer): Promise<string> {
  const sum = createHash("sha256");
  for (const kind of kinds.toSorted((a, b) => (`${a} ` < `${b} ` ? -1 : 1))) {
    if (pacer.isDue()) await pacer.rest();
    const lines = Array.from(hashes[kind], ([id, value]) => `${kind} ${id} ${value}\n`);
    sum.update(lines.sort().join(""));
  }
  return sum.digest("hex").slice(0, 16);
}
