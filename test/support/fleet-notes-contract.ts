import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { FleetMember, NoteAnswer, NoteRound } from "../../src/fleet/index.ts";

type Exchange = (member: FleetMember, round: NoteRound) => Promise<NoteAnswer>;

/** The notes of a new fleet with two members that live. */
export interface NotesUnderTest {
  readonly members: readonly [FleetMember, FleetMember];
  readonly exchange: Exchange;
}

const nothing = { since: 0, writes: [] };
const textsOf = ({ notes }: NoteAnswer): readonly (readonly [string, string | undefined])[] =>
  notes.map(({ key, text }) => [key, text] as const);

/** What holds for notes of every fleet, in memory or in a database. */
export function runFleetNotesContract(open: () => Promise<NotesUnderTest>): void {
  test("what a member writes all read, in the order of versions, and each once", async () => {
    const { members, exchange } = await open();
    const [a, b] = members;
    const odd = '{"a":"\\u0000 \\u2028 é"}';
    const writes = [
      { key: "z", after: 0, text: odd },
      { key: "a", after: 0, text: "two" },
    ];
    const mine = await exchange(a, { since: 0, writes });
    assert.deepEqual(textsOf(mine), [
      ["z", odd],
      ["a", "two"],
    ]);
    assert.ok(mine.isAll);
    assert.deepEqual([...mine.living].sort(), [a.session, b.session].sort());
    assert.deepEqual(await exchange(b, nothing), mine);
    const since = mine.notes.at(-1)?.version ?? 0;
    assert.deepEqual((await exchange(b, { since, writes: [] })).notes, []);
    const next = await exchange(b, { since, writes: [{ key: "b", after: 0, text: "three" }] });
    assert.deepEqual(textsOf(next), [["b", "three"]]);
    assert.ok((next.notes[0]?.version ?? 0) > since);
  });

  test("a write that was overtaken is left out, the others of its round are not", async () => {
    const { members, exchange } = await open();
    const [a, b] = members;
    const { notes } = await exchange(a, { since: 0, writes: [{ key: "one", after: 0, text: "first" }] });
    const version = notes[0]?.version ?? 0;
    await exchange(b, { since: 0, writes: [{ key: "one", after: version, text: "second" }] });
    const late = [
      { key: "one", after: version, text: "third" },
      { key: "one", after: 0, text: "fourth" },
      { key: "two", after: 7, text: "of what is not there" },
    ];
    const answers = [];
    for (const write of late) answers.push(await exchange(a, { since: 0, writes: [write] }));
    const both = await exchange(a, { since: 0, writes: [{ key: "two", after: 0, text: "new" }, ...late.slice(0, 1)] });
    for (const answer of answers) assert.deepEqual(textsOf(answer), [["one", "second"]]);
    assert.deepEqual(textsOf(both), [
      ["one", "second"],
      ["two", "new"],
    ]);
  });

  test("a note that was removed is told of, and may come again", async () => {
    const { members, exchange } = await open();
    const [a, b] = members;
    const first = await exchange(a, { since: 0, writes: [{ key: "one", after: 0, text: "first" }] });
    const since = first.notes[0]?.version ?? 0;
    await exchange(a, { since, writes: [{ key: "one", after: since, text: undefined }] });
    const gone = await exchange(b, { since, writes: [] });
    assert.deepEqual(textsOf(gone), [["one", undefined]]);
    const again = await exchange(b, {
      since: gone.notes[0]?.version ?? 0,
      writes: [{ key: "one", after: 0, text: "again" }],
    });
    assert.deepEqual(textsOf(again), [["one", "again"]]);
  });

  test("a session that lives no more writes nothing, and sees that it is not among the living", async () => {
    const { members, exchange } = await open();
    const dead = { name: "dead", session: randomUUID() };
    const answer = await exchange(dead, { since: 0, writes: [{ key: "one", after: 0, text: "first" }] });
    assert.deepEqual(answer.notes, []);
    assert.ok(!answer.living.includes(dead.session));
    assert.equal(answer.living.length, members.length);
  });

  test("of two who write the same at once one has it", async () => {
    const { members, exchange } = await open();
    const all = await Promise.all(
      members.map((member) => exchange(member, { since: 0, writes: [{ key: "one", after: 0, text: member.name }] })),
    );
    const { notes } = await exchange(members[0], nothing);
    assert.equal(notes.length, 1);
    assert.ok(all.some((answer) => textsOf(answer)[0]?.[1] === notes[0]?.text));
  });
}
