// Writes the *.gen.ts of the tables in definitions/: fields of records and elements of vendors.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checksumFile, writeChecksums } from "./checksums.js";

process.chdir(join(import.meta.dirname, ".."));
const files = [];

generate("definitions/fields.tsv", "src/record/fields/fields.gen.ts", (text) => [
  `export const fieldsTable = \`${text.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${")}\`;`,
]);

generate("definitions/vendor-elements.tsv", "src/flow/elements/registry/vendor-types.gen.ts", (text) => {
  const rows = new Map();
  for (const [pen, id, name, type] of rowsOf(text)) {
    rows.set(pen, [...(rows.get(pen) ?? []), `    ${JSON.stringify([Number(id), name, type])},\n`]);
  }
  return [
    'import type { VendorRow } from "./information-element.ts";',
    "",
    "/** Elements of vendors that publish no registry, by private enterprise number. */",
    "export const vendorTypes: readonly (readonly [pen: number, rows: readonly VendorRow[]])[] = [",
    ...Array.from(rows, ([pen, elements]) => `  [${pen}, [\n${elements.join("")}  ]],`),
    "];",
  ];
});

writeChecksums(join("src/record/fields", `definitions-${checksumFile}`), files);

/** Cells of the lines behind the names of the columns; lines that begin with `#` are comments. */
function rowsOf(text) {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.slice(1).map((line) => line.split("\t"));
}

function generate(source, output, linesOf) {
  const head = `// Generated from ${source} by scripts/generate-definitions.js; do not edit.`;
  writeFileSync(output, `${[head, ...linesOf(readFileSync(source, "utf8"))].join("\n")}\n`);
  files.push(source, output);
}
