// Fails when a generated file, or a source that one was generated from, is not as it was when the generator ran.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checksumFile, sha256 } from "./checksums.js";

process.chdir(join(import.meta.dirname, ".."));
const lists = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(checksumFile));

const problems = lists.flatMap((list) =>
  readFileSync(join("src", list), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .flatMap((line) => {
      const [hash, path] = line.split("  ");
      if (!existsSync(path)) return [`${path} is gone`];
      return sha256(path) === hash ? [] : [`${path} has changed`];
    }),
);

for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error("generated files do not match their sources: run `npm run generate` and commit the result");
  process.exit(1);
}
