import type { AnswerTable } from "./answer-table.ts";
import type { PlainValue } from "./query-engine.ts";

/** A table as CSV (RFC 4180). */
export function tableCsv({ head, lines }: AnswerTable): string {
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value: PlainValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.join(";") : String(value);
  // A spreadsheet takes a text that begins so for a formula.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
