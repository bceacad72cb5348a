// Numbers the memory of the kernel, then compiles src/flow/kernel/assembly into src/flow/kernel/gen.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileAssembly } from "./assembly.js";
import { layoutModule } from "./kernel-layout.js";

process.chdir(join(import.meta.dirname, ".."));
const table = "src/flow/kernel/layout.tsv";
const layout = "src/flow/kernel/layout.gen.ts";
writeFileSync(
  layout,
  `// Generated from ${table} by scripts/generate-kernel.js; do not edit.\n${layoutModule(readFileSync(table, "utf8"))}`,
);
compileAssembly("src/flow/kernel", {
  script: "scripts/generate-kernel.js",
  name: "line-kernel",
  constant: "lineKernel",
  flags: "--importMemory --sharedMemory --initialMemory 256 --maximumMemory 65536 --enable threads",
  others: [table, layout, "src/record/address-layout.ts"],
});
