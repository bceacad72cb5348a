import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client, credentials } from "@grpc/grpc-js";
import { WatchRuleService } from "../../src/server/gen/rules/v1/rules_pb.ts";
import { clientKinds, createUdmClient } from "../server/udm-clients.ts";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

const faulty = `- {when: "bytes > 1", set: {flow.bytes: 1}}
- {when: "bytes >", set: {x: 1}}
`;
const tried = `- {name: big, when: bytes > 1000, set: {size: big}}
- {name: web, when: 'src.name =~ "^(?<kind>[a-z]+)-"', set: {.src.kind: $kind}}
- {name: inner, when: flow.src.mac.addr exists, set: {seen: true}}
`;
const watchRules = `actions:
  hook: {webhook: {url: 'http://127.0.0.1:1'}} # ours
rules:
  - {name: many, by: [exporter], measure: flows_per_second, when: '>= 1'}
`;

test("rules check and rules try: faults with their places, and what would change on kept records", async (t) => {
  const directory = tempDirectory(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const inUse = file("rules.yml", "- {name: =any, when: bytes > 1, set: {size: any}}\n");
  const watched = file("watch.yml", watchRules);
  const { run, runWith, flowPorts, port } = await startCommandWorld(t, {
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(directory, "explore"),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_ENRICH_RULES_PATH: inUse,
    SVC_STATE_DIRECTORY_PATH: directory,
    SVC_WATCH_RULES_PATH: watched,
  });
  const good = file("good.yml", tried);
  const bad = file("bad.yml", faulty);

  const without = await startCommandWorld(t);
  const none = await without.run("rules", "list");
  assert.deepEqual([none.code, none.out], [5, ""]);
  assert.match(none.err, /no rules are set up: SVC_PROCESSOR_ENRICH_RULES_PATH names their file/);

  assert.deepEqual(await run("rules", "check", good), { code: 0, out: `${good}: 3 rules\n`, err: "" });
  for (const how of ["check", "try"]) {
    const { code, out, err } = await run("rules", how, bad);
    assert.deepEqual([code, out], [1, ""]);
    assert.doesNotMatch(err, /sets 1 to/);
    assert.match(err, new RegExp(`^${bad}:1:\\d+: `));
  }
  assert.match((await run("rules", "check", join(directory, "none.yml"))).err, /none\.yml: no such file/);

  await run("udm", "set", "10.0.0.1", "--name", "web-1");
  const flow = { source: "10.0.0.1", destination: "10.0.0.2", packets: 4 };
  const records = [
    { ...flow, bytes: 5000 },
    { ...flow, bytes: 500 },
  ];
  await sendDatagram(flowPorts[0] ?? 0, netflowV5Datagram(records, 0, Math.floor(Date.now() / 1000)));
  const answer = await until<string>("the flows are kept", async () => {
    const { out } = await run("rules", "try", good, "-o", "json");
    return out.includes('"records": 2') ? out : undefined;
  });
  const { rules, fields, changed, complete } = JSON.parse(answer) as Record<string, unknown>;
  assert.deepEqual(rules, [
    { name: "big", of: "record", fits: 1, changes: 1, lacks: [] },
    { name: "web", of: "record", fits: 2, changes: 2, lacks: [] },
    { name: "inner", of: "record", fits: 0, changes: 0, lacks: ["flow.src.mac.addr"] },
  ]);
  assert.deepEqual(fields, [
    { field: "size", gained: 0, lost: 1, changed: 1, values: [{ value: "big", records: 1 }] },
    { field: "flow.src.kind", gained: 2, lost: 0, changed: 0, values: [{ value: "web", records: 2 }] },
  ]);
  // Nothing is kept of the beginning of the hour.
  assert.deepEqual([changed, complete], [2, false]);

  const text = await run("rules", "try", good, "--filter", "bytes > 1000");
  assert.match(text.out, /^RULE +OF +FITS.*\nbig +record +1 +1\n.*\n1 of 1 records would change\n$/s);
  assert.match(text.err, /^a part was looked at: 1 of 1 records of that time/);
  assert.match((await run("rules", "try", good, "-o", "csv")).out, /^rule,of,fits,changes,lacks\nbig,record,1,1,\n/);

  // By the API: a list in place of a text, and each fault named.
  const ask = async (body: object): Promise<{ status: number; json: Record<string, unknown> }> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/explore/rules`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
  const list = await ask({ rules: [{ when: "bytes > 1000", set: { size: "big" } }], from: "-15m" });
  assert.deepEqual([list.status, list.json["changed"]], [200, 2]);
  const refused = await ask({ rules: faulty });
  assert.equal(refused.status, 400);
  assert.match(JSON.stringify(refused.json), /1:\d+: .*\(and 1 more\).*2:\d+: /);
  assert.match(String((await ask({ rules: 1 })).json["message"]), /rules must be a text of YAML, or a list of rules/);
  assert.match(String((await ask({ rules: [], last: 1 })).json["message"]), /there is no field "last"/);

  const listed = await run("rules", "list", "-o", "csv");
  assert.deepEqual([listed.code, listed.out], [0, "rule,of,gives\n'=any,record,size\n"]);
  writeFileSync(inUse, "- {when: bytes >}\n");
  const broken = await run("rules", "list", "-o", "json");
  assert.deepEqual([broken.code, (JSON.parse(broken.out) as { text: string }).text], [1, "- {when: bytes >}\n"]);
  assert.match(broken.err, /^error: the file cannot be used, the rules read before stay: 1:\d+: /);
  assert.match(String((await ask({ rules: [] })).json["message"]), /the rules in use cannot be read: 1:/);

  await tryChanges(run, runWith, inUse);
  await tryWatchRules(run, file, watched);
  await tryTransports(port, watched);
});

/** The commands that change rules, on those that give records fields. */
async function tryChanges(run: CommandWorld["run"], runWith: CommandWorld["runWith"], path: string): Promise<void> {
  writeFileSync(path, "# ours\n\n- name: any # first\n  when: bytes > 1\n  set: {size: any}\n");
  const input = ["name: big\nwhen: bytes > 1000\nset: {size: big}\n"];
  assert.match((await runWith({ input }, "rules", "set", "-", "--dry-run")).out, /^good: big, revision \w+\n$/);
  const set = await runWith({ input }, "rules", "set", "-", "--before", "any", "-o", "json");
  const { revision } = JSON.parse(set.out) as { readonly revision: string };
  const tested = await runWith({ input }, "rules", "test", "-", "-o", "csv");
  assert.match(tested.out, /^records,fits,changes\n2,1,0\n/);
  const stale = await run("rules", "delete", "any", "--revision", "0000");
  assert.match(stale.err, new RegExp(`somebody else has changed the file: its revision is ${revision}`));
  assert.match((await run("rules", "move", "big", "--revision", revision)).out, /^moved big, change 2, /);
  assert.equal((await run("rules", "list", "-o", "csv")).out, "rule,of,gives\nany,record,size\nbig,record,size\n");
  assert.match((await run("rules", "delete", "any")).out, /^deleted any, change 3, /);
  assert.match((await run("rules", "undo", "3")).out, /^undone: any, change 4, /);
  assert.match((await run("rules", "undo", "2", "--dry-run")).out, /^can be undone: big, /);
  assert.equal((await run("rules", "show", "any")).out, "name: any # first\nwhen: bytes > 1\nset: {size: any}\n");
  const bad = await runWith({ input: ["name: any\nwhen: bytes >\nset: {size: x}\n"] }, "rules", "set", "-");
  assert.match(bad.err, /text: 2:7: /);
  const history = (await run("rules", "history", "any", "-o", "csv")).out;
  assert.match(history, /^change,time,by,method,rule\n4,[^,]+,cli,UndoRuleChange,any\n3,[^,]+,cli,DeleteRule,any\n$/);
  assert.match(readFileSync(path, "utf8"), /^# ours\n\n- name: any # first\n/);
}

/** The same of those that watch: the state of rules that stay is not touched. */
async function tryWatchRules(
  run: CommandWorld["run"],
  file: (name: string, text: string) => string,
  path: string,
): Promise<void> {
  const rule = file("rule.yml", "{name: flood, by: [dst], measure: bits_per_second, when: '> 1', act: [hook]}\n");
  const tested = await run("watch", "rules", "test", rule, "-o", "json");
  const { found, windowSeconds } = JSON.parse(tested.out) as Record<string, unknown>;
  assert.deepEqual(
    (found as readonly { readonly key: string[] }[]).map(({ key }) => key),
    [["10.0.0.2"]],
  );
  assert.equal(windowSeconds, 10);
  const silent = file(
    "silent.yml",
    "{name: s, of: snmp, by: [snmp.object.name], measure: records, when: silent for 5m}\n",
  );
  assert.match((await run("watch", "rules", "test", silent)).err, /it was not tried: only rules on bits/);
  assert.match((await run("watch", "rules", "set", rule)).out, /^set flood, change 1, /);
  assert.match((await run("watch", "rules", "-o", "csv")).out, /\nflood,/);
  const unknown = await run(
    "watch",
    "rules",
    "set",
    file("odd.yml", "name: odd\nmeasure: flows\nwhen: '> 1'\nact: [hok]\n"),
  );
  assert.match(unknown.err, /text: \d+:\d+: .*(?:hok|measure)/);
  assert.equal(readFileSync(path, "utf8").startsWith(watchRules.trimEnd()), true);
}

/** Other protocols answer from the same table. */
async function tryTransports(port: number, path: string): Promise<void> {
  const name = "/rules.v1.WatchRuleService/ListRules";
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const plain = (bytes: Buffer): Buffer => bytes;
  const byGrpc = await new Promise<string>((resolve, reject) => {
    client.makeUnaryRequest(name, plain, plain, Buffer.alloc(0), (error: Error | null, answer?: Buffer) =>
      error === null ? resolve(String(answer)) : reject(error),
    );
  });
  client.close();
  assert.match(byGrpc, /flood/);
  for (const [type, body] of [
    ["application/grpc-web+proto", Buffer.alloc(5)],
    ["application/json", Buffer.from("{}")],
    ["application/proto", Buffer.alloc(0)],
  ] as const) {
    const url = `http://127.0.0.1:${port}/api/v1/enrich/ipaddr${name}`;
    const response = await fetch(url, { method: "POST", headers: { "content-type": type }, body });
    assert.match(await response.text(), /flood/, type);
  }
  for (const kind of clientKinds) {
    const rules = createUdmClient<"testRule">(kind, { port, ca: undefined, prefix: "", service: WatchRuleService });
    const text = "{name: q, by: [dst], measure: bits_per_second, when: '> 1', act: [hook]}";
    const answered = await rules.call("testRule", { text, from: "-30m" });
    assert.ok("answer" in answered, `${kind}: ${JSON.stringify(answered)}`);
    const { found, windowSeconds } = answered.answer as { found: { key: string[] }[]; windowSeconds: number };
    assert.deepEqual([found.map(({ key }) => key), windowSeconds], [[["10.0.0.2"]], 10], kind);
    const refused = await rules.call("testRule", { text: "{name: q, measure: bits_per_second, when: '> 1x'}" });
    assert.ok(refused.code === "invalid_argument" && "fields" in refused, kind);
    assert.match(refused.message, /text: 1:43: .*> 500M/, kind);
    assert.deepEqual(refused.fields, ["text"], kind);
    assert.equal((await rules.call("testRule", { name: "none" })).code, "not_found", kind);
    rules.close();
  }
  // What is changed by hand in between stays.
  writeFileSync(path, `${readFileSync(path, "utf8")}# by hand\n`);
  const url = `http://127.0.0.1:${port}/rules.v1.WatchRuleService/DeleteRule`;
  const headers = { "content-type": "application/json" };
  const gone = await fetch(url, { method: "POST", headers, body: JSON.stringify({ name: "flood" }) });
  assert.equal(gone.status, 200);
  assert.match(readFileSync(path, "utf8"), /# by hand\n$/);
}
