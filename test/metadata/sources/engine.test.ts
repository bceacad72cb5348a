import assert from "node:assert/strict";
import { stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { nodeFileIo } from "../../../src/base/file/index.ts";
import { LastCopies } from "../../../src/metadata/index.ts";
import { allTests, cleanUp } from "../../support/clean-up.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startSources, startStandIn, type StandIn } from "./source-rig.ts";

const all = allTests();

async function standIn(answer: StandIn["answer"]): Promise<StandIn> {
  const server = await startStandIn(answer);
  cleanUp(all, () => server.close());
  return server;
}

const temporary = (): string => tempDirectory(all);

const list = (count: number): { key: string }[] => Array.from({ length: count }, (_, i) => ({ key: `10.0.0.${i}` }));

suite("a source", () => {
  test("asks by condition, and is unchanged when the server says so", async () => {
    const server = await standIn((request, _, response) => {
      response.setHeader("etag", '"one"');
      response.setHeader("last-modified", "Sun, 01 Mar 2026 10:00:00 GMT");
      if (request.headers["if-none-match"] !== '"one"') return list(3);
      response.statusCode = 304;
      response.end();
      return undefined;
    });
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}/plan"}`);
    const first = await rig.run("plan");
    assert.equal(first.run?.result, "updated");
    assert.deepEqual(first.run?.changes, { added: 3, changed: 0, removed: 0, unchanged: 0 });
    assert.equal((await rig.run("plan")).run?.result, "unchanged");
    assert.equal(server.requests[1]?.headers["if-modified-since"], "Sun, 01 Mar 2026 10:00:00 GMT");
    assert.equal(rig.entries("plan").length, 3);
    assert.equal(await rig.metrics.value("netgloss_source_runs_total", { source: "plan", result: "updated" }), 1);
    assert.equal(await rig.metrics.value("netgloss_source_entries", { source: "plan" }), 3);
    assert.deepEqual(
      rig.health.checks().map(({ degraded }) => degraded),
      [false],
    );
    await rig.stop();
  });

  test("that shrinks by more than a third is held, shown by diff, and taken with a yes", async () => {
    let rows = list(9);
    const server = await standIn(() => rows);
    const rig = await startSources(`sources:\n  - name: plan\n    kind: json\n    url: ${server.url}/plan\n`);
    await rig.run("plan");
    rows = list(6);
    assert.equal((await rig.run("plan")).run?.result, "updated", "a third less is taken");
    rows = list(3);
    const held = await rig.run("plan");
    assert.equal(held.state, "held");
    assert.equal(held.run?.reason, "3 entries in place of 6 are 50 % fewer: more than max_shrink (33 %)");
    assert.equal(rig.entries("plan").length, 6);
    assert.equal(rig.health.isDegraded(), true);
    assert.equal(await rig.metrics.value("netgloss_source_held", { source: "plan" }), 1);
    const diff = await rig.sources.diff("plan");
    assert.deepEqual(
      diff?.removed.map(({ key }) => key.text),
      ["10.0.0.3", "10.0.0.4", "10.0.0.5"],
    );
    assert.equal(diff?.result, "held");
    const accepted = await rig.sources.accept("plan");
    assert.ok(typeof accepted === "object");
    assert.equal(accepted.state, "working");
    assert.equal(rig.entries("plan").length, 3);
    assert.equal(await rig.sources.accept("plan"), "nothing");
    assert.equal(rig.health.isDegraded(), false);
    assert.equal(rig.sources.accept("other"), undefined);
    await rig.stop();
  });

  test("that changes more than it may is held, and is free again when it says what it said", async () => {
    let name = "a";
    const server = await standIn(() => list(4).map(({ key }) => ({ key, name })));
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}", guard: {max_change: 50%}}`);
    await rig.run("plan");
    name = "b";
    assert.match(
      (await rig.run("plan")).run?.reason ?? "",
      /^4 of 4 entries change or go, 100 %: more than max_change \(50 %\)$/,
    );
    name = "a";
    assert.equal((await rig.run("plan")).state, "working");
    await rig.stop();
  });

  test("that fails keeps its entries, says why, and is tried again soon, then less and less often", async () => {
    const server = await standIn(() => list(3));
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}/x?secret=1", interval: 1h}`);
    await rig.run("plan");
    assert.equal(rig.waits.at(-1), 3_600_000);
    server.answer = (_, __, response) => {
      response.statusCode = 500;
      response.end();
      return undefined;
    };
    const failed = await rig.run("plan");
    assert.equal(failed.state, "failing");
    assert.equal(failed.run?.reason, `${server.url}/x answers 500`);
    assert.equal(rig.waits.at(-1), 15_000);
    await rig.run("plan");
    assert.equal(rig.waits.at(-1), 30_000);
    assert.equal(rig.entries("plan").length, 3);
    assert.equal(rig.health.checks()[0]?.detail, "plan is failing: it refuses");
    assert.equal(await rig.metrics.value("netgloss_source_failures_total", { source: "plan", reason: "refused" }), 2);
    server.answer = () => list(3);
    assert.equal((await rig.run("plan")).state, "working");
    await rig.stop();
  });

  test("waits where the server asks for it, and gives up when it asks too much", async () => {
    let refusals = 2;
    const server = await standIn((_, __, response) => {
      if (refusals-- <= 0) return list(2);
      response.statusCode = 429;
      response.setHeader("retry-after", "2");
      response.end();
      return undefined;
    });
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}"}`);
    assert.equal((await rig.run("plan")).run?.result, "updated");
    assert.deepEqual(
      rig.waits.filter((ms) => ms === 2000),
      [2000, 2000],
    );
    refusals = 1;
    server.answer = (_, __, response) => {
      response.statusCode = 429;
      response.setHeader("retry-after", "3600");
      response.end();
      return undefined;
    };
    const failed = await rig.run("plan");
    assert.match(failed.run?.reason ?? "", /asks to come back later \(429\)/);
    assert.equal(rig.waits.at(-1), 900_000, "the next run is not before, but no later than the interval");
    await rig.stop();
  });

  test("that breaks off, is too long, or is no text of its format changes nothing", async () => {
    const server = await standIn(() => list(3));
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}", max_size: 1KiB}`);
    await rig.run("plan");
    const reasons: string[] = [];
    const answers: StandIn["answer"][] = [
      (_, __, response) => {
        response.setHeader("content-length", 500);
        response.write('[{"key":"10.0.0.0"}');
        setTimeout(() => response.destroy(), 20);
        return undefined;
      },
      () => list(100),
      (_, __, response) => void response.end("<html>"),
      (_, __, response) => void response.end('[{"key":"nonsense"}]'),
    ];
    for (const answer of answers) {
      server.answer = answer;
      reasons.push((await rig.run("plan")).run?.reason ?? "");
      assert.equal(rig.entries("plan").length, 3);
    }
    for (const [i, pattern] of [
      /breaks off/,
      /longer than 1024 bytes/,
      /a page of HTML/,
      /none of 1 rows can be used: row 1/,
    ].entries()) {
      assert.match(reasons[i] ?? "", pattern);
    }
    await rig.stop();
  });

  test("leaves rows with faults out and counts them", async () => {
    const server = await standIn(() => [...list(2), { key: "x" }]);
    const rig = await startSources(`- {name: plan, kind: json, url: "${server.url}"}`);
    const { run } = await rig.run("plan");
    assert.equal(run?.faultyRows, 1);
    assert.equal(run?.rows, 3);
    assert.equal(run?.faults[0]?.row, 3);
    assert.equal(await rig.metrics.value("netgloss_source_faulty_rows_total", { source: "plan" }), 1);
    await rig.stop();
  });

  test("sends its credentials, which are read at each run, and not to another host", async () => {
    const other = await standIn(() => list(1));
    const server = await standIn((_, url, response) => {
      if (url.pathname !== "/moved") return list(1);
      response.statusCode = 302;
      response.setHeader("location", `${other.url}/here`);
      response.end();
      return undefined;
    });
    const directory = temporary();
    const file = join(directory, "token");
    await writeFile(file, "abc\n");
    const rig = await startSources(
      [
        `- {name: token, kind: json, url: "${server.url}", token_file: "${file}"}`,
        `- {name: basic, kind: json, url: "${server.url}", username: u, password_env: PASS}`,
        `- {name: moved, kind: json, url: "${server.url}/moved", token_env: PASS, redirect_hosts: 127.0.0.1}`,
        `- {name: none, kind: json, url: "${server.url}", token_env: MISSING}`,
      ].join("\n"),
      { env: { PASS: "secret" } },
    );
    await rig.run("token");
    await writeFile(file, "def\n");
    await rig.run("token");
    await rig.run("basic");
    await rig.run("moved");
    assert.deepEqual(
      server.requests.map(({ headers }) => headers.authorization),
      ["Bearer abc", "Bearer def", `Basic ${Buffer.from("u:secret").toString("base64")}`, "Bearer secret"],
    );
    assert.equal(other.requests[0]?.headers.authorization, undefined);
    assert.equal((await rig.run("none")).run?.reason, "the environment has no MISSING");
    await rig.stop();
  });

  test("follows redirects to its own host, and to others that are allowed", async () => {
    const other = await standIn(() => list(1));
    const server = await standIn((_, url, response) => {
      if (url.pathname === "/list") return list(2);
      response.statusCode = 302;
      const places: Readonly<Record<string, string>> = { "/here": "/list", "/file": "file:///etc/passwd" };
      response.setHeader("location", places[url.pathname] ?? `${other.url}/secret?token=1`);
      response.end();
      return undefined;
    });
    const place = (name: string, path: string, more = ""): string =>
      `- {name: ${name}, kind: json, url: "${server.url}${path}"${more}}`;
    const rig = await startSources(
      [
        place("here", "/here"),
        place("there", "/there"),
        place("file", "/file", ', redirect_hosts: "*"'),
        place("wrong", "/there", ", redirect_hosts: [example.net]"),
        place("named", "/there", ", redirect_hosts: [example.net, 127.0.0.1]"),
        place("any", "/there", ', redirect_hosts: "*"'),
      ].join("\n"),
    );
    assert.equal((await rig.run("here")).entries, 2);
    for (const name of ["there", "wrong"]) {
      const { run } = await rig.run(name);
      assert.deepEqual(
        [run?.code, run?.reason],
        ["refused", `${server.url}/there redirects to ${other.url}: redirect_hosts does not allow that`],
      );
    }
    assert.equal(other.requests.length, 0);
    assert.equal((await rig.run("file")).run?.code, "refused");
    assert.equal((await rig.run("named")).entries, 1);
    assert.equal((await rig.run("any")).entries, 1);
    await rig.stop();
  });

  test("that drips is given up after its time in all", async () => {
    const server = await standIn((_, __, response) => {
      const drip = setInterval(() => response.write('{"key":"10.0.0.0"}\n'), 20);
      response.on("close", () => clearInterval(drip));
      return undefined;
    });
    const rig = await startSources(`- {name: plan, kind: ndjson, url: "${server.url}", max_time: 3s}`);
    const { run, state } = await rig.run("plan");
    assert.deepEqual([state, run?.code, run?.reason], ["failing", "too_slow", "it was not read within 3 s (max_time)"]);
    assert.equal(await rig.metrics.value("netgloss_source_failures_total", { source: "plan", reason: "too_slow" }), 1);
    server.answer = () => list(1);
    await rig.stop();
  });

  test("of many pages gives up a page that drips", async () => {
    const server = await standIn((_, __, response) => {
      const drip = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(drip));
      return undefined;
    });
    const rig = await startSources(
      `- {name: plan, kind: netbox, url: "${server.url}", objects: ip-addresses, timeout: 1s}`,
    );
    const { run } = await rig.run("plan");
    assert.deepEqual(
      [run?.code, run?.reason],
      ["too_slow", `the answer of ${server.url}/api/ipam/ip-addresses/ was not whole after 10 s`],
    );
    server.answer = () => list(1);
    await rig.stop();
  });

  test("whose first answer is a page, or says that nothing has changed, fails", async () => {
    const server = await standIn((_, url, response) => {
      if (url.pathname === "/304") response.statusCode = 304;
      response.end(url.pathname === "/304" ? "" : "\ufeff<!-- x -->\n<!DOCTYPE html>\n<html>10.0.0.1</html>");
      return undefined;
    });
    const kinds = ["csv", "list", "cloudflare", "dnsmasq"];
    const yaml = kinds.map((kind) => `- {name: ${kind}, kind: ${kind}, url: "${server.url}/page"}`);
    const rig = await startSources([...yaml, `- {name: same, kind: csv, url: "${server.url}/304"}`].join("\n"));
    for (const kind of kinds) {
      const { run } = await rig.run(kind);
      assert.deepEqual(
        [run?.code, run?.reason],
        ["content", `${server.url}/page answers with a page of HTML: does it want a sign-in?`],
      );
    }
    assert.equal((await rig.run("same")).run?.reason, `${server.url}/304 answers 304`);
    await rig.stop();
  });

  test("with a quote that is not closed changes nothing, and names its line; readiness shows nothing of it", async () => {
    let text = "key,name\n10.0.0.1,a\n10.0.0.2,b\n10.0.0.3,c\n";
    const server = await standIn((_, __, response) => void response.end(text));
    const rig = await startSources(`- {name: plan, kind: csv, url: "${server.url}"}`);
    await rig.run("plan");
    text = 'key,name\n10.0.0.1,a\n10.0.0.2,"b\n10.0.0.3,c\n';
    const { run, entries } = await rig.run("plan");
    assert.deepEqual(
      [entries, run?.code, run?.reason],
      [3, "content", "a quote in the row of line 3 is not closed: lines 3 to 4 are not read"],
    );
    text = "key,name\nsecret,a\n";
    assert.match((await rig.run("plan")).run?.reason ?? "", /secret/);
    assert.equal(rig.health.checks()[0]?.detail, "plan is failing: its answer cannot be used");
    await rig.stop();
  });

  test("begins with its last good copy, though the server is away", async () => {
    const directory = temporary();
    const server = await standIn((_, __, response) => {
      response.setHeader("etag", '"1"');
      return [{ key: "10.0.0.0/8", name: "é", tags: ["a"], metadata: { ".x": "" }, contexts: ["exporter"] }];
    });
    const yaml = `- {name: plan, kind: json, url: "${server.url}"}`;
    const first = await startSources(yaml, { directory });
    await first.run("plan");
    const before = first.entries("plan");
    await first.stop();
    const url = server.url;
    server.close();
    const second = await startSources(yaml, { directory });
    assert.deepEqual(second.sources.states()[0]?.state, "restored");
    assert.deepEqual(second.entries("plan"), before);
    const layer = second.store.layers.list()[0];
    assert.deepEqual([...(layer?.index.entries() ?? [])][0]?.fileOnly?.contexts, ["exporter"]);
    assert.match((await second.run("plan")).run?.reason ?? "", new RegExp(`^${url}/ cannot be reached`));
    assert.deepEqual(second.entries("plan"), before);
    await second.stop();
    await writeFile(join(directory, "plan.ndjson.gz"), "not gzip");
    const third = await startSources(yaml, { directory });
    assert.deepEqual(third.entries("plan"), []);
    assert.equal(await third.metrics.value("netgloss_source_copy_failures_total", { source: "plan" }), 1);
    await third.stop();
  });

  test("knows a file again by its size, time and number, as the copies of all versions have them", async () => {
    const directory = temporary();
    const path = join(directory, "plan.json");
    await writeFile(path, JSON.stringify(list(2)));
    // As milliseconds this time is one number by Node.js, and another one when its nanoseconds are divided.
    await utimes(path, 1_790_000_000.7654321, 1_790_000_000.7654321);
    const rig = await startSources(`- {name: plan, kind: json, path: ${JSON.stringify(path)}}`, { directory });
    await rig.run("plan");
    await rig.stop();
    const { size, mtimeMs, ino } = await stat(path);
    const copy = await new LastCopies(directory, nodeFileIo, "next").read("plan");
    assert.equal(copy?.validators.stamp, `${size} ${mtimeMs} ${ino}`);
  });

  test("of several gives one address the entry of the first by priority; a file read again keeps what stays", async () => {
    const server = await standIn((_, url) => [{ key: "10.0.0.1", name: url.pathname.slice(1) }]);
    const rig = await startSources(
      [
        `- {name: b, kind: json, url: "${server.url}/b", priority: 2}`,
        `- {name: a, kind: json, url: "${server.url}/a", priority: 1}`,
      ].join("\n"),
    );
    await rig.run("a");
    await rig.run("b");
    const seen = (): unknown[] =>
      rig.store.layers.covering({ family: 4, value: 0x0a000001n }).map(({ layer, entry }) => `${layer} ${entry.name}`);
    assert.deepEqual(seen(), ["a a", "b b"]);
    rig.yaml = `- {name: b, kind: json, url: "${server.url}/b", priority: 2}`;
    await rig.sources.reload();
    assert.deepEqual(seen(), ["b b"]);
    rig.yaml = "- {kind: jsn}";
    await rig.sources.reload();
    assert.deepEqual(seen(), ["b b"], "a file that is wrong changes nothing");
    assert.match(
      rig.health.checks()[0]?.detail ?? "",
      /1:10: source 1: kind: expected one of .*; found "jsn" \(did you mean "json"\?\)/,
    );
    await rig.stop();
  });
});
