import type { RecordFields } from "../../record/index.ts";
import { FindingCollector } from "../definitions/map-reader.ts";
import type { Finding } from "../definitions/definitions.ts";
import { describe, isNull, MapReader } from "../definitions/map-reader.ts";
import { decodeText, parseOrReport } from "../definitions/parse-file.ts";
import type { SnmpNaming } from "../poller/record-writer.ts";

/** Words of syslog (RFC 5424). */
export const trapSeverities = [
  "emergency",
  "alert",
  "critical",
  "error",
  "warning",
  "notice",
  "info",
  "debug",
] as const;

/** The same in the words of syslog's table of severities, as NetObserv writes them. */
function severityText(severity: (typeof trapSeverities)[number], naming: SnmpNaming): string {
  if (naming === "netgloss") return severity;
  return severity === "info" ? "Informational" : `${severity.charAt(0).toUpperCase()}${severity.slice(1)}`;
}

/** What happens to the notifications that match a rule. */
export interface TrapRule {
  /** The key in its file. */
  readonly id: string;
  readonly when: TrapCondition;
  /** They become no record. */
  readonly drop: boolean;
  /** `snmp.trap.name` in place of what it was. */
  readonly name: string | undefined;
  /** `event.severity.level` */
  readonly severity: (typeof trapSeverities)[number] | undefined;
  /** `event.category.name` */
  readonly category: string | undefined;
}

/** Whether a record matches a rule. */
export type TrapCondition = (fields: RecordFields) => boolean;

/** Reads a filter. @throws an Error that says what is wrong with it. */
export type CompileCondition = (text: string) => TrapCondition;

export interface TrapRulesFile {
  /** In the order of the file. Empty where there is an error. */
  readonly rules: readonly TrapRule[];
  readonly findings: readonly Finding[];
}

/** Reads a file of rules: a mapping from names to rules, of which the first that matches a notification counts. */
export function readTrapRules(file: string, bytes: Uint8Array, compile: CompileCondition): TrapRulesFile {
  const text = decodeText(bytes);
  const collector = new FindingCollector(file, () => text);
  const root = parseOrReport("trap_rule", bytes, collector);
  const rules: TrapRule[] = [];
  if (root instanceof Map) {
    for (const [id, node] of root) {
      const reader = new MapReader(node instanceof Map ? node : new Map(), collector.for("trap_rule"), [id]);
      if (!(node instanceof Map)) reader.error([], "key", `expected a mapping, found ${describe(node)}`);
      else {
        const rule = readRule(id, reader, compile);
        if (rule !== undefined) rules.push(rule);
      }
    }
  } else if (root !== undefined && !isNull(root)) {
    const message = `expected a mapping from names to rules, found ${describe(root)}`;
    collector.addFile("trap_rule", message, 1, 1);
  }
  const hasErrors = collector.findings.some(({ severity }) => severity === "error");
  return { rules: hasErrors ? [] : rules, findings: collector.findings };
}

function readRule(id: string, reader: MapReader, compile: CompileCondition): TrapRule | undefined {
  reader.knowOnly(["when", "drop", "name", "severity", "category"]);
  const text = reader.requiredText("when");
  let when: TrapCondition | undefined;
  try {
    when = text === undefined ? undefined : compile(text);
  } catch (error) {
    reader.error(["when"], "value", `when: ${(error as Error).message}`);
  }
  const rule = {
    id,
    drop: reader.boolean("drop") ?? false,
    name: reader.text("name"),
    severity: reader.oneOf("severity", trapSeverities),
    category: reader.text("category"),
  };
  const hasEffect = rule.drop || [rule.name, rule.severity, rule.category].some((one) => one !== undefined);
  if (!hasEffect && reader.isValid)
    reader.error([], "key", "has no effect: drop, name, severity or category is missing");
  return reader.isValid && when !== undefined ? { ...rule, when } : undefined;
}

/** Applies the first rule that is true. @returns false when the record is dropped. */
export function applyTrapRules(
  rules: readonly TrapRule[],
  fields: RecordFields,
  naming: SnmpNaming = "netgloss",
): boolean {
  const rule = rules.find(({ when }) => when(fields));
  if (rule === undefined) return true;
  if (rule.drop) return false;
  if (rule.name !== undefined) fields.set("snmp.trap.name", rule.name);
  if (rule.severity !== undefined) fields.set("event.severity.level", severityText(rule.severity, naming));
  if (rule.category !== undefined) fields.set("event.category.name", rule.category);
  return true;
}
