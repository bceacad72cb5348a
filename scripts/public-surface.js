// Writes what users see of a built tree as text files, and compares two trees by them. A change of the inside changes none of these files.
// Of a tree it uses only bin/, definitions/, docs/ and proto/. The captures that it replays are those of the tree that it stands in, for both.
//
//   node scripts/public-surface.js write DIRECTORY [TREE]   writes the files of a tree: this one, unless another is named
//   node scripts/public-surface.js compare BEFORE [AFTER]   shows what differs between two trees, or two directories that `write` has made;
//                                                           exit code 0 nothing, 1 something, 2 it could not be compared
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { writeCaptures } from "./public-surface/captures.js";
import { describeCollector } from "./public-surface/collector.js";
import { describeCommands } from "./public-surface/commands.js";
import { describeFiles } from "./public-surface/files.js";
import { describeOutputs } from "./public-surface/outputs.js";
import { createProgram } from "./public-surface/program.js";

const here = join(import.meta.dirname, "..");

/**
 * @param {string} directory where to; it must be empty or new
 * @param {string} tree a built tree
 */
async function write(directory, tree) {
  if (existsSync(directory) && readdirSync(directory).length > 0) throw new Error(`${directory} is not empty`);
  const scratch = mkdtempSync(join(tmpdir(), "netgloss-surface-"));
  try {
    const program = createProgram(tree, scratch);
    const captures = writeCaptures(here, join(scratch, "captures"));
    const put = (/** @type {string} */ path, /** @type {string} */ text) => {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), `${program.steady(text).trimEnd()}\n`);
    };
    describeFiles(tree, put);
    await describeCommands(program, tree, captures.files, put);
    await describeOutputs(program, captures.files, put);
    await describeCollector(program, tree, captures.datagrams, put);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {Promise<number>} the exit code
 */
async function compare(before, after) {
  const scratch = mkdtempSync(join(tmpdir(), "netgloss-compare-"));
  try {
    const isTree = (/** @type {string} */ path) => existsSync(join(path, "bin/netgloss.js"));
    const sides = { before: join(scratch, "before"), after: join(scratch, "after") };
    for (const [side, path] of [
      [sides.before, before],
      [sides.after, after],
    ]) {
      if (isTree(path)) await write(side, path);
      else if (existsSync(path)) spawnSync("cp", ["-r", path, side]);
      else throw new Error(`${path} does not exist`);
    }
    const { status } = spawnSync("git", ["--no-pager", "diff", "--no-index", "before", "after"], {
      cwd: scratch,
      stdio: "inherit",
    });
    return status ?? 2;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const [action, first, second = here] = process.argv.slice(2);
try {
  if (action === "write" && first !== undefined) await write(resolve(first), resolve(second));
  else if (action === "compare" && first !== undefined)
    process.exitCode = await compare(resolve(first), resolve(second));
  else throw new Error("usage: public-surface.js write DIRECTORY [TREE] | compare BEFORE [AFTER]");
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
