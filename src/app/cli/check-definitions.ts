import { statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { createMetrics, systemClock } from "../../base/report/index.ts";
import {
  DefinitionsLoader,
  definitionPathsIn,
  formatFinding,
  pollIntervalMs,
  type DefinitionPaths,
  type Definitions,
} from "../../snmp/index.ts";
import { snmpPaths } from "../parts/snmp-parts.ts";
import { packagePath } from "../package-root.ts";
import type { Settings } from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Checks SNMP definitions as the collector would read them, and writes the findings.
 *
 * @param from a directory of definitions, or the settings that name their directories.
 * @returns whether they can be used.
 */
export async function checkDefinitions(
  from: string | Settings,
  terminal: Pick<Terminal, "out" | "err">,
): Promise<boolean> {
  const paths = typeof from === "string" ? pathsToCheck(from) : snmpPaths(from);
  if (paths === undefined) {
    const expected = Object.values(folders).join("/, ");
    terminal.err(
      `error: ${typeof from === "string" ? from : ""}: no directory of definitions: it has none of ${expected}/, and is none of them\n`,
    );
    return false;
  }
  const loader = new DefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
  const { definitions, findings, files } = await loader.load("apply");
  for (const finding of findings) terminal.err(`${finding.severity}: ${formatFinding(finding)}\n`);
  if (definitions === undefined) return false;
  if (typeof from !== "string") for (const warning of takeOverWarnings(definitions, from)) terminal.err(`${warning}\n`);
  const { devices, objects } = definitions;
  if (typeof from !== "string" && devices.size === 0 && from.SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH === "") {
    terminal.err(
      `warning: SVC_INPUT_SNMP_ENABLE is true, but there is no device to poll in ${paths.devices.join(", ")}, and SVC_INPUT_SNMP_DISCOVERY_NETWORKS_PATH names no networks\n`,
    );
  }
  terminal.out(`${files} files, ${devices.size} devices, ${objects.size} objects: no errors\n`);
  return true;
}

/** Warns, in one line, of fleet devices that may be missed for longer than two intervals when their collector dies. */
function takeOverWarnings(definitions: Definitions, settings: Settings): string[] {
  if (settings.SVC_FLEET_NAME === "" || !settings.SVC_FLEET_SNMP_ENABLE) return [];
  const { SVC_FLEET_LEASE_SECONDS: lease } = settings;
  const types = new Set([...definitions.objects.values()].map(({ type }) => type));
  const late = [...definitions.devices.values()].flatMap((device) => {
    const intervals = [...types].map((type) => pollIntervalMs(definitions, device, type) / 1000);
    const shortest = Math.min(...intervals);
    return shortest < 2 * lease ? [{ id: device.id, shortest }] : [];
  });
  const [first] = late.toSorted((a, b) => a.shortest - b.shortest);
  if (first === undefined) return [];
  const more = late.length === 1 ? "" : ` and ${late.length - 1} more`;
  return [
    `warning: device ${first.id}${more}: polled every ${first.shortest} s, less than twice SVC_FLEET_LEASE_SECONDS (${lease}): when its collector dies, it may be missed for longer than two intervals`,
  ];
}

/** The folder of each kind. */
const folders: { readonly [Kind in keyof DefinitionPaths]: string } = {
  devices: "devices",
  deviceGroups: "device_groups",
  objectGroups: "object_groups",
  objects: "objects",
  defaults: "defaults",
  autodiscover: "autodiscover",
  enums: "enums",
};

/**
 * Returns the definitions to check for a directory. A directory with all kinds stands for itself. One with some of them, or a folder
 * of one kind, is checked together with the definitions of the program, as it is used.
 *
 * @returns undefined for any other directory.
 */
function pathsToCheck(directory: string): DefinitionPaths | undefined {
  const all = definitionPathsIn(directory);
  const program = definitionPathsIn(packagePath("definitions"));
  const kinds = Object.keys(folders) as (keyof DefinitionPaths)[];
  const present = kinds.filter((kind) => all[kind].every(isDirectory));
  if (present.length === kinds.length) return all;
  const own = present.length > 0 ? present : kinds.filter((kind) => folders[kind] === basename(resolve(directory)));
  if (own.length === 0 || !isDirectory(directory)) return undefined;
  const added = own.map((kind) => [kind, [...program[kind], ...(present.length > 0 ? all[kind] : [directory])]]);
  return { ...program, ...(Object.fromEntries(added) as Partial<DefinitionPaths>) };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
