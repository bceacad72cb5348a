import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { test } from "node:test";
import { requireProgram } from "../../support/require-program.ts";
import { encodePcap, udpFrame } from "../../support/pcap.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { startWithFlows } from "./collector-with-flows.ts";

test("Live: flows go by, a filter keeps some, a click names an address, and the next flow carries the name", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector } = await startWithFlows(t);
  await collector().call("CreateUdm", { udm: { key: "10.10.20.5", name: "web-1" } });
  const { page, errors } = await openPage(browser);
  await page.goto(`${url}/live`);
  const table = page.getByRole("table", { name: "Flows, the newest first" });
  await table.getByText("web-1").first().waitFor();

  // A filter with a fault says where; the one before is not lost.
  const filter = page.getByRole("combobox", { name: "Filter" });
  await filter.fill("src > 7");
  await page.getByRole("button", { name: "Apply" }).click();
  await page
    .getByRole("alert")
    .filter({ hasText: /filter:1:5: src is an address/ })
    .waitFor();
  assert.equal(await filter.getAttribute("aria-invalid"), "true");
  assert.deepEqual(await axeFindings(page), []);

  await filter.fill("src = 192.0.2.77");
  await filter.press("Enter");
  await page.waitForURL("**/live?filter=src+%3D+192.0.2.77");
  await page.getByRole("button", { name: "Clear" }).click();
  const nameIt = table.getByRole("button", { name: "name it: 192.0.2.77" });
  await nameIt.first().waitFor();
  assert.equal(await table.getByText("10.10.10.16").count(), 0);

  await nameIt.first().click();
  const dialog = page.getByRole("dialog", { name: "Name 192.0.2.77" });
  await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("scanner");
  assert.deepEqual(await axeFindings(page), []);
  await dialog.getByRole("textbox", { name: "Name", exact: true }).press("Enter");
  await page.getByText("is saved. The next flow carries the name.").waitFor();
  await table.getByText("scanner").first().waitFor();

  // All fields of a flow, with what was added set apart.
  await page.getByRole("button", { name: "Pause" }).click();
  await table
    .getByRole("button", { name: /^All fields of the flow/ })
    .first()
    .click();
  await table.getByText("flow.src.ip.subnet.name").waitFor();
  const colorOf = (field: string): Promise<string> =>
    table
      .getByText(field, { exact: true })
      .evaluate((element) => element.computedStyleMap().get("color")?.toString() ?? "");
  assert.notEqual(await colorOf("flow.src.ip.subnet.name"), await colorOf("flow.src.ip.addr"));
  assert.deepEqual(await axeFindings(page), []);

  // The term can be taken away.
  await page.getByRole("button", { name: "Remove src = 192.0.2.77" }).click();
  await page.waitForURL((to) => !to.search.includes("filter"));
  await page.getByRole("button", { name: "Go on" }).click();
  await table.getByText("web-1").first().waitFor();
  assert.deepEqual(errors(400), []);
});

test("softflowd sends, the page shows it, a name is typed, the next flow of softflowd carries it", async (t) => {
  if (requireProgram(t, "softflowd", "apt-get install softflowd") === undefined) return;
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const { url, collector, directory } = await startWithFlows(t);
  const capture = join(directory, "capture.pcap");
  const send = async (): Promise<void> => {
    const frame = udpFrame({
      source: Buffer.from([198, 51, 100, 9]),
      destination: Buffer.from([10, 10, 20, 5]),
      sourcePort: 4711,
      destinationPort: 53,
      payloadLength: 400,
    });
    const start = Date.now() - 60_000;
    writeFileSync(capture, encodePcap([0, 1, 2].map((at) => ({ time: start + at, frame }))));
    const target = `127.0.0.1:${collector().flowPort}`;
    const options = ["-d", "-r", capture, "-v", "10", "-n", target, "-p", join(directory, "pid"), "-c", "none"];
    await promisify(execFile)("softflowd", options);
  };
  const { page } = await openPage(browser);
  await page.goto(`${url}/live?filter=src.port+%3D+4711`);
  await page.getByText("No flow has matched yet").waitFor();
  await send();
  const table = page.getByRole("table", { name: "Flows, the newest first" });
  await table.getByRole("button", { name: "name it: 198.51.100.9" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name", exact: true }).fill("time server");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText("is saved. The next flow carries the name.").waitFor();
  await send();
  await table.getByText("time server").waitFor();
});
