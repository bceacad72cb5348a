import type { ObjectFacts } from "../facts/module-facts.ts";
import { chooseObjects } from "./choose-objects.ts";
import { nameAttributes, type NamedObject } from "./name-attributes.ts";
import { objectText } from "./object-text.ts";
import { quoted } from "./yaml-text.ts";

/** What definitions there are already, which must not be written again. */
export interface KnownDefinitions {
  /** `MIB::object`, with where it is defined. */
  readonly objects: ReadonlyMap<string, string>;
  /** OIDs that have labels. */
  readonly enums: ReadonlySet<string>;
  /** Names of fields. */
  readonly fields: ReadonlySet<string>;
  /** OIDs of notifications that have names. */
  readonly notifications: ReadonlySet<string>;
}

export interface GenerateRequest {
  /** Of all modules that are asked for. */
  readonly facts: readonly ObjectFacts[];
  /** Names, `MODULE::name` or OIDs. */
  readonly roots: readonly string[];
  readonly deviceGroup: string | undefined;
  readonly known: KnownDefinitions;
  readonly withDescriptions: boolean;
}

export interface GeneratedDefinitions {
  /** Contents by path below a directory of definitions. */
  readonly files: ReadonlyMap<string, string>;
  /** Ids of the objects. */
  readonly objects: readonly string[];
  readonly attributes: number;
  /** Objects that there are already. */
  readonly skipped: readonly string[];
}

/**
 * Definitions of the objects at and below the roots: files of objects, of their labels, an object group for each module,
 * and the device group that is asked for.
 *
 * @throws MibFault for a root that leads to nothing.
 */
export function definitionTexts(request: GenerateRequest): GeneratedDefinitions {
  const { known, facts, roots, withDescriptions } = request;
  const all = chooseObjects(facts, roots);
  const chosen = all.filter(({ id }) => !known.objects.has(id));
  const named = nameAttributes(chosen, known.fields);
  const definedObjects = new Set([...known.objects.keys(), ...chosen.map(({ id }) => id)]);
  const files = new Map<string, string>();
  const modules = [...new Set(chosen.map(({ module }) => module))];
  const labels = { integer: new Set(known.enums), bitmap: new Set(known.enums) };
  for (const module of modules) {
    const own = named.filter(({ object }) => object.module === module);
    const file = `${module.toLowerCase()}.yml`;
    const texts = own.map((one) => objectText(one, { definedObjects, withDescriptions }).join("\n"));
    files.set(`objects/${file}`, `${texts.join("\n\n")}\n`);
    for (const kind of ["integer", "bitmap"] as const) {
      const enums = labelTexts(own, kind, labels[kind]);
      if (enums.length > 0) files.set(`enums/${kind}/${file}`, `${enums.join("\n\n")}\n`);
    }
    files.set(
      `object_groups/${file}`,
      groupText(
        groupName(module),
        "objects",
        own.map(({ object }) => object.id),
      ),
    );
  }
  for (const [module, names] of notificationTexts(request))
    files.set(
      `enums/oid/${module.toLowerCase()}.yml`,
      `# Notifications of ${module}\n${snmpTrapOid}:\n${names.join("\n")}\n`,
    );
  if (request.deviceGroup !== undefined && modules.length > 0)
    files.set(`device_groups/${request.deviceGroup}.yml`, deviceGroupText(request.deviceGroup, modules));
  return {
    files,
    objects: chosen.map(({ id }) => id),
    attributes: chosen.reduce((sum, { attributes }) => sum + attributes.length, 0),
    skipped: all.flatMap(({ id }) => (known.objects.has(id) ? [`${id} (${known.objects.get(id)})`] : [])),
  };
}

/** The labels of this object are the names of notifications. */
const snmpTrapOid = ".1.3.6.1.6.3.1.1.4.1";

/** Lines by module. They are written with the objects of their module, whatever the roots are. */
function notificationTexts({ facts, known }: GenerateRequest): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>();
  for (const { module, name, oid, kind } of facts) {
    if (kind !== "notification" || known.notifications.has(oid)) continue;
    lines.set(module, [...(lines.get(module) ?? []), `  ${oid}: ${quoted(name)}`]);
  }
  return lines;
}

function groupName(module: string): string {
  return module.toLowerCase().replaceAll("-", "_");
}

function groupText(name: string, key: string, members: readonly string[]): string {
  return [`${name}:`, `  ${key}:`, ...members.map((member) => `    - ${member}`), ""].join("\n");
}

function deviceGroupText(name: string, modules: readonly string[]): string {
  const hint = [
    `# A device has it with device_groups: [auto, ${name}]. Devices have it by themselves when a file in`,
    `# autodiscover/sysoids/ leads their sysObjectID to it; then it wants the groups of \`generic\`, too.`,
  ];
  return `${hint.join("\n")}\n${groupText(name, "object_groups", modules.map(groupName))}`;
}

/** Labels by OID; each OID once. */
function labelTexts(objects: readonly NamedObject[], kind: "integer" | "bitmap", seen: Set<string>): string[] {
  const texts: string[] = [];
  for (const { attributes, index } of objects) {
    for (const { facts, chosen } of [...index, ...attributes]) {
      const labels = facts.type?.labels;
      if (chosen.labels !== kind || labels === undefined || seen.has(facts.oid)) continue;
      seen.add(facts.oid);
      // A number that stands there twice has its first label.
      const once = labels.filter(([, number], i) => labels.findIndex((other) => other[1] === number) === i);
      const lines = once.map(([label, number]) => `  ${number}: ${quoted(label)}`);
      texts.push([`# ${facts.module}::${facts.name}`, `${facts.oid}:`, ...lines].join("\n"));
    }
  }
  return texts;
}
