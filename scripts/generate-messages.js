// Compiles src/output/kafka/assembly into src/output/kafka/gen.
import { join } from "node:path";
import { compileAssembly } from "./assembly.js";

process.chdir(join(import.meta.dirname, ".."));
compileAssembly("src/output/kafka", {
  script: "scripts/generate-messages.js",
  name: "message-code",
  constant: "messageCode",
  flags: "--initialMemory 4",
  others: ["src/output/kafka/part-layout.ts"],
});
