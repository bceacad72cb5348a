import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { createCollector, readSettings } from "../../src/app/index.ts";
import { progressLine, showProgress } from "../../src/app/cli/client/api-call.ts";
import { shippedPackages, createSettingsView, type SettingsView } from "../../src/app/views/settings-view.ts";
import { silentLog, systemClock } from "../../src/base/report/index.ts";
import { startHttpServer } from "../output/http/http-fixture.ts";
import { cleanUp } from "../support/clean-up.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

const layer = (given: Readonly<Record<string, string>>, origin: string) =>
  Object.entries(given).map(([name, text]) => ({ name, text, origin }));

async function viewOf(
  now: Readonly<Record<string, string>>,
  next: () => Readonly<Record<string, string>>,
): Promise<SettingsView> {
  const reading = readSettings([layer(now, "netgloss.yml")], () => "");
  const readAgain = async () => readSettings([layer(next(), "netgloss.yml")], () => "");
  const place = { reading, readAgain };
  const { settings } = reading;
  return createSettingsView({ settings, place, version: "1.2.3", clock: systemClock, hasMetadata: () => true })();
}

test("the settings are shown with where they come from, secrets never", async () => {
  const given = {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "operator",
    SVC_API_BASIC_AUTH_PASSWORD: "verysecret",
    SVC_OUTPUT_KAFKA__EDGE__TOPIC: "edge",
    SVC_OUTPUT_KAFKA__EDGE__SASL_PASSWORD: "alsosecret",
  };
  const view = await viewOf(given, () => ({
    ...given,
    SVC_API_BASIC_AUTH_PASSWORD: "newsecret",
    SVC_API_PORT: "9090",
  }));
  const text = JSON.stringify(view);
  for (const secret of ["verysecret", "alsosecret", "newsecret"]) assert.ok(!text.includes(secret));
  const of = (name: string) => view.settings.find((setting) => setting.name === name);
  const user = of("SVC_API_BASIC_AUTH_USERNAME");
  assert.deepEqual([user?.value, user?.origin, user?.group], ["operator", "netgloss.yml", "API"]);
  const password = of("SVC_API_BASIC_AUTH_PASSWORD");
  assert.deepEqual([password?.value, password?.isSecret, password?.isSet], [undefined, true, true]);
  assert.deepEqual([of("SVC_API_PORT")?.value, of("SVC_API_PORT")?.origin], ["8080", "default"]);
  assert.equal(of("SVC_OUTPUT_KAFKA__EDGE__TOPIC")?.value, "edge");
  assert.deepEqual(
    view.restart.changes.map(({ name, inForce, next, isSecret }) => [name, inForce, next, isSecret]),
    [
      ["SVC_API_PORT", "8080", "9090", undefined],
      ["SVC_API_BASIC_AUTH_PASSWORD", undefined, undefined, true],
    ].toSorted(
      (a, b) =>
        view.settings.findIndex(({ name }) => name === a[0]) - view.settings.findIndex(({ name }) => name === b[0]),
    ),
  );
});

test("settings that would not let a restart succeed are said with their problems", async () => {
  const view = await viewOf({}, () => ({ SVC_API_PORT: "none" }));
  assert.deepEqual(view.restart.changes, []);
  assert.match(view.restart.problems.join(), /SVC_API_PORT must be/);
  assert.deepEqual(view.reload.leavesAlone, ["settings: only a restart reads them"]);
});

test("the packages that are shipped have a version and a licence, dependencies of dependencies, too", async () => {
  const packages = await shippedPackages();
  const names = new Set(packages.map(({ name }) => name));
  for (const name of ["pino", "commander"]) assert.ok(names.has(name), name);
  assert.ok(names.has("sonic-boom"), "pino needs it");
  assert.ok(names.has("preact"), "it is in the pages");
  assert.ok(!names.has("typescript"));
  assert.deepEqual(
    packages.filter(({ version, license }) => version === "" || license === ""),
    [],
  );
});

