import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** A process starts in 0.1 s and loads a room in up to 0.7 s, which is more than most test files take. */
const leastBundleMs = 10_000;

/** So few that loading is little, and so many that no long one is left alone at the end. A busy host changes nothing here. */
const wantedBundles = 24;

/**
 * Puts test files together that may run in one process: those of a room, up to a share of all time. They must not change what the
 * process has once: its environment, its directory, its listeners.
 *
 * @param expectedMs how long a file takes.
 * @param isAlone whether it needs a process of its own.
 * @returns the files of each process, the longest process first.
 */
export function bundleTests(
  files: readonly string[],
  expectedMs: (file: string) => number,
  isAlone: (file: string) => boolean,
): readonly string[][] {
  const wantedMs = files.reduce((sum, file) => sum + expectedMs(file), 0) / wantedBundles;
  const bundleMs = Math.max(leastBundleMs, wantedMs);
  const bundles: { readonly room: string; readonly files: string[]; ms: number }[] = [];
  // The longest first, each into the first bundle of its room that has time for it.
  for (const file of files.toSorted((a, b) => expectedMs(b) - expectedMs(a) || (a < b ? -1 : 1))) {
    const room = isAlone(file) ? file : (file.split("/")[0] ?? "");
    const ms = expectedMs(file);
    const bundle = bundles.find((one) => one.room === room && one.ms + ms <= bundleMs);
    if (bundle === undefined) bundles.push({ room, files: [file], ms });
    else {
      bundle.files.push(file);
      bundle.ms += ms;
    }
  }
  return bundles.toSorted((a, b) => b.ms - a.ms).map((bundle) => bundle.files);
}

/**
 * Writes an entry for each bundle. It loads the files and watches that the process ends.
 *
 * @param folder where the files are.
 * @param silentSeconds how long a test may take.
 * @param isLean whether `node:test` may follow less: then suites must know their tests at once.
 * @returns the file to run for each bundle, in their order.
 */
export function writeBundles(
  folder: string,
  bundles: readonly (readonly string[])[],
  silentSeconds: number,
  isLean: boolean,
): readonly string[] {
  const entries = join(folder, ".bundles");
  rmSync(entries, { recursive: true, force: true });
  mkdirSync(entries);
  return bundles.map((files, i) => {
    const [first = ""] = files;
    const name = files.length === 1 ? first.replace(/\.js$/, "").replaceAll("/", "-") : first.split("/")[0];
    const path = join(entries, `${name}-${i}.js`);
    writeFileSync(path, entryText(files, silentSeconds, isLean));
    return path;
  });
}

/** One file that cannot be loaded fails by itself. */
function entryText(files: readonly string[], silentSeconds: number, isLean: boolean): string {
  const urlOf = (name: string): string => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)).href);
  const lean = `import { loadTestRunner } from ${urlOf("load-test-runner.js")};
const runner = await loadTestRunner();
`;
  return `${isLean ? lean : ""}const { test } = await import("node:test");
const { watchTests } = await import(${urlOf("watch-tests.js")});
const files = ${JSON.stringify(files)};
const watch = watchTests(files, ${silentSeconds}, ${isLean});
for (const file of files) {
  try {
    await import("../" + file);
  } catch (error) {
    test(file + " is loaded", () => { throw error; });
  }
}
watch.loaded();
${isLean ? "runner.allAreKnown();\n" : ""}`;
}
