import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createToken, hashPassword } from "../../../src/server/index.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { until } from "../../support/until.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

test("a viewer sees all pages; what needs another role stays in reach, does nothing and says why", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const users = join(tempDirectory(t), "users.yml");
  const user = (role: string, hash: string): string => `    role: ${role}\n    password: ${hash}\n`;
  const hashes = await Promise.all(["v", "e"].map((password) => hashPassword(password)));
  writeFileSync(users, `users:\n  vera:\n${user("viewer", hashes[0] ?? "")}  ed:\n${user("editor", hashes[1] ?? "")}`);
  const { url } = await startWithFlows(t, { SVC_API_USERS_PATH: users });
  const authorization = `Basic ${Buffer.from("ed:e").toString("base64")}`;
  await fetch(`${url}/udm.v1.UdmService/CreateUdm`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization },
    body: JSON.stringify({ udm: { key: "10.10.20.5", name: "web-1" } }),
  });
  const { page } = await openPage(browser, { width: 360, height: 740 });
  await page.goto(`${url}/address/10.10.20.5`);
  const form = page.getByRole("form", { name: "Sign in with a password" });
  await form.getByRole("textbox", { name: "Name" }).fill("vera");
  await form.getByRole("textbox", { name: "Password" }).fill("v");
  await form.getByRole("button", { name: "Sign in" }).click();
  const reason = "This needs the role editor; vera has the role viewer.";
  const edit = page.getByRole("button", { name: "Edit its entry" });
  await edit.waitFor();
  assert.equal(await edit.getAttribute("aria-disabled"), "true");
  assert.equal(await edit.getAttribute("title"), reason);
  await edit.click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0);
  assert.deepEqual(await axeFindings(page), []);
  await page.goto(`${url}/metadata`);
  const row = page.getByRole("grid", { name: "Entries" }).getByRole("row", { name: /10\.10\.20\.5 web-1/ });
  await row.waitFor();
  await page.getByText(reason).first().waitFor({ state: "attached" });
  assert.equal(await page.getByRole("button", { name: "New entry …" }).getAttribute("aria-disabled"), "true");
  await page.getByRole("button", { name: "History", exact: true }).click();
  await page.getByRole("button", { name: "Show change 1" }).click();
  await page.getByText("+ name: web-1").waitFor();
  assert.equal(await page.getByRole("button", { name: "Undo change 1" }).getAttribute("aria-disabled"), "true");
  assert.deepEqual(await axeFindings(page), []);
});

test("who is limited to scopes gets the pages that have something of these, of one scope at a time, and no error on any", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const directory = tempDirectory(t);
  const tina = createToken("tina");
  const whole = createToken("whole");
  writeFileSync(
    join(directory, "users.yml"),
    `tokens:\n  tina: {role: editor, scopes: [acme, beta], hash: "${tina.hash}"}\n  whole: {role: admin, hash: "${whole.hash}"}\n`,
  );
  writeFileSync(
    join(directory, "scopes.yml"),
    "acme: {match: [{exporter: 127.0.0.1}], entries: acme.yml}\nbeta: {entries: beta.yml}\n",
  );
  const { url } = await startWithFlows(t, {
    SVC_API_USERS_PATH: join(directory, "users.yml"),
    SVC_PROCESSOR_ENRICH_SCOPES_PATH: join(directory, "scopes.yml"),
    SVC_EXPLORE_ENABLE: "true",
  });
  for (const [scope, name] of [
    ["acme", "web-acme"],
    ["beta", "web-beta"],
  ] as const) {
    await fetch(`${url}/udm.v1.UdmService/CreateUdm`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${whole.token}`, "udm-scope": scope },
      body: JSON.stringify({ udm: { key: "10.10.20.5", name } }),
    });
  }
  const { page, errors } = await openPage(browser);
  await page.goto(url);
  const form = page.getByRole("form", { name: "Sign in with a token" });
  await form.getByLabel("Token").fill(tina.token);
  await form.getByRole("button", { name: "Sign in with the token" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const links = page.getByRole("navigation", { name: "Pages" }).getByRole("listitem");
  assert.deepEqual(await links.allInnerTexts(), ["Overview", "Explore", "Explain", "Metadata", "Live"]);
  await page.goto(`${url}/live`);
  await page.getByRole("region", { name: "Flows" }).getByText("web-acme").first().waitFor();
  const question = {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${tina.token}` },
    body: JSON.stringify({ dimensions: ["flow.src.ip.subnet.name"], granularity: "none" }),
  };
  await until("its flows are kept", async () =>
    (await (await fetch(`${url}/api/v1/explore/query`, question)).text()).includes("web-acme"),
  );
  await page.goto(url);
  await page.getByText("web-acme").first().waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await page.goto(`${url}/explore`);
  await page.getByRole("heading", { name: "Ranking" }).waitFor();
  assert.equal(await page.getByRole("button", { name: /Views/ }).count(), 0);
  await page.goto(`${url}/explain?q=web-acme`);
  await page.getByText("10.10.20.5").first().waitFor();
  await page.goto(`${url}/address/10.10.20.5`);
  await page.getByRole("heading", { name: "web-acme" }).waitFor();
  await page.getByRole("heading", { name: "Peers" }).waitFor();
  await page.goto(`${url}/metadata`);
  const grid = page.getByRole("grid", { name: "Entries" });
  await grid.getByRole("row", { name: /10\.10\.20\.5 web-acme/ }).waitFor();
  await page.getByRole("combobox", { name: "Scope" }).selectOption("beta");
  await grid.getByRole("row", { name: /10\.10\.20\.5 web-beta/ }).waitFor();
  await page.goto(`${url}/outputs`);
  await page.getByText("There is no such page").waitFor();
  assert.equal(await page.getByRole("alert").count(), 0);
  // Before the sign-in nobody is known.
  assert.deepEqual(errors(401), []);
});
