import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nodeFileIo } from "../../src/udm/index.ts";
import { storeOn } from "../support/udm-store-fixture.ts";

const storm = join(import.meta.dirname, "../support/udm-write-storm.js");

/** Runs a storm of writes and kills it after so many answers and milliseconds. @returns the lines of its answers. */
async function killedStorm(path: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [storm, path, String(round)], { stdio: ["ignore", "pipe", "pipe"] });
  const deadline = setTimeout(() => child.kill("SIGKILL"), 30_000);
  let output = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    // Answers and saves alternate, so that a pause of its own for each round hits all parts of a save.
    if (output.split("\n").length > round * 3) setTimeout(() => child.kill("SIGKILL"), round % 4);
  });
  const signal = await new Promise((resolve) => child.on("close", (_, name) => resolve(name)));
  clearTimeout(deadline);
  assert.equal(errors, "");
  assert.equal(signal, "SIGKILL");
  return output.split("\n").slice(0, -1);
}

/** Writes of one client follow each other, so what is there is the last answered write or the one after it. */
function check(answers: readonly string[], found: ReadonlyMap<string, string>, round: number): void {
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
}

async function lane(rounds: readonly number[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "netgloss-"));
  try {
    const path = join(folder, "ipaddrs.yml");
    for (const round of rounds) {
      const answers = await killedStorm(path, round);
      assert.ok(answers.length >= round * 3 - 1);
      const reader = storeOn(nodeFileIo, { path, owned: false });
      await reader.store.start();
      const found = new Map([...reader.store.current().entries()].map((entry) => [entry.key.text, entry.name]));
      await reader.store.stop();
      check(answers, found, round);
    }
    const { store } = storeOn(nodeFileIo, { path });
    await store.start();
    await store.stop();
    assert.deepEqual(await readdir(folder), ["ipaddrs.yml"], "what the killed ones left behind is gone");
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("every answered write is there after a SIGKILL in a storm of writes, twenty times", async () => {
  const rounds = Array.from({ length: 20 }, (_, i) => i + 1);
  await Promise.all([lane(rounds.filter((round) => round % 2 === 1)), lane(rounds.filter((round) => round % 2 === 0))]);
});
