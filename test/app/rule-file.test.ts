import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ConnectError } from "@connectrpc/connect";
import { RuleFile, type CheckedRules } from "../../src/app/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import type { FileIo } from "../../src/base/file/index.ts";
import type { RuleWriter } from "../../src/server/index.ts";
import { faultFileIo, type FaultKind } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";

const before = "# of the house\n\n- name: a   # first\n  when: x\n\n# second\n- name: b\n  when: y\n";
const path = "/memory/rules.yml";

/** A rule must not say `bad`; one that says `fire` is for operators. */
function check(text: string): CheckedRules {
  const at = text.split("\n").findIndex((line) => line.includes("bad"));
  if (at >= 0) return { faults: [{ line: at + 1, column: 5, message: "is bad" }], guarded: new Map() };
  const guarded = [...text.matchAll(/^- name: (\w+)(?:(?!^- )[^])*fire/gm)].map(
    ([, name = ""]) => [name, `${name} fires`] as const,
  );
  return { faults: [], guarded: new Map(guarded) };
}

interface Rig {
  readonly file: RuleFile;
  readonly io: MemoryFileIo;
  readonly text: () => string | undefined;
  readonly applied: () => number;
}

function rigOf(
  io = memoryFileIo(),
  seam: FileIo = io,
  hasState = true,
  other: Partial<ConstructorParameters<typeof RuleFile>[0]> = {},
): Rig {
  let applied = 0;
  const file = new RuleFile({
    kind: "watch",
    path,
    stateDirectory: hasState ? io.folder : undefined,
    key: undefined,
    check,
    apply: async () => void applied++,
    test: async (text, name) => ({ untried: `${name} of ${text.length}` }),
    io: seam,
    log: silentLog,
    metrics: createMetrics(),
    clock: { now: () => 1_800_000_000_000, monotonic: () => 0 },
    ...other,
  });
  return { file, io, text: () => io.text(path), applied: () => applied };
}

function writer(given: Partial<RuleWriter> = {}): RuleWriter {
  return { method: "SetRule", user: "alice", role: "editor", revision: "", isTrial: false, ...given };
}
const put = (text: string, name = "", beforeOf = ""): Parameters<RuleFile["set"]>[0] => ({
  text,
  name,
  before: beforeOf,
});
const refused = (code: RegExp, message: RegExp) => (error: unknown) => {
  const { message: said } = error as ConnectError;
  assert.match(said, code);
  assert.match(said, message);
  return true;
};

