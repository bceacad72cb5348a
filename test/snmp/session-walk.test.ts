import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  compareOids,
  Repetitions,
  errorStatus,
  formatOid,
  oidStartsWith,
  walk,
  type Credential,
  type Oid,
  type Session,
  type VarBind,
  type WalkOptions,
  type WalkSummary,
} from "../../src/snmp/index.ts";
import { createTable, integer, octets, oidOf, type AgentTable } from "../support/snmp-agent/index.ts";
import {
  communityCredential,
  createSessionFixture,
  impatient,
  smallTable,
  usmUser,
} from "../support/snmp-session-fixture.ts";
import { runs } from "../support/runs.ts";

const ifIndex = oidOf("1.3.6.1.2.1.2.2.1.1");
const ifDescr = oidOf("1.3.6.1.2.1.2.2.1.2");
const ifSpeed = oidOf("1.3.6.1.2.1.2.2.1.5");
const interfaces = [ifIndex, ifDescr, ifSpeed];

interface Walked extends WalkSummary {
  /** Identifiers read, by root. */
  readonly oids: readonly (readonly string[])[];
}

async function walkAll(session: Session, roots: readonly Oid[], options?: WalkOptions): Promise<Walked> {
  const oids = roots.map((): string[] => []);
  const deliver = (root: number, varbinds: readonly VarBind[]): void => {
    assert.ok(varbinds.length > 0);
    for (const { oid } of varbinds) oids[root]?.push(formatOid(oid));
  };
  return { oids, ...(await walk(session, roots, deliver, options)) };
}

/** What a walk of the table gives, without any requests. */
function expected(table: AgentTable, root: Oid): string[] {
  return table.rows.filter(({ oid }) => oidStartsWith(oid, root) && oid !== root).map(({ oid }) => formatOid(oid));
}

/** One column of this many rows below 1.3.6.1.9. */
const column = oidOf("1.3.6.1.9");
const longTable = (rows: number): AgentTable =>
  createTable(Array.from({ length: rows }, (_, i) => ({ oid: [...column, i + 1], value: integer(i) })));

for (const credential of [{ version: "1", community: "public" } as const, communityCredential, usmUser]) {
  test(`version ${credential.version}: columns are read to their end and marked complete`, async () => {
    const { open, client } = createSessionFixture();
    const walked = await walkAll(open({ credential }), interfaces);
    assert.deepEqual(
      walked.oids,
      interfaces.map((root) => expected(smallTable, root)),
    );
    assert.deepEqual(walked.ends, ["end", "end", "end"]);
    assert.equal(walked.isComplete, true);
    assert.equal(walked.detail, undefined);
    client.close();
  });
}

test("the last object of the view, an empty root, a scalar and no root at all", async () => {
  const { open, client } = createSessionFixture();
  const last = oidOf("1.3.6.1.2.1.31.1.1.1.6");
  const roots = [last, oidOf("1.3.6.1.2.1.99"), oidOf("1.3.6.1.2.1.1.5"), oidOf("1.3.6.1.2.1.25")];
  for (const version of ["1", "2c"] as const) {
    const walked = await walkAll(open({ credential: { version, community: "public" } }), roots);
    assert.equal(walked.isComplete, true);
    assert.deepEqual(
      walked.oids.map(({ length }) => length),
      version === "1" ? [0, 0, 1, 0] : [1, 0, 1, 0],
    );
  }
  assert.deepEqual(await walkAll(open(), []), {
    oids: [],
    isComplete: true,
    isOrdered: true,
    ends: [],
    detail: undefined,
    error: undefined,
    requests: 0,
  });
  client.close();
});

test("any table is read whole, whatever the widths, sizes and versions", async () => {
  const oid = fc.array(fc.nat(3), { minLength: 1, maxLength: 5 }).map((tail): Oid => [1, 3, 6, 1].concat(tail));
  const versions = fc.constantFrom<Credential>({ version: "1", community: "public" }, communityCredential, usmUser);
  await fc.assert(
    fc.asyncProperty(
      fc.array(oid, { maxLength: 60 }),
      fc.array(oid, { minLength: 1, maxLength: 6 }),
      versions,
      fc.record({ maxRepetitions: fc.nat(30), maxOids: fc.integer({ min: 1, max: 8 }) }),
      fc.constantFrom(200, 400, 1472),
      async (rows, roots, credential, options, maxMessageSize) => {
        const table = createTable(rows.map((row) => ({ oid: row, value: octets(formatOid(row)) })));
        const { open, client } = createSessionFixture({ table, maxMessageSize });
        const walked = await walkAll(open({ credential }), roots, options);
        assert.deepEqual(
          walked.oids,
          roots.map((root) => below(table, root)),
        );
        assert.equal(walked.isComplete, true);
        client.close();
      },
    ),
    runs(50),
  );
});

/** Like {@link expected}, by value: a root that is an instance itself is not below itself. */
function below(table: AgentTable, root: Oid): string[] {
  return table.rows
    .filter((row) => oidStartsWith(row.oid, root) && compareOids(row.oid, root) > 0)
    .map((row) => formatOid(row.oid));
}

