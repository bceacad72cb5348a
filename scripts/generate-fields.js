// Writes src/record/fields/fields.gen.ts, the table of fields, from definitions/fields.tsv.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
const source = "definitions/fields.tsv";
const output = "src/record/fields/fields.gen.ts";
const text = readFileSync(source, "utf8").replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
writeFileSync(
  output,
  `// Generated from ${source} by scripts/generate-fields.js; do not edit.\nexport const fieldsTable = \`${text}\`;\n`,
);
