import { collectorFindings } from "./collector-findings.ts";
import type { Diagnosis, Severity } from "./diagnosis.ts";
import { exporterFindings, neverHeard } from "./exporter-findings.ts";
import type { Facts } from "./facts.ts";
import { outputFindings } from "./output-findings.ts";
import { sameFlows } from "./twice-findings.ts";

const bySeverity: Readonly<Record<Severity, number>> = { problem: 0, warning: 1, note: 2 };

/**
 * Why flows are missing or wrong, the worst first.
 *
 * @param address of the exporter to look at, in canonical text; left out: all of them. Findings about the collector itself are always
 * there, because they concern every exporter.
 */
export function diagnose(facts: Facts, address?: string): readonly Diagnosis[] {
  const found = [...collectorFindings(facts), ...outputFindings(facts)];
  if (facts.enabled) {
    const asked = facts.exporters.filter((exporter) => address === undefined || exporter.address === address);
    if (address !== undefined && asked.length === 0) found.push(neverHeard(address, facts));
    found.push(...asked.flatMap((exporter) => exporterFindings(exporter, facts)), ...sameFlows(facts, address));
  }
  return found.toSorted((a, b) => bySeverity[a.severity] - bySeverity[b.severity]);
}