test("a long column takes few requests, and more values in each as all goes well", async () => {
  const { open, client } = createSessionFixture({ table: longTable(5000), maxMessageSize: 65_000 });
  const session = open();
  const { repetitions } = session.limits;
  const walked = await walkAll(session, [column]);
  assert.equal(walked.oids[0]?.length, 5000);
  assert.ok(walked.requests < 5000 / 60);
  assert.ok(repetitions.values() > 150);
  const fixed = await walkAll(session, [column], { maxRepetitions: 10 });
  assert.equal(fixed.requests, 501);
  client.close();
});

test("more roots than max_oids are walked in groups", async () => {
  const { open, agent, client } = createSessionFixture();
  let widest = 0;
  agent.faults.liesAbout = (response, request) => {
    widest = Math.max(widest, request.varbinds.length);
    return response;
  };
  const walked = await walkAll(open(), interfaces, { maxOids: 2 });
  assert.deepEqual(
    walked.oids,
    interfaces.map((root) => expected(smallTable, root)),
  );
  assert.equal(widest, 2);
  client.close();
});

test("an agent that finds requests too big is asked for less, and remembered", async () => {
  const { open, agent, client } = createSessionFixture({ table: longTable(300) });
  agent.faults.liesAbout = (response, request) =>
    request.errorIndex > 9 ? { ...response, errorStatus: errorStatus.tooBig, varbinds: [] } : response;
  const session = open();
  const { repetitions } = session.limits;
  const walked = await walkAll(session, [column]);
  assert.equal(walked.oids[0]?.length, 300);
  assert.equal(walked.isComplete, true);
  assert.ok(repetitions.values() <= 9);
  const { requests } = await walkAll(session, [column]);
  assert.ok(requests <= Math.ceil(300 / 7) + 6);
  client.close();
});

test("an agent that finds even one row too big is asked for fewer columns", async () => {
  const { open, agent, client } = createSessionFixture();
  agent.faults.liesAbout = (response, request) =>
    request.varbinds.length > 1 ? { ...response, errorStatus: errorStatus.tooBig, varbinds: [] } : response;
  for (const version of ["1", "2c"] as const) {
    const walked = await walkAll(open({ credential: { version, community: "public" } }), interfaces);
    assert.deepEqual(
      walked.oids,
      interfaces.map((root) => expected(smallTable, root)),
    );
  }
  agent.faults.liesAbout = (response) => ({ ...response, errorStatus: errorStatus.tooBig, varbinds: [] });
  const walked = await walkAll(open(), interfaces);
  assert.deepEqual(walked.ends, ["error_status", "error_status", "error_status"]);
  assert.match(walked.detail ?? "", /\.1\.3\.6\.1\.2\.1\.2\.2\.1\.1: tooBig/);
  client.close();
});

test("an agent whose big answers get lost is asked for less", async () => {
  const { open, agent, client } = createSessionFixture({ table: longTable(200) });
  agent.faults.sends = (answer) => (answer.length > 700 ? [] : [answer]);
  const session = open({ timeout: 200, retries: 0 });
  const { repetitions } = session.limits;
  const walked = await walkAll(session, [column]);
  assert.equal(walked.isComplete, true);
  assert.equal(walked.oids[0]?.length, 200);
  assert.ok(repetitions.values() < 60);
  client.close();
});

test("an agent that falls silent: what was read stays read, and is marked", async () => {
  const { open, agent, client } = createSessionFixture({ table: longTable(300) });
  let answers = 0;
  agent.faults.drops = () => ++answers > 3;
  const walked = await walkAll(open(impatient), [column, oidOf("1.3.6.1.8")], { maxRepetitions: 5 });
  assert.equal(walked.isComplete, false);
  assert.deepEqual(walked.ends, ["failed", "end"]);
  assert.equal(walked.error?.code, "timeout");
  assert.match(walked.detail ?? "", /\.1\.3\.6\.1\.9: no answer/);
  assert.equal(walked.oids[0]?.length, 15);
  // One request with half the rows, and no more: the agent may be dead.
  assert.equal(walked.requests, 5);
  client.close();
});

/** Answers that would keep a walk going for ever, by how the walk ends. */
const loops: readonly (readonly [string, string, (oids: readonly Oid[], rows: number) => Oid[]])[] = [
  ["the same identifier again", "not_increasing", (oids) => [...oids]],
  [
    "the same next identifier for ever",
    "not_increasing",
    (_, rows) => Array.from({ length: rows }, () => [...column, 5]),
  ],
  [
    "identifiers that decrease",
    "not_increasing",
    (_, rows) => Array.from({ length: rows }, (__, i) => [...column, 900 - i]),
  ],
  [
    "two identifiers in turn",
    "not_increasing",
    (_, rows) => Array.from({ length: rows }, (__, i) => [...column, 1 + (i % 2)]),
  ],
  ["an identifier before the root", "not_increasing", () => [[1, 3, 6, 1, 2]]],
  ["no values", "empty_answer", () => []],
];

