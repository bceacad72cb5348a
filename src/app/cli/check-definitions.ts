import { createMetrics, systemClock } from "../../report/index.ts";
import { createDefinitionsLoader, definitionPathsIn, formatFinding } from "../../snmp/index.ts";
import { snmpPaths } from "../collector-parts.ts";
import type { Settings } from "../settings/index.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Judges SNMP definitions as the collector would read them, and writes what it finds.
 *
 * @param from a directory of definitions, or the settings that name theirs.
 * @returns whether they can be used.
 */
export async function checkDefinitions(from: string | Settings, terminal: Terminal): Promise<boolean> {
  const paths = typeof from === "string" ? definitionPathsIn(from) : snmpPaths(from);
  const loader = createDefinitionsLoader({ paths, metrics: createMetrics(), clock: systemClock });
  const { definitions, findings, files } = await loader.load("apply");
  for (const finding of findings) terminal.err(`${finding.severity}: ${formatFinding(finding)}\n`);
  if (definitions === undefined) return false;
  const { devices, objects } = definitions;
  terminal.out(`${files} files, ${devices.size} devices, ${objects.size} objects: no errors\n`);
  return true;
}
