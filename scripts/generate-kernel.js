// Numbers the memory of the kernel, then compiles src/flow/kernel/assembly, which is AssemblyScript, into src/flow/kernel/gen. The compiler is
// fetched for it: it is large, and nothing else needs it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checksumFile, writeChecksums } from "./checksums.js";
import { layoutModule } from "./kernel-layout.js";

process.chdir(join(import.meta.dirname, ".."));
const table = "src/flow/kernel/layout.tsv";
const layout = "src/flow/kernel/layout.gen.ts";
writeFileSync(
  layout,
  `// Generated from ${table} by scripts/generate-kernel.js; do not edit.\n${layoutModule(readFileSync(table, "utf8"))}`,
);
const compiler = "assemblyscript@0.28.20";
const directory = mkdtempSync(join(tmpdir(), "netgloss-kernel-"));
const binary = join(directory, "kernel.wasm");
// Warning 201: addresses of memory have 32 bits, and numbers without a type have too.
const flags =
  "-O3 --noAssert --runtime stub --importMemory --sharedMemory --initialMemory 256 --maximumMemory 65536 " +
  "--enable simd --enable threads --disableWarning 201";
execFileSync(
  "npx",
  ["--yes", "--package", compiler, "asc", "src/flow/kernel/assembly/index.ts", ...flags.split(" "), "-o", binary],
  { stdio: "inherit" },
);
const target = "src/flow/kernel/gen/line-kernel.ts";
writeFileSync(
  target,
  `// Made by scripts/generate-kernel.js from src/flow/kernel/assembly. Do not edit.\nexport const lineKernel =\n  "${readFileSync(binary, "base64")}";\n`,
);
rmSync(directory, { recursive: true });
const sources = readdirSync("src/flow/kernel/assembly").map((name) => `src/flow/kernel/assembly/${name}`);
writeChecksums(join("src/flow/kernel/gen", checksumFile), [
  ...sources,
  table,
  layout,
  "src/record/address-layout.ts",
  target,
]);
