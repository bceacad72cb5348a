import type { AnswerTable } from "./answer-table.ts";
import type { PlainValue } from "./query-engine.ts";

/** A table as CSV (RFC 4180). The head is names of fields as they are, so that programs find them. */
export function tableCsv({ head, lines }: AnswerTable): string {
  return [head.map(quoted), ...lines.map((line) => line.map(cell))].map((cells) => `${cells.join(",")}\r\n`).join("");
}

function cell(value: PlainValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? value.join(";") : String(value);
  // A spreadsheet takes a text that begins so for a formula.
  return quoted(typeof value === "number" || !/^[=+\-@\t\r]/.test(text) ? text : `'${text}`);
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
