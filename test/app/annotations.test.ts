import assert from "node:assert/strict";
import { test } from "node:test";
import { Annotations, FileState, startsForm } from "../../src/app/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { createToken } from "../../src/server/index.ts";
import { startCommandWorld } from "../support/udm-commands.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

type Given = ConstructorParameters<typeof Annotations>[0];

const guest = { name: "guest", role: "viewer" } as const;
const now = Date.UTC(2026, 10, 27, 12);
const clock = { ...systemClock, now: () => now };
const minute = 60_000;
const at = (minutes: number): string => new Date(now - minutes * minute).toISOString();

async function open(sources: Partial<Given>): Promise<Annotations> {
  const starts = new FileState("starts", undefined, startsForm, "a run", { io: nodeFileIo, clock, log: silentLog });
  const all = { starts, marks: () => [], history: undefined, alerts: undefined, ...sources };
  const annotations = new Annotations(all, { version: "1.2.3", member: "" }, { clock, log: silentLog });
  await annotations.start();
  return annotations;
}

const everything = (): boolean => true;
const alert = { rule: "r", key: {}, state: "firing", value: 1, peak: 1, unit: "", top: {} } as const;
const series = { stepMs: 0, values: [] };

test("changes near each other are one mark, with how many and whose; none is left out or counted twice", async () => {
  const heads = Array.from({ length: 3000 }, (_, number) => ({
    number,
    time: now - number * 1000,
    author: number % 2 === 0 ? "ada" : "",
    method: "UpdateUdm",
    entries: 2,
    layer: number % 2 === 0 ? undefined : "netbox",
  }));
  const history = { headsBetween: async () => heads };
  const annotations = await open({ history });
  const found = await annotations.find({ from: "-1h", kinds: "metadata" }, guest, everything);
  assert.ok(found.annotations.length <= 61, String(found.annotations.length));
  assert.equal(
    found.annotations.reduce((sum, { count }) => sum + count, 0),
    3000,
  );
  assert.match(
    found.annotations[1]?.text ?? "",
    /^60 changes of metadata: 120 entries, by (?:ada, netbox|netbox, ada)$/,
  );
  const [one] = (
    await (await open({ history: { headsBetween: async () => heads.slice(0, 1) } })).find({}, guest, everything)
  ).annotations;
  assert.equal(one?.text, "metadata changed: 2 entries, by ada");
});

test("starts, alerts and marks of the range; what went on into it counts; what cannot be asked is named", async () => {
  const alerts = [
    {
      ...alert,
      series,
      id: "before",
      since: 0,
      firedAt: now - 300 * minute,
      clearedAt: now - 200 * minute,
      text: "over",
    },
    {
      ...alert,
      series,
      id: "into",
      since: 0,
      firedAt: now - 90 * minute,
      clearedAt: now - 30 * minute,
      text: "a scan",
    },
    { ...alert, series, id: "on", since: 0, firedAt: now - 10 * minute, text: "a link above 80 %" },
    { ...alert, series, id: "pending", since: 0, text: "not yet" },
  ];
  const mark = { description: "", changedAt: "", changedBy: "ada", revision: 1 };
  const marks = [
    { ...mark, id: "a", name: "maintenance", role: "viewer", time: at(120), until: at(50) },
    { ...mark, id: "b", name: "for few", role: "admin", time: at(20), until: "" },
    { ...mark, id: "c", name: "long ago", role: "viewer", time: at(500), until: "" },
  ] as const;
  const annotations = await open({ alerts: async () => alerts, marks: () => marks });
  const found = await annotations.find({ from: "-1h" }, guest, everything);
  assert.deepEqual(
    found.annotations.map(({ kind, time, until, text }) => [kind, time, until, text]),
    [
      ["mark", at(120), at(50), "maintenance"],
      ["alert", at(90), at(30), "a scan"],
      ["alert", at(10), undefined, "a link above 80 %"],
    ],
    "the start is at the end of the range, which does not belong to it",
  );
  const later = await annotations.find(
    { from: "-1h", to: new Date(now + 1).toISOString(), kinds: "restart" },
    guest,
    everything,
  );
  assert.deepEqual(
    later.annotations.map(({ text }) => text),
    ["the collector started, version 1.2.3"],
  );
  const few = await annotations.find({ from: "-1h", limit: "1" }, guest, everything);
  assert.deepEqual([few.annotations.map(({ id }) => id), few.left], [["on"], 2]);
  const away = await open({
    alerts: async () => undefined,
    history: { headsBetween: () => Promise.reject(new Error("away")) },
  });
  assert.deepEqual((await away.find({}, guest, everything)).lacking, ["metadata", "alert"]);
  assert.deepEqual(
    (await away.find({}, guest, (area) => area === "flow")).lacking,
    ["alert"],
    "nor is it told what one may not see",
  );
});

