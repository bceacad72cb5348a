import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/base/report/index.ts";
import { readScopesFile, Scopes, type CollectorUdmStore, type KeyForm } from "../../src/metadata/index.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { runs } from "../support/runs.ts";
import { until } from "../support/until.ts";

const storm = join(import.meta.dirname, "../support/udm-write-storm.js");
const scopesStorm = join(import.meta.dirname, "../support/scopes-write-storm.js");

/**
 * Runs a storm of writes and kills it after this many answers and milliseconds. Answers go to a file, because a pipe may be
 * full when the program is in the middle of a line.
 *
 * @returns the lines of its answers.
 */
async function killedStorm(
  folder: string,
  path: string,
  state: string,
  round: number,
  program = storm,
): Promise<string[]> {
  const answersPath = join(folder, `answers-${round}`);
  const answers = await open(answersPath, "w");
  const child = spawn(process.execPath, [program, path, String(round), state], {
    stdio: ["ignore", answers.fd, "pipe"],
  });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise((resolve) => child.on("close", (_, name) => resolve(name)));
  const linesSoFar = async (): Promise<string[]> => (await readFile(answersPath, "utf8")).split("\n").slice(0, -1);
  await until(`answers of round ${round}`, async () => errors !== "" || (await linesSoFar()).length >= round);
  // Answers and saves alternate, so that a pause of its own for each round hits all parts of a save.
  await new Promise((resolve) => setTimeout(resolve, round % 4));
  child.kill("SIGKILL");
  const signal = await ended;
  await answers.close();
  assert.equal(errors, "", `round ${round}`);
  assert.equal(signal, "SIGKILL", `round ${round}`);
  return linesSoFar();
}

type Names = ReadonlyMap<string, string>;

/** Writes of one client follow each other, so what is there is the last answered write or the one after it. */
function check(answers: readonly string[], before: Names, found: Names, round: number): void {
  const last = new Map<string, { name: string; number: number }>();
  for (const line of answers) {
    const [key = "", name = "", at = ""] = line.split(" ");
    last.set(key, { name, number: Number(at.split("-")[1]) });
  }
  for (const [key, { name, number }] of last) {
    const there = found.get(key) ?? "-";
    const keysOfAClient = 8;
    const isLast = there === name;
    const isNext = there === "-" || there === `${round}-${number + keysOfAClient}`;
    assert.ok(isLast || isNext, `round ${round}, ${key}: ${name} was answered, ${there} is there`);
    if (there === "-" && name !== "-") assert.equal((number + keysOfAClient) % 5, 0, `round ${round}: ${key} is lost`);
  }
  for (const [key, name] of before) {
    // The first write to a key may have been saved and not answered; every fifth deletes.
    const isUntouched = found.get(key) === name || found.get(key)?.startsWith(`${round}-`) === true;
    const mayBeGone = Number(key.split(".").at(-1)) % 5 === 0;
    assert.ok(last.has(key) || isUntouched || mayBeGone, `round ${round}: ${key} of an earlier round is lost`);
  }
}

/** The history leads to what the file says: nothing answered is missing there, nothing is there that was not saved. */
async function checkHistory(store: CollectorUdmStore): Promise<void> {
  const { history } = store;
  const changes = await history.list({ limit: 1_000_000 });
  assert.equal(history.first(), 1);
  assert.equal(changes.length, history.last(), "numbers have no gaps");
  const replayed = new Map<string, string>();
  for (const change of changes.toReversed()) {
    for (const { before, after } of change.changes) {
      const key = (after ?? before)?.key.text ?? "";
      assert.equal(before?.name, replayed.get(key), `change ${change.number} of ${key}`);
      if (after === undefined) replayed.delete(key);
      else replayed.set(key, after.name);
    }
  }
  const there = new Map([...store.current().entries()].map(({ key, name }) => [key.text, name]));
  assert.deepEqual(replayed, there);
}

