import type { RecordFields } from "../../record/index.ts";
import { mapping, oneOf, optional, pairsOf, required, type Shape } from "../../base/yaml/index.ts";
import type { Finding } from "../definitions/definitions.ts";
import { anyKey, SettingsFile, textLine, tolerant, trueOrFalse } from "../definitions/settings-file.ts";
import type { SnmpNaming } from "../poller/record-writer.ts";

/** The severities by syslog (RFC 5424). */
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

/** Returns the severity in the words of syslog's table, as NetObserv writes them, or as in the rules. */
function severityText(severity: (typeof trapSeverities)[number], naming: SnmpNaming): string {
  if (naming === "netgloss") return severity;
  return severity === "info" ? "Informational" : `${severity.charAt(0).toUpperCase()}${severity.slice(1)}`;
}

/** The treatment of notifications that match a rule. */
export interface TrapRule {
  /** The key in the file. */
  readonly id: string;
  readonly when: TrapCondition;
  /** True if such notifications become no record. */
  readonly drop: boolean;
  /** The new value of `snmp.trap.name`. */
  readonly name: string | undefined;
  /** `event.severity.level` */
  readonly severity: (typeof trapSeverities)[number] | undefined;
  /** `event.category.name` */
  readonly category: string | undefined;
}

/** Reports whether a record matches a rule. */
export type TrapCondition = (fields: RecordFields) => boolean;

/** Reads a filter. @throws an Error that says what is wrong with it. */
export type CompileCondition = (text: string) => TrapCondition;

export interface TrapRulesFile {
  /** The rules in the order of the file; empty if there is an error. */
  readonly rules: readonly TrapRule[];
  readonly findings: readonly Finding[];
}

/** Returns the shape of a rule; `compile` reads its condition. */
function ruleShape(compile: CompileCondition): Shape<TrapRule> {
  const condition = textLine.to((given, at) => {
    try {
      return compile(given);
    } catch (error) {
      return at.error((error as Error).message);
    }
  });
  return mapping(
    {
      when: required(condition, "A filter over the fields of the notification's record."),
      drop: optional(trueOrFalse, "They become no record."),
      name: optional(textLine, "`snmp.trap.name` in place of what it was."),
      severity: optional(oneOf(trapSeverities), "`event.severity.level`"),
      category: optional(textLine, "`event.category.name`"),
    },
    tolerant,
  ).to(({ when, drop = false, name, severity, category }, at) => {
    if (!drop && [name, severity, category].every((one) => one === undefined))
      return at.error("has no effect: drop, name, severity or category is missing", undefined, "key");
    return { id: String(at.step), when, drop, name, severity, category };
  });
}

/** The shape of a file of rules. */
export const trapRulesShape: Shape<[string, TrapRule][]> = pairsOf(
  anyKey,
  ruleShape(() => () => true),
  {
    name: "<rule>",
  },
);

/** Reads a file of rules: a mapping from names to rules. The first rule that matches a notification counts. */
export function readTrapRules(path: string, bytes: Uint8Array, compile: CompileCondition): TrapRulesFile {
  const file = SettingsFile.read(path, bytes, false);
  const shape = ruleShape(compile);
  const rules = file.pairs("a mapping from names to rules").flatMap((pair) => shape.read(pair) ?? []);
  return { rules: file.hasErrors ? [] : rules, findings: file.findings };
}

/** Applies the first rule that matches. @returns false if the record is dropped. */
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
