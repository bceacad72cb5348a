/** Rows as columns of equal width, two blanks between them. Control characters, which could steer a terminal, become `?`. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const writer = tableWriter<readonly string[]>(header, (row) => row);
  return writer.batch(rows) + writer.end();
}

/** As many rows settle the widths of the columns of a table in batches; wider ones that come later stick out. */
const measuredRows = 1_000;

/** A table whose rows arrive in batches: the first rows give the columns their widths, so that a table of any length needs little memory. */
export function tableWriter<T>(
  header: readonly string[],
  rowOf: (element: T) => readonly string[],
): { readonly batch: (elements: readonly T[]) => string; readonly end: () => string } {
  let measured: (readonly string[])[] | undefined = [header];
  let widths: readonly number[] = [];

  const render = (rows: readonly (readonly string[])[]): string => {
    const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  "));
    return lines.map((line) => `${line.trimEnd()}\n`).join("");
  };
  const settle = (): string => {
    const rows = measured ?? [];
    measured = undefined;
    widths = header.map((_, i) => rows.reduce((most, row) => Math.max(most, (row[i] ?? "").length), 0));
    return render(rows);
  };
  return {
    batch(elements) {
      const rows = elements.map((element) => rowOf(element).map((cell) => cell.replace(/\p{Cc}/gu, "?")));
      if (measured === undefined) return render(rows);
      for (const row of rows) measured.push(row);
      return measured.length > measuredRows ? settle() : "";
    },
    end: () => (measured === undefined ? "" : settle()),
  };
}
