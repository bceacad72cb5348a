/** Rows as columns of equal width, two blanks between them. Control characters, which could steer a terminal, become `?`. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replace(/\p{Cc}/gu, "?")));
  const widths = header.map((_, i) => Math.max(...cells.map((row) => (row[i] ?? "").length)));
  const lines = cells.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}