test("a question is bounded and names what is wrong", async () => {
  const annotations = await open({});
  const wrong: [question: Record<string, string>, message: RegExp][] = [
    [{ from: "-500d" }, /400 days before/],
    [{ from: "then" }, /from/],
    [{ from: "now", to: "-1h" }, /from must be before to/],
    [{ kinds: "alert,party" }, /kinds must be some of metadata, restart, alert, mark/],
    [{ limit: "1001" }, /from 1 to 1000/],
    [{ colour: "red" }, /no parameter "colour"/],
  ];
  for (const [question, message] of wrong) await assert.rejects(annotations.find(question, guest, everything), message);
});

test("starts outlive a restart; a file that is not understood is set aside", async (t) => {
  const directory = tempDirectory(t);
  const path = join(directory, "starts.json");
  const start = async (): Promise<number> => {
    const starts = new FileState("starts", path, startsForm, "a run", { io: nodeFileIo, clock, log: silentLog });
    await starts.start();
    await open({ starts });
    return starts.now().length;
  };
  assert.deepEqual([await start(), await start()], [1, 2]);
  writeFileSync(path, '{"version":1,"starts":[{}]}');
  assert.equal(await start(), 1);
});

test("over the API: a change of metadata is there at once; who is limited to a scope may not ask", async (t) => {
  const directory = tempDirectory(t);
  const tokens = { acme: createToken("acme"), whole: createToken("whole") };
  writeFileSync(
    join(directory, "users.yml"),
    `tokens:\n  acme: {role: admin, hash: "${tokens.acme.hash}", scopes: [acme]}\n  whole: {role: admin, hash: "${tokens.whole.hash}"}\n`,
  );
  const { port } = await startCommandWorld(t, {
    SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
    SVC_API_USERS_PATH: join(directory, "users.yml"),
  });
  const call = (path: string, { token }: { token: string }, body?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body }),
    });
  const entry = '{"udm": {"key": "10.0.0.0/8", "name": "lab"}}';
  assert.equal((await call("enrich/ipaddr/udm.v1.UdmService/CreateUdm", tokens.whole, entry)).status, 200);
  const mark = `{"mark": {"name": "new link", "time": "${new Date().toISOString()}"}}`;
  assert.equal((await call("views/save", tokens.whole, mark)).status, 200);
  const found = await call("annotations?from=-1h", tokens.whole);
  const { annotations } = (await found.json()) as { annotations: { kind: string; text: string; user?: string }[] };
  const told = annotations.map(({ kind, text, user = "-" }) => `${kind}: ${text} (${user})`);
  assert.deepEqual(
    told.toSorted((a, b) => (a < b ? -1 : 1)),
    [
      "mark: new link (whole)",
      "metadata: metadata changed: 1 entry, by whole (whole)",
      "restart: the collector started, version 0.0.0 (-)",
    ],
  );
  assert.equal((await call("annotations", tokens.acme)).status, 403);
});
