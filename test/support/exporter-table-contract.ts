import assert from "node:assert/strict";
import { test } from "node:test";
import type { SharedStateTable, StateRow } from "../../src/flow/index.ts";

/** What holds for the table of exporters of every fleet, in memory or in a database. */
export function runExporterTableContract(open: () => Promise<(member: string) => Promise<SharedStateTable>>): void {
  const minute = 60_000;
  const row = (sender: string, text: string, more: Partial<StateRow> = {}): StateRow => {
    return { sender, exporter: sender, text, ageMs: 0, silentMs: 0, clock: 1_700_000_000_123, ...more };
  };
  const textsOf = async (
    table: SharedStateTable,
    senders: readonly string[],
    maxSilentMs = minute,
  ): Promise<string[]> => (await table.find(senders, maxSilentMs)).map(({ text }) => text);

  test("what a member writes all find, by sender, those it names as a relay included", async () => {
    const tables = await open();
    const [a, b] = [await tables("a"), await tables("b")];
    const odd = 'a "text" with \\ and \u2028, {} and é, \\u0000';
    await a.write([row("10.0.0.1", odd), row("10.0.0.2", "two", { exporter: "10.9.9.9", clock: 5 })]);
    const [found] = await b.find(["10.0.0.1", "10.0.0.3"], minute);
    assert.deepEqual(
      [found?.sender, found?.exporter, found?.text, found?.clock],
      ["10.0.0.1", "10.0.0.1", odd, 1_700_000_000_123],
    );
    assert.ok(found !== undefined && found.ageMs >= 0 && found.ageMs < minute && found.silentMs < minute);
    assert.deepEqual(
      (await b.find(["10.0.0.2"], minute)).map(({ sender, exporter, clock }) => [sender, exporter, clock]),
      [["10.0.0.2", "10.9.9.9", 5]],
    );
    assert.deepEqual(await b.find(["10.9.9.9"], minute), []);
    assert.deepEqual(await b.find([], minute), []);
  });

  test("each member has rows of its own, the one that heard the exporter last first; writing again replaces", async () => {
    const tables = await open();
    const [a, b] = [await tables("a"), await tables("b")];
    await a.write([row("10.0.0.1", "of a", { silentMs: 10_000 })]);
    await b.write([row("10.0.0.1", "of b", { silentMs: 20_000, ageMs: 30_000 })]);
    assert.deepEqual(await textsOf(a, ["10.0.0.1"]), ["of a", "of b"]);
    const [, second] = await a.find(["10.0.0.1"], minute);
    assert.ok(second !== undefined && second.ageMs >= 30_000 && second.ageMs < 40_000, `${second?.ageMs}`);
    assert.ok(second.silentMs >= 20_000 && second.silentMs < 30_000, `${second.silentMs}`);
    await b.write([row("10.0.0.1", "of b again")]);
    assert.deepEqual(await textsOf(a, ["10.0.0.1"]), ["of b again", "of a"]);
  });

  test("who is silent for long is not found, and is again when it was heard; what has no row is said", async () => {
    const tables = await open();
    const a = await tables("a");
    await a.write([row("10.0.0.1", "one", { silentMs: 2 * minute })]);
    assert.deepEqual(await textsOf(a, ["10.0.0.1"]), []);
    const keys = ["10.0.0.1", "10.0.0.2"].map((sender) => ({ sender, exporter: sender, silentMs: 0 }));
    assert.deepEqual(await a.touch(keys), [{ sender: "10.0.0.2", exporter: "10.0.0.2" }]);
    assert.deepEqual(await textsOf(a, ["10.0.0.1"]), ["one"]);
    assert.deepEqual(await (await tables("b")).touch(keys.slice(0, 1)), [{ sender: "10.0.0.1", exporter: "10.0.0.1" }]);
  });

  test("a member removes its own rows; what is old is removed whoever wrote it", async () => {
    const tables = await open();
    const [a, b] = [await tables("a"), await tables("b")];
    const key = { sender: "10.0.0.1", exporter: "10.0.0.1" };
    await a.write([row("10.0.0.1", "of a"), row("10.0.0.2", "old", { silentMs: 3 * minute })]);
    await b.write([row("10.0.0.1", "of b")]);
    await b.remove([key]);
    assert.deepEqual(await textsOf(b, ["10.0.0.1"]), ["of a"]);
    assert.equal(await b.prune(2 * minute), 1);
    assert.deepEqual(await textsOf(b, ["10.0.0.1", "10.0.0.2"], 10 * minute), ["of a"]);
  });

  test("of an exporter that went round a large fleet the few that heard it last are found", async () => {
    const tables = await open();
    for (let i = 0; i < 12; i++) {
      await (await tables(`m${i}`)).write([row("10.0.0.1", `of ${i}`, { silentMs: i * 1000 })]);
    }
    const found = await textsOf(await tables("x"), ["10.0.0.1"]);
    assert.deepEqual(found, ["of 0", "of 1", "of 2", "of 3", "of 4", "of 5", "of 6", "of 7"]);
  });
}
