import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startHttpServer } from "../../output/http/http-fixture.ts";
import { cleanUp } from "../../support/clean-up.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { counter32, createSnmpAgent, integer, listen, oidOf } from "../../support/snmp-agent/index.ts";
import { rigTable } from "../../support/snmp-rig.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

test("Exporters: who sends, what the doctor says, and commands for a router with this collector's address", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t);
  await collector().call("CreateUdm", { udm: { key: "127.0.0.1", name: "edge-1" } });
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/exporters`);
  const row = page.getByRole("table", { name: "Exporters" }).getByRole("row", { name: /edge-1 127\.0\.0\.1/ });
  await row.getByText("NetFlow v5").waitFor();
  await row.getByRole("link").click();
  await page.waitForURL("**/exporters?exporter=127.0.0.1");
  // Each port that sends has a part of its own.
  await page.getByRole("heading", { level: 3, name: "NetFlow v5, domain 0" }).first().waitFor();
  await page
    .getByRole("combobox", { name: "Router or agent" })
    .selectOption({ label: "Cisco IOS-XE (Flexible NetFlow)" });
  const commands = page.getByLabel("Commands for Cisco IOS-XE (Flexible NetFlow)");
  await commands.getByText(`transport udp ${collector().flowPort}`).waitFor();
  await page.getByRole("combobox", { name: "This collector" }).fill("192.0.2.53");
  await commands.getByText("destination 192.0.2.53").waitFor();
  await page.waitForURL("**/*collector=192.0.2.53*");
  assert.deepEqual(await axeFindings(page), []);
  assert.deepEqual(errors(), []);
});

test("Outputs: what waits, why the server refuses, and a test that reports the result", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const server = await startHttpServer(t);
  server.answer = ({ body }, response) => {
    const isRefused = body.includes('"192.0.2.77"') || body.includes('"flow.export.type":"test"');
    response.writeHead(isRefused ? 422 : 200).end(isRefused ? "field bytes is no keyword" : "");
  };
  const { url } = await startWithFlows(t, {
    SVC_OUTPUT_GENERIC_HTTP_ENABLE: "true",
    SVC_OUTPUT_GENERIC_HTTP_ADDRESSES: `http://127.0.0.1:${server.port}/in`,
    SVC_OUTPUT_GENERIC_HTTP_BATCH_DEADLINE: "50",
  });
  const { page, errors } = await openPage(browser, { theme: "dark" });
  await page.goto(`${url}/outputs`);
  const letters = page.getByRole("table", { name: "Dead letters of http by reason" });
  await letters.getByText(/422/).first().waitFor();
  const badge = page.getByText("records are refused", { exact: true });
  await badge.waitFor();
  await page.getByRole("button", { name: "Send a test record" }).click();
  await page
    .getByRole("status")
    .filter({ hasText: /The test of http failed: .*422/ })
    .waitFor();
  assert.deepEqual(await axeFindings(page), []);
  server.answer = (_, response) => void response.writeHead(200).end();
  await page.getByRole("button", { name: "Send a test record" }).click();
  await page.getByRole("status").filter({ hasText: "http took one record and acknowledged it." }).waitFor();
  assert.equal(await badge.isVisible(), true, "some were refused within the last minute");
  const overview = await page.context().newPage();
  await overview.goto(url);
  await overview.getByRole("link", { name: /^wrong Outputs 2 records are refused by 1$/ }).waitFor();
  await overview.getByRole("link", { name: /^The store of the output http refuses records: .*422/ }).waitFor();
  for (const each of [page, overview]) await each.clock.setSystemTime(Date.now() + 120_000);
  await badge.waitFor({ state: "detached" });
  await letters.waitFor();
  await page.getByRole("button", { name: "Send the dead letters again" }).click();
  await letters.waitFor({ state: "detached" });
  await overview.getByRole("link", { name: /^fine Outputs 2 none is behind$/ }).waitFor();
  assert.deepEqual(errors(), []);
});