async function lane(rounds: readonly number[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "netgloss-"));
  const answersFolder = await mkdtemp(join(tmpdir(), "netgloss-"));
  const state = await mkdtemp(join(tmpdir(), "netgloss-"));
  try {
    const path = join(folder, "ipaddrs.yml");
    let before: Names = new Map();
    for (const round of rounds) {
      const answers = await killedStorm(answersFolder, path, state, round);
      assert.ok(answers.length >= round);
      const reader = storeOn(nodeFileIo, { path, owned: false });
      await reader.store.start();
      const found = new Map([...reader.store.current().entries()].map((entry) => [entry.key.text, entry.name]));
      await reader.store.stop();
      check(answers, before, found, round);
      before = found;
    }
    const { store, metrics } = storeOn(nodeFileIo, { path, stateDirectory: state });
    await store.start();
    await checkHistory(store);
    assert.equal(await metrics.value("netgloss_udm_history_edits_total"), 0);
    await store.stop();
    assert.deepEqual(await readdir(folder), ["ipaddrs.yml"], "what the killed ones left behind is gone");
  } finally {
    await rm(folder, { recursive: true });
    await rm(answersFolder, { recursive: true });
    await rm(state, { recursive: true });
  }
}

test("every answered write is there after a SIGKILL in a storm of writes, time and again", async () => {
  const rounds = Array.from({ length: runs(8).numRuns }, (_, i) => i + 1);
  await Promise.all([lane(rounds.filter((round) => round % 2 === 1)), lane(rounds.filter((round) => round % 2 === 0))]);
});

/** What the storm of scopes writes entries to, each a file of its own. */
const stores: readonly (readonly [name: string, file: string, keys: KeyForm])[] = [
  ["global", "ipaddrs.yml", "addresses"],
  ["acme", "scopes/acme.yml", "addresses"],
  ["names", "names.yml", "names"],
];

test("so it is of writes in a scope, of names, and of scopes themselves", async () => {
  const folder = await mkdtemp(join(tmpdir(), "netgloss-"));
  const answersFolder = await mkdtemp(join(tmpdir(), "netgloss-"));
  const state = await mkdtemp(join(tmpdir(), "netgloss-"));
  const scopesPath = join(folder, "scopes.yml");
  const definitions = async (): Promise<ReturnType<typeof readScopesFile>> =>
    readScopesFile(scopesPath, await readFile(scopesPath));
  try {
    let before: Names = new Map();
    for (let round = 1; round <= runs(4).numRuns; round++) {
      const answers = await killedStorm(answersFolder, folder, state, round, scopesStorm);
      const found = new Map<string, string>();
      for (const [name, file, keys] of stores) {
        const { store } = storeOn(nodeFileIo, { path: join(folder, file), keys, owned: false });
        await store.start();
        for (const entry of store.current().entries()) found.set(`${name}.${partsOf(entry.key.text)}`, entry.name);
        await store.stop();
      }
      for (const { name, match } of await definitions()) {
        if (name !== "acme") found.set(`scopes.${name.replaceAll("-", ".")}`, match[0]?.vrf?.[0] ?? "");
      }
      check(answers, before, found, round);
      before = found;
    }
    const reporting = { clock: systemClock, log: silentLog, metrics: createMetrics(), health: createHealth() };
    for (const [, file, keys] of stores) {
      const { store, metrics } = storeOn(nodeFileIo, { path: join(folder, file), keys, stateDirectory: state });
      await store.start();
      await checkHistory(store);
      assert.equal(await metrics.value("netgloss_udm_history_edits_total"), 0, file);
      await store.stop();
    }
    const { store } = storeOn(nodeFileIo, { path: join(folder, "ipaddrs.yml") });
    await store.start();
    const scopes = new Scopes({
      ...reporting,
      path: scopesPath,
      metadata: store,
      entries: { owned: true, refreshMs: 0 },
    });
    await scopes.start();
    await scopes.set({ name: "last", match: [], inherit: true }, "", {});
    await scopes.stop();
    await store.stop();
    assert.ok((await definitions()).some(({ name }) => name === "last"));
    const left = (await readdir(folder)).toSorted();
    assert.deepEqual(
      left,
      ["ipaddrs.yml", "names.yml", "scopes", "scopes.yml"],
      "what the killed ones left behind is gone",
    );
  } finally {
    await rm(folder, { recursive: true });
    await rm(answersFolder, { recursive: true });
    await rm(state, { recursive: true });
  }
});

/** The client and the number of a key: `10.0.1.7` and `port:udp/107` are `1.7`. */
function partsOf(key: string): string {
  const [, number] = /^port:udp\/(\d+)$/.exec(key) ?? [];
  return number === undefined ? key.split(".").slice(2).join(".") : `${Number(number[0])}.${Number(number.slice(1))}`;
}
