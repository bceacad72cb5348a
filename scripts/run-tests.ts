// Runs one kind of tests from dist/: `unit` (Node alone), `system` (needs programs of the host) or `fuzz` (long).
// Further arguments keep only the files whose path contains one of them. Last line: `N passed, N failed, N skipped`.
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

const kinds = {
  unit: { matches: (path: string) => path.endsWith(".test.js") && !path.startsWith("system/"), timeout: 120_000 },
  system: { matches: (path: string) => path.endsWith(".test.js") && path.startsWith("system/"), timeout: 600_000 },
  fuzz: { matches: (path: string) => path.endsWith(".fuzz.js"), timeout: 3_600_000 },
};

const [kindName = "unit", ...filters] = process.argv.slice(2);
const kind = kinds[kindName as keyof typeof kinds];
if (kind === undefined) throw new Error(`unknown kind of tests: ${kindName}; one of ${Object.keys(kinds).join(", ")}`);

const folder = join(import.meta.dirname, "../test");
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => kind.matches(path) && (filters.length === 0 || filters.some((filter) => path.includes(filter))))
  .toSorted()
  .map((path) => join(folder, path));

const counts = { passed: 0, failed: 0, skipped: 0 };
const skips: string[] = [];
const failures: string[] = [];

const events = run({ files, concurrency: kindName === "unit" ? 2 : 1, timeout: kind.timeout });
events.on("test:pass", (data) => {
  if (data.details.type === "suite") return;
  if (data.skip === undefined) counts.passed++;
  else {
    counts.skipped++;
    skips.push(`${data.name}: ${String(data.skip)}`);
  }
});
events.on("test:fail", (data) => {
  if (data.details.type === "suite") return;
  counts.failed++;
  failures.push(`${relative(folder, data.file ?? "")}: ${data.name}`);
});
const report = events.compose(new spec());
report.pipe(process.stdout);
report.on("end", () => {
  if (files.length === 0) failures.push("no test file matched");
  for (const skip of skips) console.log(`skipped: ${skip}`);
  for (const failure of failures) console.log(`failed: ${failure}`);
  const failed = counts.failed + (files.length === 0 ? 1 : 0);
  console.log(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
  process.exitCode = failed === 0 ? 0 : 1;
});