test("a collector answers what its pages show: settings, definitions, progress, where flows are received", async (t) => {
  const { port } = await startCommandWorld(t, {
    SVC_FLOW_SERVER_UDP_ENABLE: "true",
    SVC_FLOW_SERVER_UDP_IP: "127.0.0.1",
    SVC_FLOW_SERVER_UDP_PORT: "0",
    SVC_PROCESSOR_POOL_SIZE: "main",
  });
  const get = async (path: string): Promise<Record<string, unknown>> =>
    (await (await fetch(`http://127.0.0.1:${port}${path}`)).json()) as Record<string, unknown>;
  assert.equal((await get("/api/v1/settings"))["version"], "0.0.0");
  assert.deepEqual(await get("/api/v1/progress"), { tasks: [] });
  assert.deepEqual(await get("/api/v1/snmp/definitions"), { enabled: false });
  const { listening } = (await get("/api/v1/flow/exporters")) as { listening: { addresses: string[]; udp: number[] } };
  assert.deepEqual([listening.addresses, listening.udp.length], [["127.0.0.1"], 1]);
  const events = await fetch(`http://127.0.0.1:${port}/api/v1/progress/events`, {
    headers: { accept: "text/event-stream" },
  });
  const reader = events.body?.getReader();
  assert.equal(Buffer.from((await reader?.read())?.value ?? []).toString(), 'data: {"tasks":[]}\n\n');
  await reader?.cancel();
});

test("an output is tested over the API: the result is reported in the words of the store", async (t) => {
  const server = await startHttpServer(t);
  const settings = {
    SVC_API_PORT: "0",
    SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${server.port}/in`,
    SVC_STATE_DIRECTORY_PATH: tempDirectory(t),
  };
  const collector = createCollector({
    settings: readSettings([layer(settings, "test")], () => "").settings,
    log: silentLog,
    clock: systemClock,
    version: "0.0.0",
  });
  await collector.start();
  cleanUp(t, () => collector.stop());
  const ask = async (name: string): Promise<[number, Record<string, unknown>]> => {
    const response = await fetch(`http://127.0.0.1:${collector.apiPort()}/api/v1/outputs/${name}/test`, {
      method: "POST",
    });
    return [response.status, (await response.json()) as Record<string, unknown>];
  };
  const [status, good] = await ask("http");
  assert.deepEqual([status, good["ok"], good["steps"]], [200, true, ["connected", "acknowledged"]]);
  assert.equal((JSON.parse(server.calls.at(-1)?.body ?? "") as Record<string, unknown>)["flow.export.type"], "test");
  server.answer = (_, response) => void response.writeHead(403).end();
  const [, bad] = await ask("http");
  assert.equal(bad["ok"], false);
  assert.match(String(bad["fault"]), /refuses the credentials/);
  assert.equal((await ask("nothing"))[0], 404);
});

test("a terminal shows how far the collector is, and nothing of it stays", async () => {
  const task = {
    id: 1,
    kind: "import",
    subject: "csv",
    step: "reading",
    done: 420,
    total: 1000,
    unit: "characters",
    startedAt: 0,
  } as const;
  let written = "";
  const steps = new EventEmitter();
  const work = once(steps, "done").then(() => "imported");
  const ask = async (): Promise<unknown> => {
    setTimeout(() => steps.emit("done"), 20);
    return { tasks: [task, { ...task, id: 2, kind: "replace" }] };
  };
  const client = { base: "", ask, read: () => Promise.reject(new Error("not asked for")) };
  const terminal = { isWatched: true, err: (text: string) => void (written += text) };
  assert.equal(await showProgress(client, "import", terminal, work), "imported");
  assert.equal(written, `\rreading: 42 %\r${" ".repeat(13)}\r`);
  assert.equal(progressLine({ ...task, done: 0 }), "reading …");
});