test("Outputs: full, failing and idle ones: what is lost and why, and only numbers that there are", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url } = await startWithFlows(t);
  const { page } = await openPage(browser, { width: 360 });
  await page.goto(`${url}/outputs`);
  const facts = (): Promise<readonly string[]> => page.getByRole("term").allInnerTexts();
  await page.getByText("Written", { exact: true }).waitFor();
  assert.deepEqual(await facts(), ["Queue in memory", "Written", "Dropped"]);
  const idle = { waitingRecords: 0, spoolMode: "overflow", spoolBytes: 0, spoolMaxBytes: 4096, inFlight: 0 };
  const full = {
    state: "failing",
    fault: "nothing listens there",
    queueBytes: 1_048_576,
    spoolMode: "off",
    inFlight: 0,
  };
  const outputs = [
    { name: "file", state: "failing", fault: "ENOSPC", droppedRecords: 7, drops: [{ reason: "stopped", records: 7 }] },
    { name: "loki", state: "working", queueBytes: 0, ...idle, deliveredRecords: 0, droppedRecords: 0, canTest: true },
    {
      name: "http",
      ...full,
      droppedRecords: 44_932,
      drops: [{ reason: "queue_full", records: 44_932 }],
      canTest: true,
    },
    { name: "nats", state: "restarting" },
  ];
  await page.route("**/api/v1/outputs", (route) => route.fulfill({ json: { outputs } }));
  await page.getByText(/^7 records are lost: the collector stopped before they were written\.$/).waitFor();
  await page.getByText(/^44\s932 records are lost: the queue in memory was full\. A spool on disk keeps/).waitFor();
  await page.getByText("no request yet").first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
});

test("Settings: what is in force and where it comes from, found by words, secrets hidden", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t, { SVC_OUTPUT_CRIBL_TOKEN: "verysecret" });
  const { page } = await openPage(browser);
  await page.goto(`${url}/settings`);
  const flows = page.getByRole("table", { name: "Settings: Flows" });
  await flows.getByRole("row", { name: /SVC_FLOW_SERVER_UDP_ENABLE .* true environment/ }).waitFor();
  await page.getByRole("searchbox", { name: "Find" }).fill("cribl token");
  await page.getByRole("row", { name: /SVC_OUTPUT_CRIBL_TOKEN .* hidden environment/ }).waitFor();
  assert.ok(!(await page.content()).includes("verysecret"));
  await page.waitForURL("**/settings?find=cribl+token");
  await page.getByText(/packages that it is shipped with/).click();
  await page.getByRole("row", { name: /^pino / }).waitFor();
  assert.deepEqual(await axeFindings(page), []);
  assert.ok(collector().api.startsWith("http"));
});

test("Devices: interfaces with rates, a discovery that is watched, definitions looked at before they are applied", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const rows = [
    { oid: oidOf("1.3.6.1.2.1.2.2.1.10.2"), value: counter32(0, 125_000) },
    { oid: oidOf("1.3.6.1.2.1.2.2.1.8.2"), value: integer(1) },
  ];
  const agent = await listen(createSnmpAgent({ table: rigTable.with(rows) }));
  cleanUp(t, () => agent.close());
  const definitions = join(tempDirectory(t), "devices");
  mkdirSync(definitions);
  const file = join(definitions, "lab.yml");
  const device = `lab-1:\n  ip: ${agent.address}\n  port: ${agent.port}\n  communities: [public]\n  device_groups: [generic]\n  poll_interval: 2\n  poll_intervals: {dynamic: 2, stable: 2}\n`;
  writeFileSync(file, device);
  const { url } = await startWithFlows(t, {
    SVC_INPUT_SNMP_ENABLE: "true",
    SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: definitions,
  });
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/devices`);
  await page
    .getByRole("table", { name: "Devices" })
    .getByRole("row", { name: /lab-1 .* up/ })
    .getByRole("link", { name: "lab-1" })
    .click();
  const interfaces = page.getByRole("table", { name: "Interfaces of lab-1" });
  await interfaces.getByRole("row", { name: /eth0 up .*(0\.9|1|1\.\d+).Mbit\/s/ }).waitFor({ timeout: 60_000 });
  await page.getByRole("button", { name: "Rediscover" }).click();
  await page.getByRole("status").filter({ hasText: "Discovered: what the device has now is polled." }).waitFor();
  assert.deepEqual(await axeFindings(page), []);

  writeFileSync(file, "lab-1: {ip: nowhere}\n");
  await page.getByRole("button", { name: "Apply definitions …" }).click();
  const dialog = page.getByRole("dialog", { name: "Apply SNMP definitions" });
  await dialog
    .getByRole("table", { name: "What is wrong with the files" })
    .getByText(/lab\.yml:1/)
    .first()
    .waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Apply", exact: true }).getAttribute("aria-disabled"), "true");
  assert.deepEqual(await axeFindings(page), []);
  writeFileSync(file, device.replace("lab-1", "lab-2"));
  await dialog.getByRole("button", { name: "Read the files again" }).click();
  await dialog
    .getByText(/devices? use|would use/)
    .first()
    .waitFor();
  await dialog.getByRole("button", { name: "Apply", exact: true }).click();
  await dialog.getByText("Applied.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("table", { name: "Devices" }).getByText("lab-2").waitFor();
  assert.deepEqual(errors(), []);
});
