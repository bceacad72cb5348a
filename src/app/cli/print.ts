import { Option, type Command } from "commander";
import { csvLine, textTable, type Terminal } from "./terminal.ts";

const outputFormats = ["text", "json", "yaml", "csv"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Adds `-o, --output`, as in all commands that print data. */
export function addOutput(command: Command): Command {
  return command.addOption(
    new Option("-o, --output <format>", "how to write it").choices([...outputFormats]).default("text"),
  );
}

/** The value of a cell; absent ones are empty. */
export type Cell = string | number | boolean | undefined | null;

/** Data that a command prints, in all its forms. */
export interface Printed {
  /** The collector's answer, for JSON and YAML. */
  readonly value: unknown;
  /** Names of the columns in CSV; a table for people has them in upper case. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Text for people, where a table is less clear. */
  readonly text?: () => string;
}

/** Writes data in a format. */
export async function print(
  { value, head, rows, text }: Printed,
  format: OutputFormat,
  { out }: Pick<Terminal, "out">,
): Promise<void> {
  switch (format) {
    case "json":
      return out(`${JSON.stringify(value, undefined, 2)}\n`);
    case "yaml":
      return out((await import("js-yaml")).dump(value, { lineWidth: -1, skipInvalid: true }));
    case "csv":
      return out([head, ...rows.map((row) => row.map(csvCell))].map((cells) => `${csvLine(cells)}\n`).join(""));
    case "text":
      return out(text?.() ?? printTable(head, rows));
  }
}

/** Returns a table for people. Control characters in names from others are shown as `?`. */
export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const upper = head.map((name) => name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toUpperCase());
  return textTable(
    upper,
    rows.map((row) => row.map((cell) => cellText(cell).replace(/\p{Cc}/gu, "?"))),
  );
}

/** Returns a time in UTC with seconds, as tables show it; empty for none. @param time milliseconds since the epoch, or RFC 3339 */
export function shownTime(time: number | string | undefined): string {
  return time === undefined ? "" : new Date(time).toISOString().replace(/\.\d+/, "");
}

const cellText = (cell: Cell): string => (cell === undefined || cell === null ? "" : String(cell));

/** Returns a cell of CSV, quoted as Explore quotes its own. Spreadsheets take some texts for formulas, and devices choose their names. */
function csvCell(cell: Cell): string {
  const text = cellText(cell);
  return typeof cell === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
