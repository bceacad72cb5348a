import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { PostgresqlFleetStates } from "../../src/fleet/index.ts";
import { until } from "./until.ts";

/** The states of a new fleet, as two of its members see them. */
export interface StatesUnderTest {
  readonly sessions: readonly [string, string];
  readonly states: readonly [States, States];
}

type States = Pick<PostgresqlFleetStates, "read" | "write" | "watch">;

/** What holds for states of every fleet, in memory or in a database. */
export function runFleetStatesContract(open: () => Promise<StatesUnderTest>): void {
  test("a state is replaced by who has seen its version; its text is told where that is another than the known one", async () => {
    const { sessions, states } = await open();
    const [a, b] = states;
    const nothing = await a.read("views", undefined);
    assert.deepEqual([nothing.version, nothing.text], [undefined, undefined]);
    assert.deepEqual([...nothing.living].sort(), [...sessions].sort());
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const odd = '{"a":"\\u0000 \\u2028 é"}';
    assert.equal(await a.write("views", { after: randomUUID(), version: first, text: "of what is not there" }), false);
    assert.equal(await a.write("views", { after: undefined, version: first, text: odd }), true);
    assert.equal(await b.write("views", { after: undefined, version: second, text: "late" }), false);
    const seen = await b.read("views", undefined);
    assert.deepEqual([seen.version, seen.text], [first, odd]);
    assert.equal(await b.write("views", { after: first, version: second, text: "two" }), true);
    assert.equal(await a.write("views", { after: first, version: third, text: "overtaken" }), false);
    const known = await a.read("views", second);
    assert.deepEqual([known.version, known.text], [second, undefined]);
    const other = await a.read("reports", second);
    assert.deepEqual([other.version, other.text], [undefined, undefined], "each name has a state of its own");
  });

  test("of writers at the same time one has it; the others learn of it", async () => {
    const { states } = await open();
    const heard = [0, 0];
    const ends = states.map((each, at) => each.watch("views", () => void (heard[at] = (heard[at] ?? 0) + 1)));
    const versions = Array.from({ length: 8 }, () => randomUUID());
    const written = await Promise.all(
      versions.map((version, at) =>
        (states[at % 2] as States).write("views", { after: undefined, version, text: version }),
      ),
    );
    assert.equal(written.filter(Boolean).length, 1);
    const { version, text } = await states[0].read("views", undefined);
    assert.equal(version, versions[written.indexOf(true)]);
    assert.equal(text, version);
    await until("both are told", () => heard.every((count) => count > 0));
    for (const end of ends) end();
  });
}
