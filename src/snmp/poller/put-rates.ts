import type { RecordFields } from "../../record/index.ts";
import { fieldNames } from "../values/put-value.ts";
import type { RowChange } from "./counter-rates.ts";

/**
 * Adds the changes of counters since the previous poll: `<field>_delta`, `<field>_rate` (per second), and `snmp.rate.interval`, the
 * seconds between. Counters that give no rate are listed in `snmp.rate.refused` as `<field> <reason>`.
 */
export function putRates(fields: RecordFields, { seconds, changes }: RowChange): void {
  const refused: string[] = [];
  for (const change of changes) {
    const [field] = fieldNames(change.attribute);
    if (field === undefined || !fields.has(field)) continue;
    if ("refused" in change) {
      refused.push(`${field} ${change.refused}`);
      continue;
    }
    fields.set(`${field}_delta`, change.delta);
    fields.set(`${field}_rate`, change.perSecond);
  }
  fields.set("snmp.rate.interval", Math.round(seconds * 1000) / 1000);
  if (refused.length > 0) fields.set("snmp.rate.refused", refused);
}
