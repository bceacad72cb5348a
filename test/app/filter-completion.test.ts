import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { netflowV5Datagram } from "../support/netflow-v5.ts";
import { sendDatagram } from "../support/send-datagram.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";
import { until } from "../support/until.ts";

interface Completion {
  readonly expects: string;
  readonly items: readonly { readonly insert: string; readonly bytes?: number; readonly detail?: string }[];
  readonly fault?: { readonly line: number; readonly column: number; readonly fault: string };
}

test("filters are completed with names, tags and keys of the metadata, with exporters, by traffic", async (t) => {
  const { run, port, flowPorts } = await startCommandWorld(t, {
    SVC_EXPLORE_ENABLE: "true",
    SVC_EXPLORE_PATH: join(tempDirectory(t), "explore"),
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
  });
  const ask = async (body: object): Promise<Completion> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/filter/completion`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Completion;
  };
  const offers = async (filter: string): Promise<readonly string[]> =>
    (await ask({ filter })).items.map(({ insert }) => insert);

  await run("udm", "set", "10.0.0.1", "--name", "web one", "--tag", "+web", "--meta", ".site.name=Berlin");
  await run("udm", "set", "10.0.0.2", "--name", "Web-two");
  await run("udm", "set", "10.0.0.3", "--name", "db");
  await run("udm", "set", "127.0.0.1", "--name", "edge");
  const records = [
    { source: "10.0.0.2", destination: "10.0.0.1", bytes: 9000, packets: 4 },
    { source: "10.0.0.1", destination: "10.0.0.2", bytes: 100, packets: 1 },
  ];
  await until("the names are looked up", async () => (await offers("src.name = we")).length === 2);
  assert.deepEqual(await offers("name = w"), ["Web-two", '"web one"']);
  assert.deepEqual(await offers("tag = "), ["web"]);
  assert.deepEqual((await offers("src.si")).slice(0, 1), ["src.site.name"]);
  assert.deepEqual(await offers("src.site.name = "), ["Berlin"]);
  assert.deepEqual((await offers("src.t")).slice(0, 1), ["src.tag"]);
  assert.deepEqual((await offers("bytes ")).slice(0, 3), ["=", "!=", "<"]);
  assert.deepEqual(await offers("src.internal = "), ["false", "true"]);
  assert.deepEqual(await offers("src = 10.0.0.1 "), ["and", "or"]);
  assert.deepEqual(await offers("no.such = "), []);
  const ofEntries = async (filter: string): Promise<readonly string[]> =>
    (await ask({ filter, of: "metadata" })).items.map(({ insert }) => insert);
  assert.deepEqual((await ofEntries("ta")).slice(0, 2), ["tag", "tags"]);
  assert.deepEqual(await ofEntries("metadata"), ["metadata..site.name"]);
  assert.deepEqual(await ofEntries("name = w"), ['"web one"', "Web-two"]);
  assert.deepEqual(await ofEntries("not tag = "), ["web"]);
  assert.deepEqual(await ofEntries("metadata..site.name = b"), ["Berlin"]);
  assert.deepEqual(await ofEntries("internal = t"), ["true"]);
  assert.deepEqual(await ofEntries("bytes = "), []);
  assert.match((await ask({ filter: "bytes > 1", of: "metadata" })).fault?.fault ?? "", /bytes/);

  await until("an exporter is known", async () => {
    await sendDatagram(flowPorts[0] ?? 0, netflowV5Datagram(records, 0, Math.floor(Date.now() / 1000)));
    return (await offers("exporter = ed")).includes("127.0.0.1");
  });
  // Not asked for before there was traffic: a look-up is kept for a while.
  const services = await until("traffic is kept", async () => {
    const { items } = await ask({ filter: "src = 10.0.0." });
    return items.length > 0 && items;
  });
  assert.deepEqual(
    services.map(({ insert }) => insert),
    ["10.0.0.2", "10.0.0.1"],
  );
  assert.ok((services[0]?.bytes ?? 0) > (services[1]?.bytes ?? 0));

  const { fault } = await ask({ filter: "src = 10.0.0.1 and flarb = 1" });
  assert.deepEqual([fault?.line, fault?.column], [1, 20]);
  for (const body of [{ cursor: 9 }, { filter: 7 }, { filter: "x", cursor: -1 }, { text: "x" }, []]) {
    assert.equal(((await ask(body)) as unknown as { code: string }).code, "invalid_argument", JSON.stringify(body));
  }
});
