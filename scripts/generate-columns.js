// Compiles src/record/columns/assembly into src/record/columns/gen.
import { join } from "node:path";
import { compileAssembly } from "./assembly.js";

process.chdir(join(import.meta.dirname, ".."));
compileAssembly("src/record/columns", {
  script: "scripts/generate-columns.js",
  name: "column-reader",
  constant: "columnReader",
  flags: "--initialMemory 16",
  others: ["src/record/columns/layout.ts"],
});
