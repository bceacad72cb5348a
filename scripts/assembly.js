// Compiles AssemblyScript to WebAssembly, as a module that holds it as text. The compiler is fetched for it: it is large, and nothing else
// needs it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checksumFile, writeChecksums } from "./checksums.js";

const compiler = "assemblyscript@0.28.20";
// Warning 201: addresses of memory have 32 bits, and numbers without a type have too.
const commonFlags = "-O3 --noAssert --runtime stub --enable simd --disableWarning 201";

/**
 * Compiles `assembly/index.ts` of a folder to `gen/NAME.ts`, and writes the checksums of both sides.
 *
 * @param {string} folder relative to the root of the repository, the working directory
 * @param {{ script: string, name: string, constant: string, flags: string, others: readonly string[] }} options `constant` holds the code
 *   in base64; `others` are further files that it is made of
 */
export function compileAssembly(folder, { script, name, constant, flags, others }) {
  const directory = mkdtempSync(join(tmpdir(), "netgloss-assembly-"));
  const binary = join(directory, "code.wasm");
  const command = `--yes --package ${compiler} asc ${folder}/assembly/index.ts ${commonFlags} ${flags} -o`;
  execFileSync("npx", [...command.split(" "), binary], { stdio: "inherit" });
  const target = `${folder}/gen/${name}.ts`;
  writeFileSync(
    target,
    `// Made by ${script} from ${folder}/assembly. Do not edit.\nexport const ${constant} =\n  "${readFileSync(binary, "base64")}";\n`,
  );
  rmSync(directory, { recursive: true });
  const sources = readdirSync(`${folder}/assembly`).map((file) => `${folder}/assembly/${file}`);
  writeChecksums(join(folder, "gen", checksumFile), [...sources, ...others, target]);
}