for (const [what, end, answer] of loops) {
  for (const version of ["1", "2c"] as const) {
    test(`version ${version}: an agent that answers with ${what} ends the walk`, async () => {
      const { open, agent, client } = createSessionFixture({ table: longTable(3) });
      agent.faults.liesAbout = (response, request) => ({
        ...response,
        errorStatus: 0,
        varbinds: answer(
          request.varbinds.map(({ oid }) => oid),
          version === "1" ? 1 : request.errorIndex,
        ).map((oid): VarBind => ({ oid, type: "Integer32", value: 1 })),
      });
      const walked = await walkAll(open({ credential: { version, community: "public" } }), [column]);
      // Without even one row in it, a GetBulk is followed by a GetNext, which is not answered with no value.
      const isMalformed = end === "empty_answer";
      const isGrowing = version === "1" && /for ever|decrease|in turn/.test(what);
      assert.equal(walked.ends[0], isMalformed ? "failed" : end);
      assert.equal(walked.isComplete, false);
      assert.ok(walked.requests <= (isGrowing ? 3 : 2));
      const oids = walked.oids[0] ?? [];
      assert.equal(new Set(oids).size, oids.length);
      client.close();
    });
  }
}

test("an agent that makes up identifiers for ever is stopped", async () => {
  const { open, agent, client } = createSessionFixture();
  agent.faults.liesAbout = (response, request) => {
    const last = request.varbinds[0]?.oid.at(-1) ?? 0;
    const varbinds = Array.from({ length: request.errorIndex }, (_, i): VarBind => {
      return { oid: [...column, last + i + 1], type: "Integer32", value: i };
    });
    return { ...response, varbinds };
  };
  const walked = await walkAll(open(), [column], { maxValues: 1000 });
  assert.deepEqual(walked.ends, ["too_many"]);
  assert.equal(walked.oids[0]?.length, 1000);
  client.close();
});

test("genErr on one column ends that column and leaves the others", async () => {
  for (const version of ["1", "2c"] as const) {
    const { open, agent, client } = createSessionFixture();
    agent.faults.liesAbout = (response, request) => {
      const at = request.varbinds.findIndex(({ oid }) => oidStartsWith(oid, ifDescr));
      return at < 0 ? response : { ...response, errorStatus: errorStatus.genErr, errorIndex: at + 1, varbinds: [] };
    };
    const walked = await walkAll(open({ credential: { version, community: "public" } }), interfaces);
    assert.deepEqual(walked.ends, ["end", "error_status", "end"]);
    assert.deepEqual(walked.oids, [expected(smallTable, ifIndex), [], expected(smallTable, ifSpeed)]);
    assert.match(walked.detail ?? "", /genErr/);
    client.close();
  }
});

test("genErr that names no column is found by asking for fewer", async () => {
  const { open, agent, client } = createSessionFixture();
  agent.faults.liesAbout = (response, request) =>
    request.varbinds.some(({ oid }) => oidStartsWith(oid, ifDescr))
      ? { ...response, errorStatus: errorStatus.genErr, errorIndex: 0, varbinds: [] }
      : response;
  const walked = await walkAll(open(), interfaces);
  assert.deepEqual(walked.ends, ["end", "error_status", "end"]);
  client.close();
});

test("a session that is closed ends the walk", async () => {
  const { open, agent, client } = createSessionFixture({ table: longTable(300) });
  const session = open();
  let answers = 0;
  agent.faults.drops = () => {
    if (++answers === 3) session.close();
    return false;
  };
  const walked = await walkAll(session, [column], { maxRepetitions: 5 });
  assert.deepEqual(walked.ends, ["failed"]);
  assert.equal(walked.error?.code, "closed");
  client.close();
});

test("what the receiver of values throws comes out of the walk", async () => {
  const { open, client } = createSessionFixture();
  const fail = (): never => {
    throw new RangeError("full");
  };
  await assert.rejects(walk(open(), interfaces, fail), { name: "RangeError" });
  client.close();
});

test("repetitions: halved at a failure, doubled until one, grown by quarters after, a failed size avoided until it is forgotten", () => {
  const repetitions = new Repetitions(64, 256);
  const full = (times: number): number => {
    for (let i = 0; i < times; i++) repetitions.onFull();
    return repetitions.values();
  };
  assert.equal(repetitions.values(), 64);
  assert.equal(full(1), 64);
  assert.equal(full(1), 128);
  assert.equal(full(2), 256);
  assert.equal(full(400), 256);
  repetitions.onFailure(256);
  assert.equal(repetitions.values(), 128);
  assert.equal(full(7), 128);
  assert.equal(full(1), 160);
  assert.equal(full(392), 192);
  assert.equal(full(200), 256);
  for (let i = 0; i < 20; i++) repetitions.onFailure(repetitions.values());
  assert.equal(repetitions.values(), 1);
});
