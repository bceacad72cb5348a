// Runs one kind of tests from dist/: `unit` (Node alone), `system` (needs programs of the host) or `fuzz` (long: those made
// for it, and the properties of the unit tests with more runs).
// Further arguments keep only the files whose path contains one of them. The slowest files are named before the last
// line, which is `N passed, N failed, N skipped`. Unit tests of a room share processes. Those that were slow the last time
// begin first, so that no long one is left alone at the end. What measures, or loads the host, runs after all others, alone.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { bundleTests, writeBundles } from "./bundle-tests.ts";

const folder = join(import.meta.dirname, "../test");
const sources = join(import.meta.dirname, "../../test");
const isSystem = (path: string): boolean => path.startsWith("system/") && path.endsWith(".test.js");
const isUnit = (path: string): boolean => !path.startsWith("system/") && path.endsWith(".test.js");
const hasProperties = (path: string): boolean => readFileSync(join(folder, path), "utf8").includes("/support/runs.js");

const kinds = {
  // More than there are processors: many wait for time-outs, sockets and threads more than they work.
  unit: {
    matches: isUnit,
    timeout: 1_200_000,
    silentSeconds: 240,
    concurrency: 2 * availableParallelism() + 1,
    isBundled: true,
  },
  // They wait for servers more than they work.
  system: {
    matches: isSystem,
    timeout: 1_200_000,
    silentSeconds: 900,
    concurrency: availableParallelism(),
    isBundled: false,
  },
  fuzz: {
    matches: (path: string): boolean => path.endsWith(".fuzz.js") || (isUnit(path) && hasProperties(path)),
    timeout: 7_200_000,
    silentSeconds: 7_200,
    concurrency: 1,
    isBundled: false,
  },
};

const [kindName = "unit", ...filters] = process.argv.slice(2);
const kind = kinds[kindName as keyof typeof kinds];
if (kind === undefined) throw new Error(`unknown kind of tests: ${kindName}; one of ${Object.keys(kinds).join(", ")}`);

const { status: built } = spawnSync(process.execPath, [join(sources, "../scripts/build-program.js")], {
  stdio: "inherit",
});
if (built !== 0) throw new Error("the program cannot be built");

if (kindName === "fuzz") process.env["NETGLOSS_FUZZ"] = "1";
// Without it, the C library takes memory of up to 32 MB from its heap once some of that size was freed: each of the many indexes that
// tests make then fills 16 MB with zeros instead of taking pages that nobody touches. Set before the processes start, and for them alone.
process.env["MALLOC_MMAP_THRESHOLD_"] ??= String(4 * 1024 * 1024);

/** Milliseconds of each file in the runs before, by its path. They are thrown away with `dist/`. */
const timesFile = join(folder, "../test-times.json");
const knownTimes = readTimes();

const wanted = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((path) => kind.matches(path) && hasSource(path))
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)));
const bundles = kind.isBundled
  ? bundleTests(wanted, expectedTime, isAlone)
  : wanted.toSorted((one, other) => expectedTime(other) - expectedTime(one)).map((path) => [path]);
const files = writeBundles(folder, bundles, kind.silentSeconds, kind.isBundled);

const counts = { passed: 0, failed: 0, skipped: 0 };
const skips: string[] = [];
const failures: string[] = [];

/** Milliseconds of the tests of each file, without the start of its process. */
const times = new Map<string, number>();
const noteTime = (data: { file?: string; nesting: number; details: { duration_ms: number } }): void => {
  if (data.file === undefined || data.nesting > 0) return;
  times.set(data.file, (times.get(data.file) ?? 0) + data.details.duration_ms);
};

const hasHostAlone = (_file: string, i: number): boolean => (bundles[i] ?? []).some(needsHostAlone);
await runFiles(
  files.filter((file, i) => !hasHostAlone(file, i)),
  kind.concurrency,
);
await runFiles(files.filter(hasHostAlone), 1);
if (files.length === 0) failures.push("no test file matched");
for (const skip of skips) console.log(`skipped: ${skip}`);
for (const failure of failures) console.log(`failed: ${failure}`);
for (const [file, ms] of [...times].toSorted(([, one], [, other]) => other - one).slice(0, 10)) {
  console.log(`slow: ${(ms / 1000).toFixed(1)} s ${relative(folder, file)}`);
}
const failed = counts.failed + (files.length === 0 ? 1 : 0);
const newTimes = Object.fromEntries([...times].map(([file, ms]) => [relative(folder, file), Math.round(ms)]));
writeFileSync(timesFile, JSON.stringify({ ...knownTimes, ...newTimes }));
console.log(`${counts.passed} passed, ${failed} failed, ${counts.skipped} skipped`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs test files, so many at a time, shows what they report and counts it. */
async function runFiles(paths: readonly string[], concurrency: number): Promise<void> {
  if (paths.length === 0) return;
  const events = run({ files: [...paths], concurrency, timeout: kind.timeout });
  events.on("test:pass", noteTime);
  events.on("test:fail", noteTime);
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
    const file = data.file ?? "";
    // Its process ended, or did not end: each of its files may be the one.
    const inBundle = bundles[files.indexOf(file)] ?? [];
    failures.push(`${inBundle.length > 0 ? inBundle.join(", ") : relative(folder, file)}: ${data.name}`);
  });
  const report = events.compose(new spec());
  report.pipe(process.stdout, { end: false });
  await once(report, "end");
}

function readTimes(): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(timesFile, "utf8")) as Record<string, number>;
  } catch {
    return {};
  }
}

/** The compiler leaves what it made of a source that is gone. */
function hasSource(path: string): boolean {
  return existsSync(sourceOf(path));
}

function sourceOf(path: string): string {
  return join(sources, path.replace(/\.js$/, ".ts"));
}

/** Whether it has a comment that says why it needs a process of its own. */
function isAlone(path: string): boolean {
  return /^\/\/ A process of its own: /m.test(readFileSync(sourceOf(path), "utf8"));
}

/** Whether it has a comment that says why nothing may work beside it. */
function needsHostAlone(path: string): boolean {
  return /^\/\/ A host of its own: /m.test(readFileSync(sourceOf(path), "utf8"));
}

/** As it took the last time; else what a comment in it says, or a guess by its length. */
function expectedTime(path: string): number {
  const said = /^\/\/ It takes (\d+) minutes\.$/m.exec(readFileSync(sourceOf(path), "utf8"))?.[1];
  return knownTimes[path] ?? (said === undefined ? statSync(join(folder, path)).size / 8 : Number(said) * 60_000);
}
