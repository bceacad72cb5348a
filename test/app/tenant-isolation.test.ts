// A caller who is limited to a scope, as an attacker: over every service, method, endpoint and way to name a scope, nothing of another one is given.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { before, suite, test } from "node:test";
import { createToken } from "../../src/server/index.ts";
import { dataSet, fields, ipfix, ipfixTemplates, ipv4, uint } from "../../packages/testkit/index.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld, type CommandWorld } from "../support/udm-commands.ts";
import { postJson, type JsonAnswer } from "../server/api-fixture.ts";
import { scopedServices } from "../server/udm-clients.ts";
import { allTests } from "../support/clean-up.ts";
import { until } from "../support/until.ts";

const base = "/api/v1/enrich/ipaddr";
const tokens = Object.fromEntries(["whole", "acme", "both", "none"].map((name) => [name, createToken(name)] as const));
const scopesOf: Readonly<Record<string, string>> = { acme: "acme", both: "[acme, beta]", none: "[]" };
const bearer = (name: string): Record<string, string> => ({ authorization: `Bearer ${tokens[name]?.token ?? ""}` });
/** Is in every text of an entry, a key of metadata and a file that the caller may not see. */
const secret = "secret";

suite("a token that is limited to scopes", () => {
  const owner = allTests();
  let world: CommandWorld;
  let url = "";

  before(async () => {
    const directory = tempDirectory(owner);
    const file = (name: string, text: string): string => {
      writeFileSync(join(directory, name), text);
      return join(directory, name);
    };
    const users = Object.entries(tokens).map(
      ([name, { hash }]) =>
        `  ${name}: {role: admin, hash: "${hash}"${name in scopesOf ? `, scopes: ${scopesOf[name]}` : ""}}\n`,
    );
    world = await startCommandWorld(owner, {
      SVC_API_USERS_PATH: file("users.yml", `tokens:\n${users.join("")}`),
      SVC_API_BASIC_AUTH_METRICS_ENABLE: "true",
      SVC_STATE_DIRECTORY_PATH: join(directory, "state"),
      SVC_PROCESSOR_ENRICH_SCOPES_PATH: file(
        "scopes.yml",
        `acme: {match: [{vlan: 100}], entries: acme.yml, inherit: false}\nbeta: {match: [{vlan: 200}], entries: beta-${secret}.yml}\n`,
      ),
      SVC_PROCESSOR_ENRICH_NAMES_PATH: file(
        "names.yml",
        `vlan:*/200: {name: ${secret}-vlan}\nas:0: {name: ${secret}-as}\n`,
      ),
      SVC_EXPLORE_ENABLE: "true",
      SVC_EXPLORE_PATH: join(directory, "explore"),
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
      SVC_FLOW_SERVER_UDP_PORT: "0",
    });
    url = `http://127.0.0.1:${world.port}`;
    const put = async (scope: string, word: string): Promise<void> => {
      const udm = { name: `${word}-name`, tags: [`${word}-tag`], metadata: { [`${word}.key`]: `${word}-value` } };
      for (const key of ["10.0.0.0/8", "10.1.0.0/16", word === secret ? "10.9.9.9" : "10.8.8.8"]) {
        const { status } = await postJson(
          `${url}${base}/udm.v1.UdmService/CreateUdm`,
          { udm: { ...udm, key } },
          { ...bearer("whole"), "udm-scope": scope },
        );
        assert.equal(status, 200);
      }
    };
    await put("", secret);
    await put("beta", secret);
    await put("acme", "own");
  });

  const ask = (path: string, body: unknown, headers: Record<string, string>): Promise<JsonAnswer> =>
    postJson(url + path, body, headers);

  test("may use what belongs to no scope, and the entries of its own: everything else that there is, is refused", async () => {
    const { paths } = (await (await fetch(`${url}/openapi.json`, { headers: bearer("acme") })).json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const open: string[] = [];
    for (const [path, item] of Object.entries(paths)) {
      if (path.includes("/udm.v1.")) continue;
      for (const method of Object.keys(item)) {
        const response = await fetch(url + path.replace("{id}", "10.1.0.0"), {
          method: method.toUpperCase(),
          headers: { ...bearer("acme"), ...(method === "post" && { "content-type": "application/json" }) },
          ...(method === "post" && { body: "{}" }),
        });
        const isOpen = response.status !== 403;
        if (isOpen) open.push(`${method} ${path}`);
        else assert.match(await response.text(), /acme is for scope acme, this is of the whole collector/);
        await response.body?.cancel().catch(() => {});
      }
    }
    assert.ok(Object.keys(paths).some((path) => path.includes("/names.v1.NameToolsService/")));
    assert.deepEqual(open.toSorted(), [
      "get /",
      "get /api/v1/enrich/ipaddr/changes",
      "get /api/v1/explore/status",
      "get /api/v1/fields",
      "get /api/v1/flow/tail",
      "get /api/v1/sign-in",
      "get /livez",
      "get /openapi.json",
      "get /readyz",
      "get /session",
      "post /api/v1/explore/flows",
      "post /api/v1/explore/profile",
      "post /api/v1/explore/query",
      "post /api/v1/filter/completion",
      "post /api/v1/sessions",
      "post /logout",
    ]);
    const session = await fetch(`${url}/session`, { headers: bearer("acme") });
    assert.deepEqual(await session.json(), { name: "acme", role: "admin", scopes: ["acme"], by: "token" });
    const readiness = (await (await fetch(`${url}/readyz`, { headers: bearer("acme") })).json()) as {
      checks: readonly object[];
    };
    assert.ok(readiness.checks.every((check) => !("detail" in check)));
  });

  const services = scopedServices.flatMap((service) =>
    service.methods.map(({ name }) => `${service.typeName}/${name}`),
  );
  const wires = ["application/json", "application/proto", "application/connect+proto"];
  wires.push("application/grpc", "application/grpc+json", "application/grpc-web+proto", "application/grpc-web-text");
  /** Each way to name a scope; for the global entries no way. */
  const ways: Readonly<Record<string, (scope: string, method: string) => readonly [string, Record<string, string>]>> = {
    path: (scope, method) => [`${base}/scopes/${scope}/${method}`, {}],
    header: (scope, method) => [`${base}/${method}`, { "udm-scope": scope }],
    "header at the root": (scope, method) => [`/${method}`, { "udm-scope": scope }],
    "path, and its own scope as header": (scope, method) => [
      `${base}/scopes/${scope}/${method}`,
      { "udm-scope": "acme" },
    ],
  };

  test("is refused by every method, by every transport, in another scope, in none, and in one that is not there, in the same words", async () => {
    const refusal = async (path: string, wire: string, headers: Record<string, string>): Promise<string> => {
      const response = await fetch(url + path, { method: "POST", headers: { ...headers, "content-type": wire } });
      const text = `${decodeURIComponent(response.headers.get("grpc-message") ?? "")}${await response.text()}`;
      const isRefused = response.status === 403 || response.headers.get("grpc-status") === "7";
      assert.ok(isRefused, `${path} by ${wire}: ${response.status} ${text}`);
      return text;
    };
    const attack = async (method: string, wire: string): Promise<void> => {
      // How a scope is named is found out before the protocol: of that each has one way in turn.
      const isJson = wire === "application/json";
      const all = Object.values(ways);
      const turn = (services.indexOf(method) + wires.indexOf(wire)) % all.length;
      for (const way of isJson ? all : all.slice(turn, turn + 1)) {
        const texts: string[] = [];
        for (const scope of ["beta", "nope"]) {
          const [path, headers] = way(scope, method);
          texts.push(await refusal(path, wire, { ...headers, ...bearer("acme") }));
        }
        assert.equal(texts[0]?.replace("beta", "nope"), texts[1]);
        assert.match(String(texts[0]), /acme is for scope acme, this is scope .*beta/);
      }
      if (!isJson) return;
      assert.match(await refusal(`${base}/${method}`, wire, bearer("both")), /name one of them by the path/);
      assert.match(await refusal(`${base}/${method}`, wire, bearer("none")), /none is for scopes none/);
    };
    // One after the other over one connection: that is quicker than all at once over as many.
    for (const method of services) for (const wire of wires) await attack(method, wire);
    for (const path of [`${base}/scopes/beta/changes`, `${base}/changes`]) {
      for (const accept of ["text/event-stream", "application/json"]) {
        const headers = { ...bearer("acme"), accept, ...(path === `${base}/changes` && { "udm-scope": "beta" }) };
        assert.equal((await fetch(url + path, { headers })).status, 403);
      }
    }
  });

  test("cannot name another scope by how a name is spelt", async () => {
    const list = "udm.v1.UdmService/ListUdms";
    for (const name of [
      "acme,beta",
      "acme, beta",
      "beta,acme",
      "Beta",
      "acme/../beta",
      "%62eta",
      "beta%00",
      "__proto__",
    ]) {
      assert.equal((await ask(`${base}/${list}`, {}, { ...bearer("acme"), "udm-scope": name })).status, 403, name);
      if (!/[, ]/.test(name)) continue;
      assert.equal((await ask(`${base}/scopes/${encodeURIComponent(name)}/${list}`, {}, bearer("acme"))).status, 403);
    }
    for (const path of ["scopes/acme/../beta", "scopes//beta", "scopes/beta/", "scopes", "scopes/acme/scopes/beta"]) {
      const { status, body } = await ask(`${base}/${path}/${list}`, {}, bearer("acme"));
      assert.ok([403, 404].includes(status), `${path}: ${status}`);
      assert.doesNotMatch(JSON.stringify(body), new RegExp(secret));
    }
    // The first of two headers, and an empty one.
    const twice = [["udm-scope", "acme"], ["udm-scope", "beta"], ...Object.entries(bearer("acme"))] as [
      string,
      string,
    ][];
    const headers = new Headers([...twice, ["content-type", "application/json"]]);
    assert.equal((await fetch(`${url}${base}/${list}`, { method: "POST", headers, body: "{}" })).status, 403);
    const empty = await ask(`${base}/${list}`, {}, { ...bearer("acme"), "udm-scope": "" });
    assert.deepEqual(
      (empty.body["udms"] as { name: string }[]).map(({ name }) => name),
      Array(3).fill("own-name"),
    );
  });

  test("finds nothing of others in any answer of its own scope, and changes nothing of them", async () => {
    const requests: Readonly<Record<string, readonly unknown[]>> = {
      "udm.v1.UdmService/ListUdms": [{}, { key: "10.9.9.9" }],
      "udm.v1.UdmService/ListUdmKeys": [{}, { key: "10.9.9.9" }],
      "udm.v1.UdmService/CountUdms": [{}],
      "udm.v1.UdmService/CreateUdm": [{ udm: { key: "10.8.0.0/16", name: "own" } }],
      "udm.v1.UdmService/UpdateUdm": [{ udm: { key: "10.9.9.9", name: "own" } }],
      "udm.v1.UdmService/DeleteUdm": [{ key: "10.9.9.9" }, { key: "10.8.0.0/16" }],
      "udm.v1.UdmService/BatchCreateUdms": [{ requests: [{ udm: { key: "10.9.9.9", name: "own" } }] }],
      "udm.v1.UdmService/BatchUpdateUdms": [{ requests: [{ udm: { key: "10.9.9.9", name: "own" } }] }],
      "udm.v1.UdmToolsService/ListChanges": [{}, { key: "10.9.9.9" }, { author: "whole" }],
      "udm.v1.UdmToolsService/UndoChange": [{ id: 1, dryRun: true }, { id: 4 }, { id: 9 }],
      "udm.v1.UdmToolsService/BatchDeleteUdms": [{ keys: ["10.9.9.9"] }],
      "udm.v1.UdmToolsService/BatchUpsertUdms": [
        { requests: [{ udm: { key: "10.9.9.9" }, addTags: ["own"] }] },
        { requests: [{ udm: { key: "10.0.0.0/8" }, expected: { key: "10.0.0.0/8", name: "a guess" } }] },
      ],
      "udm.v1.UdmToolsService/ReplaceUdms": [{ filter: "", dryRun: true }],
      "udm.v1.UdmToolsService/SearchUdms": [{ text: secret }, { text: "10.9" }, { filter: "name ~ se" }, {}],
      "udm.v1.UdmToolsService/ExplainAddress": [
        { ip: "10.9.9.9" },
        { ip: "10.9.9.9", exporter: "10.9.9.9", ifIndex: 1 },
      ],
      "udm.v1.UdmToolsService/WatchUdms": [{ after: 0 }],
      "udm.v1.UdmToolsService/ImportUdms": [{ format: "csv", text: "key,name\n10.9.9.9,own\n", dryRun: true }],
      "udm.v1.UdmToolsService/ExportUdms": [
        ...["csv", "json", "ndjson", "yaml", ""].map((format) => ({ format })),
        { format: "csv", allScopes: true },
      ],
    };
    assert.deepEqual(Object.keys(requests).toSorted(), services.toSorted(), "each method has its request");
    for (const [method, bodies] of Object.entries(requests)) {
      for (const body of bodies) {
        const isStream = method.endsWith("WatchUdms");
        const json = JSON.stringify(body);
        const framed = Buffer.concat([Buffer.from([0, 0, 0, 0, json.length]), Buffer.from(json)]);
        const abort = new AbortController();
        const response = await fetch(`${url}${base}/${method}`, {
          method: "POST",
          headers: { ...bearer("acme"), "content-type": isStream ? "application/connect+json" : "application/json" },
          body: isStream ? framed : json,
          signal: abort.signal,
        });
        // A question of `secret` may stand in the message that answers it.
        const text = isStream
          ? Buffer.from((await response.body?.getReader().read())?.value ?? []).toString()
          : await response.text();
        abort.abort();
        assert.doesNotMatch(text, /secret-|secret\./, `${method} ${json}`);
      }
    }
    const shown = await ask(`${base}/udm.v1.UdmToolsService/ExplainAddress`, { ip: "10.9.9.9" }, bearer("acme"));
    assert.match(JSON.stringify(shown.body), /own-name/);
    const interfaces = { ip: "10.9.9.9", exporter: "10.9.9.9", ifIndex: 1 };
    const refused = await ask(`${base}/udm.v1.UdmToolsService/ExplainAddress`, interfaces, bearer("acme"));
    assert.deepEqual(
      [refused.status, refused.body["message"]],
      [403, "if_index: acme is for scope acme, this is of the whole collector"],
    );
    for (const scope of ["", "beta"]) {
      const { body } = await ask(`${base}/udm.v1.UdmService/ListUdms`, {}, { ...bearer("whole"), "udm-scope": scope });
      const names = (body["udms"] as { name: string }[]).map(({ name }) => name);
      assert.deepEqual(names, Array(3).fill(`${secret}-name`), scope);
    }
  });

  test("sees of the scopes themselves its own, and changes none", async () => {
    const call = (method: string, body: unknown, who: string): Promise<JsonAnswer> =>
      ask(`${base}/udm.v1.ScopeService/${method}`, body, bearer(who));
    const named: Readonly<Record<string, readonly string[]>> = {
      whole: ["acme", "beta"],
      both: ["acme", "beta"],
      acme: ["acme"],
      none: [],
    };
    for (const [who, names] of Object.entries(named)) {
      const { body } = await call("ListScopes", {}, who);
      assert.deepEqual(
        ((body["scopes"] ?? []) as { name: string }[]).map(({ name }) => name),
        names,
      );
      if (!names.includes("beta")) assert.doesNotMatch(JSON.stringify(body), new RegExp(secret));
      if (who === "whole") continue;
      for (const name of ["acme", "beta", "new"]) {
        assert.equal((await call("SetScope", { scope: { name } }, who)).status, 403);
        assert.equal((await call("DeleteScope", { name }, who)).status, 403);
      }
    }
  });

  test("of several scopes may name each, by commands too", async () => {
    const env = { NETGLOSS_URL: url, NETGLOSS_TOKEN: tokens["both"]?.token ?? "" };
    const run = async (...argv: string[]): Promise<readonly [number, string]> => {
      const { code, out, err } = await world.runWith({ env }, "udm", ...argv);
      return [code, out + err];
    };
    const [code, said] = await run("count");
    assert.equal(code, 5);
    assert.match(said, /both is for scopes acme, beta: name one of them/);
    assert.deepEqual(await run("count", "--scope", "beta"), [0, "3\n"]);
    const byEnvironment = await world.runWith({ env: { ...env, NETGLOSS_SCOPE: "acme" } }, "udm", "list", "-o", "name");
    assert.match(byEnvironment.out, /10\.8\.8\.8/);
    assert.match((await run("count", "--scope", "a b"))[1], /expected the name of a scope/);
  });

  test("of flows, as lines, events and Arrow, of completions and of what Explore keeps, gets what is of its own", async () => {
    const template = { id: 256, fields: fields([8, 4], [12, 4], [58, 2], [59, 2], [1, 4], [82, 8]) };
    const flow = (vlanIn: number, vlanOut: number): Buffer[] => [
      ipv4("10.8.8.8"),
      ipv4("10.9.9.9"),
      uint(vlanIn, 2),
      uint(vlanOut, 2),
      uint(77, 4),
      Buffer.from("secret-1"),
    ];
    // Within one scope, out of it, of others, and of nobody.
    const flows = [flow(100, 100), flow(100, 200), flow(200, 200), flow(300, 300), flow(200, 100)];
    const packet = ipfix([ipfixTemplates(template), dataSet(template, ...flows)]);
    const sending = setInterval(() => void sendDatagram(world.flowPorts[0] ?? 0, packet), 50);
    const tail = async (query: string, headers: Record<string, string> = {}): Promise<Buffer> => {
      const response = await fetch(`${url}/api/v1/flow/tail?limit=6&${query}`, {
        headers: { ...bearer("acme"), ...headers },
      });
      assert.equal(response.status, 200);
      return Buffer.from(await response.arrayBuffer());
    };
    const isClean = (text: string): void => assert.doesNotMatch(text, /secret|beta|127\.0\.0\.1/);
    try {
      const named = encodeURIComponent("src.name = own-name or dst.name = own-name");
      const lines = (await tail(`notes=true&filter=${named}`)).toString();
      isClean(lines);
      const said = lines.split("\n").filter((text) => text !== "");
      const isCount = (text: string): boolean => text.startsWith('{"tail":');
      const records = said
        .filter((text) => !isCount(text))
        .map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
      const ends = records.map((record) => [record["flow.src.ip.subnet.name"], record["flow.dst.ip.subnet.name"]]);
      assert.deepEqual([...new Set(ends.map((names) => JSON.stringify(names)))].toSorted(), [
        '["own-name","own-name"]',
        '["own-name",null]',
        '[null,"own-name"]',
      ]);
      const counts = said.filter(isCount).map((text) => (JSON.parse(text) as { tail: { seen: number } }).tail);
      assert.equal(counts.reduce((sum, { seen }) => sum + seen, 0) % 3, 0, "three of five flows are seen");
      const events = (await tail(`filter=${named}`, { accept: "text/event-stream" })).toString();
      assert.match(events, /^data: \{.*own-name/);
      isClean(events);
      const arrow = await tail(`format=arrow&filter=${named}`);
      const table = tableFromIPC(arrow);
      assert.equal(table.numRows, 6);
      for (const row of table)
        isClean(JSON.stringify(Object.values(row.toJSON()), (_, value: unknown) => String(value)));
      assert.equal(arrow.includes(secret), false);
      const filter = encodeURIComponent(
        "exporter exists or src.name = secret-name or src.scope = beta or flow.in.netif.name exists",
      );
      const nothing = await fetch(`${url}/api/v1/flow/tail?filter=${filter}&notes=true`, { headers: bearer("acme") });
      const reader = nothing.body?.getReader();
      const first = Buffer.from((await reader?.read())?.value ?? []).toString();
      await reader?.cancel();
      assert.match(first, /^\{"tail":\{.*"passed":0\}\}\n$/);
      const ofNone = await fetch(`${url}/api/v1/flow/tail?notes=true`, { headers: bearer("none") });
      const noneReader = ofNone.body?.getReader();
      assert.match(
        Buffer.from((await noneReader?.read())?.value ?? []).toString(),
        /^\{"tail":\{"seen":0,"examined":0,"matched":0,"passed":0\}\}\n$/,
      );
      await noneReader?.cancel();

      const offers = async (asked: string, of: string, who: string): Promise<readonly string[]> => {
        const { status, body } = await ask("/api/v1/filter/completion", { filter: asked, of }, bearer(who));
        assert.equal(status, 200);
        // A fault repeats the question.
        if (who === "acme") isClean(JSON.stringify(body["items"]));
        return (body["items"] as { insert: string }[]).map(({ insert }) => insert);
      };
      const own = async (): Promise<boolean> => (await offers("src.name = ", "records", "acme")).includes("own-name");
      await until("the words are read", own);
      await until("its tags are read", async () => (await offers("tag = ", "metadata", "acme")).length === 2);
      assert.deepEqual(await offers("tag = ", "metadata", "acme"), ["own", "own-tag"]);
      await until(
        "those of two scopes are read",
        async () => (await offers("tag = ", "metadata", "both")).length === 3,
      );
      assert.deepEqual(await offers("tag = ", "metadata", "none"), []);
      await until("who may see all has them", async () =>
        (await offers("exporter = ", "records", "whole")).includes("127.0.0.1"),
      );
      for (const field of [
        "exporter",
        "src.name",
        "dst.name",
        "src.tag",
        "src.scope",
        "flow.dst.secret.key",
        "in.vlan",
      ])
        await offers(`${field} = `, "records", "acme");
      for (const beginning of ["", "sec", "metadata.", "src.se", "exp", "flow.export", "flow.in"])
        for (const of of ["records", "metadata"]) await offers(beginning, of, "acme");
    } finally {
      clearInterval(sending);
    }
    // What completions have asked Explore for is answered before this.
    assert.equal((await ask("/api/v1/explore/query", { granularity: "none" }, bearer("acme"))).status, 200);
    const state = await fetch(`${url}/api/v1/explore/status`, { headers: bearer("acme") });
    const status = (await state.json()) as { fields: { name: string }[] };
    isClean(JSON.stringify(status));
    assert.deepEqual(Object.keys(status).toSorted(), [
      "enabled",
      "fields",
      "from",
      "retention",
      "rollups",
      "sampling",
      "store",
    ]);
    assert.ok(status.fields.some(({ name }) => name === "flow.src.ip.subnet.name"));
  });
});
