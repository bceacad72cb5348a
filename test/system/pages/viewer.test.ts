import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hashPassword } from "../../../src/server/index.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
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