describe("a file of rules that the API changes", () => {
  test("changes one rule, keeps all else, and notes what it did", async () => {
    const rig = rigOf();
    rig.io.put(path, before);
    const { revision } = await rig.file.list();
    const set = await rig.file.set(put("name: b\nwhen: z # new"), writer({ revision }));
    assert.equal(rig.text(), before.replace("when: y", "when: z # new"));
    assert.equal(set.change, 1);
    assert.equal(rig.applied(), 1);
    assert.notEqual(set.revision, revision);
    assert.equal((await rig.file.list()).revision, set.revision);
    await rig.file.move("b", "a", writer({ method: "MoveRule" }));
    await rig.file.remove("a", writer({ method: "DeleteRule", user: "bob" }));
    assert.equal(rig.text(), "# of the house\n\n# second\n- name: b\n  when: z # new\n");
    const changes = await rig.file.changes(0, "", 10);
    assert.deepEqual(
      changes.map(({ number, method, author, before: was, after }) => [number, method, author, was?.name, after?.name]),
      [
        [3, "DeleteRule", "bob", "a", undefined],
        [2, "MoveRule", "alice", "b", "b"],
        [1, "SetRule", "alice", "b", "b"],
      ],
    );
    assert.deepEqual(
      (await rig.file.changes(3, "b", 1)).map(({ number }) => number),
      [2],
    );
    // Back again, one after the other.
    for (const number of [3, 2, 1]) await rig.file.undo(number, writer({ method: "UndoRuleChange" }));
    assert.deepEqual(
      (await rig.file.list()).rules.map(({ name, text }) => [name, text]),
      [
        ["a", "name: a   # first\nwhen: x"],
        ["b", "# second\nname: b\nwhen: y"],
      ],
    );
    await assert.rejects(rig.file.undo(1, writer()), refused(/failed_precondition/, /rule "b" was changed since/));
    await assert.rejects(rig.file.undo(99, writer()), refused(/not_found/, /change 99 is not kept/));
  });

  test("a byte order mark before the rules changes nothing by itself, and goes with the next change", async () => {
    const rig = rigOf();
    rig.io.put(path, `\uFEFF${before}`);
    assert.equal((await rig.file.set(put("name: b\nwhen: y"), writer())).change, 0);
    assert.equal(rig.text(), `\uFEFF${before}`);
    await rig.file.set(put("name: b\nwhen: z"), writer());
    assert.equal(rig.text(), before.replace("when: y", "when: z"));
  });

  test("of two writers the second one is told, and an edit by hand stays", async () => {
    const rig = rigOf();
    rig.io.put(path, before);
    const { revision } = await rig.file.list();
    await rig.file.set(put("name: c\nwhen: z"), writer({ revision }));
    await assert.rejects(
      rig.file.remove("a", writer({ revision })),
      refused(/failed_precondition/, /somebody else has changed the file/),
    );
    rig.io.put(path, `${rig.text()}- name: hand # by hand\n`);
    await rig.file.set(put("name: d", "", "a"), writer());
    assert.deepEqual(
      (await rig.file.list()).rules.map(({ name }) => name),
      ["d", "a", "b", "c", "hand"],
    );
    assert.match(rig.text() ?? "", /# by hand/);
    // At once, they follow one another.
    await Promise.all([
      rig.file.remove("a", writer()),
      rig.file.remove("b", writer()),
      rig.file.set(put("name: e"), writer()),
    ]);
    assert.deepEqual(
      (await rig.file.list()).rules.map(({ name }) => name),
      ["d", "c", "hand", "e"],
    );
    assert.equal((await rig.file.changes(0, "", 99)).length, 5);
  });

  test("an error names the field and the place, and nothing changes", async () => {
    const rig = rigOf();
    rig.io.put(path, before);
    const cases: readonly (readonly [Promise<unknown>, RegExp, RegExp])[] = [
      [rig.file.set(put("name: b\nwhen: bad"), writer()), /invalid_argument/, /text: 2:3: is bad/],
      [rig.file.set(put("name: b\n  when: ["), writer()), /invalid_argument/, /2:\d+: /],
      [rig.file.set(put("- name: b"), writer()), /invalid_argument/, /without a dash/],
      [rig.file.set(put("when: b"), writer()), /invalid_argument/, /one rule with a name/],
      [rig.file.set(put("name: c", "bb"), writer()), /not_found/, /no rule "bb", did you mean "b"/],
      [rig.file.set(put("name: c", "", "bb"), writer()), /invalid_argument/, /no rule "bb"/],
      [rig.file.set(put(`name: c\nwhen: ${"x".repeat(70_000)}`), writer()), /invalid_argument/, /at most/],
      [rig.file.remove("x", writer()), /not_found/, /no rule "x"/],
      [rig.file.move("a", "a", writer()), /invalid_argument/, /before itself/],
      [rig.file.set(put("name: c"), writer({ revision: "0" })), /failed_precondition/, /its revision is/],
    ];
    for (const [work, code, message] of cases) await assert.rejects(work, refused(code, message));
    await rig.file.set(put("name: c"), writer({ isTrial: true }));
    assert.equal(rig.text(), before);
    assert.deepEqual(await rig.file.changes(0, "", 9), []);
    rig.io.put(path, "[{name: a}]\n");
    await assert.rejects(
      rig.file.set(put("name: c"), writer()),
      refused(/failed_precondition/, /rules.yml:1:2: each item/),
    );
    rig.io.put(path, `${before}- name: c\n  when: bad\n`);
    assert.match((await rig.file.list()).fault, /^rules.yml:10:5: is bad$/);
    await assert.rejects(
      rig.file.set(put("name: d"), writer()),
      refused(/invalid_argument/, /file: rules.yml:10:5: is bad/),
    );
    await rig.file.remove("c", writer({ role: "operator" }));
    assert.equal(rig.text(), before);
  });

  test("what is for operators is so before the change and after it, and when it is undone", async () => {
    const rig = rigOf();
    rig.io.put(path, before);
    const denied = refused(/permission_denied/, /fires: this needs the role operator/);
    await assert.rejects(rig.file.set(put("name: b\nact: fire"), writer()), denied);
    await rig.file.set(put("name: b\nact: fire"), writer({ role: "operator" }));
    await assert.rejects(rig.file.set(put("name: b\nwhen: y"), writer()), denied);
    await assert.rejects(rig.file.set(put("name: other", "b"), writer()), denied);
    await assert.rejects(rig.file.remove("b", writer()), denied);
    await assert.rejects(rig.file.move("b", "a", writer()), denied);
    await assert.rejects(rig.file.undo(1, writer()), denied);
    await rig.file.set(put("name: a\nwhen: z"), writer());
    await rig.file.remove("b", writer({ role: "admin" }));
    await assert.rejects(rig.file.undo(3, writer()), denied);
    await rig.file.undo(3, writer({ role: "operator" }));
    // Where nobody knows what a rule does, it is changed by operators.
    rig.io.put(path, "- name: a\n  when: bad\n- name: b\n");
    await assert.rejects(rig.file.remove("a", writer()), refused(/permission_denied/, /the file has faults/));
  });

  test("begins without a file, and without a place for changes notes none", async () => {
    const io = memoryFileIo();
    const rig = rigOf(io, io, false);
    assert.deepEqual((await rig.file.list()).rules, []);
    assert.equal((await rig.file.set(put("name: a\nwhen: x"), writer())).change, 0);
    assert.equal(rig.text(), "- name: a\n  when: x\n");
    await rig.file.remove("a", writer());
    assert.equal(rig.text(), "[]\n");
    assert.deepEqual(await rig.file.changes(0, "", 9), []);
    assert.equal(
      (await rig.file.test({ text: "name: q", name: "", from: "", to: "" }, AbortSignal.timeout(1000))).untried,
      "q of 10",
    );
  });

  test("a text is read once, however often its rules are listed", async () => {
    let reads = 0;
    const counted = (text: string): CheckedRules => (reads++, check(text));
    const rig = rigOf(memoryFileIo(), undefined, true, { check: counted });
    rig.io.put(path, before);
    for (let i = 0; i < 3; i++) assert.equal((await rig.file.list()).rules.length, 2);
    assert.equal(reads, 1);
    await rig.file.set(put("name: c"), writer({ role: "operator" }));
    await rig.file.list();
    assert.equal(reads, 2);
    rig.io.put(path, before);
    assert.equal((await rig.file.list()).rules.length, 2);
    assert.equal(reads, 3);
  });

  for (const kind of ["watch", "enrich"] as const)
    test(`a trial of a rule of ${kind} reads ${kind === "watch" ? "that rule alone" : "all: each sees what others gave"}`, async () => {
      const read: string[] = [];
      const noted = (text: string): CheckedRules => (read.push(text), check(text));
      const rig = rigOf(memoryFileIo(), undefined, true, { check: noted, kind });
      rig.io.put(path, `${before}- name: c\n  when: x\n`);
      const trial = (text: string, name: string) =>
        rig.file.test({ text, name, from: "", to: "" }, AbortSignal.timeout(10_000));
      assert.match((await trial("name: q\nwhen: z", "")).untried ?? "", /^q of/);
      assert.match((await trial("name: q\nwhen: z", "b")).untried ?? "", /^q of/);
      assert.match((await trial("", "b")).untried ?? "", /^b of/);
      const others = ["name: a", "name: c"].filter((other) => read.some((text) => text.includes(other)));
      assert.deepEqual(others, kind === "watch" ? [] : ["name: a", "name: c"]);
      assert.ok(read.every((text) => text.startsWith("# of the house\n\n")));
      await assert.rejects(trial("name: q\nwhen: bad", ""), refused(/invalid_argument/, /text: 2:3: is bad/));
      await assert.rejects(trial("name: q", "bb"), refused(/not_found/, /no rule "bb"/));
    });

  test("trials take a tenth of the time, and few may wait", async () => {
    let now = 0;
    let reads = 0;
    const slow = (text: string): CheckedRules => ((now += 60_000), reads++, check(text));
    const clock = { now: () => 1_800_000_000_000, monotonic: () => now };
    const rig = rigOf(memoryFileIo(), undefined, true, { check: slow, clock });
    rig.io.put(path, before);
    const given = new AbortController();
    const trial = (text: string) => rig.file.test({ text, name: "", from: "", to: "" }, given.signal);
    assert.match((await trial("name: q")).untried ?? "", /^q of/);
    const others = Array.from({ length: 8 }, (_, i) => trial(`name: q${i}`));
    await assert.rejects(trial("name: r"), refused(/resource_exhausted/, /too many/));
    given.abort();
    for (const each of await Promise.allSettled(others)) assert.equal(each.status, "rejected");
    assert.equal(reads, 1);
    await assert.rejects(trial("name: r"), /aborted/);
  });

  test("who does not read the rules holds up no other change", async () => {
    const hung = new Promise<void>(() => {});
    const rig = rigOf(memoryFileIo(), undefined, true, { apply: () => hung, applyMs: 10 });
    for (const name of ["a", "b"])
      await assert.rejects(
        rig.file.set(put(`name: ${name}`), writer()),
        refused(/deadline_exceeded/, /is changed, but/),
      );
    assert.equal(rig.text(), "- name: a\n- name: b\n");
    assert.equal((await rig.file.changes(0, "", 9)).length, 2);
  });

  test("a change log does not grow over some megabytes: of long rules fewer changes are kept", async () => {
    const rig = rigOf();
    rig.io.put(path, before);
    const say = "x".repeat(65_000);
    for (let i = 1; i <= 40; i++) await rig.file.set(put(`name: long\nsay: ${say}${i}`), writer());
    const numbers = (await rig.file.changes(0, "", 1000)).map(({ number }) => number);
    assert.equal(numbers.length, 32);
    assert.deepEqual([numbers.at(0), numbers.at(-1)], [40, 9]);
    await rig.file.undo(40, writer());
    assert.match(rig.text() ?? "", /x39\n/);
  });

  test("a fault at any call of the disk changes nothing, or the change is whole and noted", async () => {
    let outcomes = "";
    for (const kind of ["before", "after"] satisfies FaultKind[]) {
      for (let call = 1; ; call++) {
        const io = memoryFileIo();
        const faulty = faultFileIo(io);
        io.put(path, before);
        const rig = rigOf(io, faulty);
        await rig.file.set(put("name: c\nwhen: z"), writer());
        const was = rig.text();
        faulty.arm({ call, kind, code: "EIO" });
        const work = rig.file.set(put("name: c\nwhen: other"), writer());
        const isDone = await work.then(
          () => true,
          (error: unknown) => {
            assert.match((error as Error).message, /unavailable/, String(call));
            return false;
          },
        );
        const isOver = faulty.calls().length < call;
        faulty.arm(undefined);
        const now = rig.text();
        const expected = was?.replace("when: z", "when: other");
        if (isDone) assert.equal(now, expected, `${kind} ${call}`);
        else assert.ok(now === was || now === expected, `${kind} ${call}`);
        const numbers = (await rig.file.changes(0, "", 9)).map(({ number }) => number);
        assert.deepEqual(numbers, now === was ? [1] : [2, 1], `${kind} ${call}`);
        outcomes += isDone ? "+" : "-";
        await rig.file.set(put("name: d"), writer());
        if (isOver) break;
      }
    }
    assert.match(outcomes, /-.*\+/);
  });
});
