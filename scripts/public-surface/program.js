// Runs the program of a tree in an environment that is the same on every host.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** @typedef {{ code: number | null, out: string, errors: string }} Outcome */
/** @typedef {ReturnType<typeof createProgram>} Program */

/**
 * @param {string} tree
 * @param {string} scratch a directory for its files
 */
export function createProgram(tree, scratch) {
  const home = join(scratch, "home");
  mkdirSync(home);
  /** Words in place of what differs from run to run. The longest come first. */
  const words = new Map([
    [scratch, "SCRATCH"],
    [tree, "TREE"],
    [process.execPath, "NODE"],
  ]);
  const start = (/** @type {string[]} */ arguments_, /** @type {Record<string, string>} */ environment = {}) =>
    spawn(process.execPath, [join(tree, "bin/netgloss.js"), ...arguments_], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, TZ: "UTC", LANG: "C.UTF-8", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    scratch,
    start,
    /** Has a text replaced by a word from now on. */
    replace: (/** @type {string} */ text, /** @type {string} */ word) => void words.set(text, word),
    /** The text without what differs from run to run. */
    steady: (/** @type {string} */ text) => {
      let steady = text;
      for (const [from, to] of words) steady = steady.replaceAll(from, to);
      return steady
        .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (time) => (isNow(time) ? "TIME" : time))
        .replace(/\b127\.0\.0\.1:\d{4,5}\b/g, "127.0.0.1:PORT")
        .replaceAll(process.versions.node, "NODE-VERSION");
    },
    /** @returns {Promise<Outcome>} */
    run: (/** @type {string[]} */ arguments_, /** @type {Record<string, string>} */ environment = {}) =>
      new Promise((resolve, reject) => {
        const child = start(arguments_, environment);
        const deadline = setTimeout(() => child.kill("SIGKILL"), 60_000);
        let out = "";
        let errors = "";
        child.stdout.setEncoding("utf8").on("data", (text) => (out += text));
        child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
        child.on("error", reject).on("close", (code) => {
          clearTimeout(deadline);
          resolve({ code, out, errors });
        });
      }),
  };
}

/** Whether a time is of this run, not of a capture. */
function isNow(/** @type {string} */ time) {
  return Math.abs(Date.parse(time) - Date.now()) < 3_600_000;
}

/** A run as text: the command, its exit code, and what it wrote. */
export function asText(/** @type {string[]} */ arguments_, /** @type {Outcome} */ { code, out, errors }) {
  return `$ netgloss ${arguments_.join(" ")}\nexit code ${code}\n${out}${errors === "" ? "" : `--- standard error\n${errors}`}\n`;
}
