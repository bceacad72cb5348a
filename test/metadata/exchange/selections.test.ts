import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { startSelectProcess } from "../../../src/app/index.ts";
import { Selections, type SelectionLimits } from "../../../src/metadata/index.ts";

/** Rows by an expression; each evaluation that has ended is counted. */
function rig(limits: Partial<SelectionLimits> = {}): {
  readonly rows: (text: string, expression: string, signal?: AbortSignal) => Promise<string>;
  readonly ends: (string | number | null)[];
} {
  const ends: (string | number | null)[] = [];
  const selections = new Selections((memoryMb) => {
    const child = startSelectProcess(memoryMb);
    return child.once("exit", (code, signal) => void ends.push(code ?? signal));
  }, limits);
  return {
    ends,
    async rows(text, expression, signal) {
      let rows = "";
      for await (const piece of selections.select(text, expression, signal)) rows += piece;
      return rows;
    },
  };
}

const catastrophe = "$match(text, /^(a+)+$/)";
const longText = JSON.stringify({ text: `${"a".repeat(200)}!` });

suite("a selection", () => {
  test("gives each row as a line", async () => {
    const { rows, ends } = rig();
    assert.equal(await rows('{"a":[1,{"b":"é"}]}', "a"), '1\n{"b":"é"}\n');
    assert.equal(await rows('{"a":[1]}', "a[0]"), "1\n");
    assert.equal(await rows("[]", "[null, 1]"), "null\n1\n");
    const many = await rows("{}", "[1..20000]");
    assert.equal(many.split("\n").length, 20_001);
    assert.deepEqual(ends, [0, 0, 0, 0]);
  });

  test("that is wrong says where, and a text that is no JSON, too", async () => {
    const { rows } = rig();
    await assert.rejects(rows("[]", "a["), { field: "select", message: /^the selection fails at character 2: / });
    await assert.rejects(rows("[]", "nothing"), { field: "select", message: /gives nothing/ });
    await assert.rejects(rows("[1,]", "a"), { field: "", message: /^the text is not JSON: / });
  });

  test("is ended when it takes too long, whatever it does; the event loop is free meanwhile", async () => {
    const { rows, ends } = rig({ timeout: 500 });
    let turns = 0;
    const ticking = setInterval(() => turns++, 10);
    const refusal = { field: "select", message: "the selection did not end within 0.5 s" };
    await assert.rejects(rows(longText, catastrophe), refusal);
    await assert.rejects(rows("[]", "($f := function($x) { $f($x + 1) }; $f(1))"), refusal);
    clearInterval(ticking);
    assert.ok(turns > 3, `${turns} turns of the event loop`);
    assert.deepEqual(ends, ["SIGKILL", "SIGKILL"]);
  });

  test("that takes too much memory ends its own process alone", async () => {
    const { rows } = rig({ memoryMb: 64 });
    const refusal = { field: "select", message: /more than 65 MB of memory/ };
    // The second allocates so much at a time that V8 ends the whole process, whatever the limits of its threads are.
    for (const expression of ["[1..5000000].{'a': $}", '$uppercase($pad("x", 500000000))']) {
      await assert.rejects(rows("{}", expression), refusal, expression);
    }
  });

  test("whose rows are taken slowly waits", async () => {
    const selections = new Selections(startSelectProcess);
    let rows = "";
    for await (const piece of selections.select("{}", "[1..400000]")) {
      if (rows === "") await setTimeout(300);
      rows += piece;
    }
    assert.equal(rows.split("\n").length, 400_001);
  });

  test("that gives too many rows is refused", async () => {
    const { rows } = rig({ rowsBytes: 10_000 });
    await assert.rejects(rows("{}", "[1..1000000]"), { field: "select", message: /more than 10000 bytes of rows/ });
  });

  test("that nobody waits for any more is ended", async () => {
    const { rows, ends } = rig();
    const controller = new AbortController();
    const gone = new Error("gone");
    const running = assert.rejects(rows(longText, catastrophe, controller.signal), gone);
    const waiting = assert.rejects(rows("{}", "1", controller.signal), gone);
    controller.abort(gone);
    await Promise.all([running, waiting]);
    assert.equal(await rows("{}", "2"), "2\n");
    assert.ok(ends.length <= 2, "what waited was not begun");
  });

  test("whose process cannot be started says why", async () => {
    const selections = new Selections(() =>
      fork("none.js", [], { execPath: "/none/node", stdio: ["pipe", "pipe", "ignore", "ipc"] }),
    );
    await assert.rejects(selections.select("{}", "1").next(), {
      field: "select",
      message: /^the selection cannot be evaluated: spawn .* ENOENT/,
    });
  });

  test("waits for the one before; more than may wait are refused", async () => {
    const { rows } = rig({ mostWaiting: 1 });
    const both = [rows("{}", "1"), rows("{}", "2")];
    await assert.rejects(rows("{}", "3"), { field: "select", message: /1 other selections wait/ });
    assert.deepEqual(await Promise.all(both), ["1\n", "2\n"]);
  });
});
