import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createToken, hashPassword } from "../../../src/server/index.ts";
import { axeFindings, openBrowser, openPage } from "../../support/browser.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startPartner } from "../../support/partner.ts";
import { freePort, startWithFlows } from "./collector-with-flows.ts";

test("who signs in sees the page that was asked for; a viewer sees which role is missing", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const token = createToken("wall");
  const users = join(tempDirectory(t), "users.yml");
  writeFileSync(
    users,
    [
      "users:",
      "  alice:",
      "    role: viewer",
      `    password: ${await hashPassword("right")}`,
      "tokens:",
      "  wall:",
      "    role: editor",
      `    hash: ${token.hash}`,
      "",
    ].join("\n"),
  );
  const { url } = await startWithFlows(t, { SVC_API_USERS_PATH: users });
  const { page, errors } = await openPage(browser);
  let hasDialog = false;
  page.on("dialog", () => (hasDialog = true));
  await page.goto(`${url}/live?filter=src+%3D+192.0.2.77`);
  const form = page.getByRole("form", { name: "Sign in with a password" });
  await form.waitFor();
  assert.deepEqual(await axeFindings(page), []);

  await form.getByRole("textbox", { name: "Name" }).fill("alice");
  await form.getByRole("textbox", { name: "Password" }).fill("wrong");
  await form.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").filter({ hasText: "credentials are missing or wrong" }).waitFor();
  await form.getByRole("textbox", { name: "Name" }).fill("alice");
  await form.getByRole("textbox", { name: "Password" }).fill("right");
  await form.getByRole("button", { name: "Sign in" }).click();

  // The address is the one that was asked for.
  await page.getByRole("button", { name: "name it: 192.0.2.77" }).first().waitFor();
  await page.getByText("alice (viewer)").waitFor();
  await page.getByRole("button", { name: "name it: 192.0.2.77" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Name 192.0.2.77" });
  await dialog.getByText("This needs the role editor; alice has the role viewer.").first().waitFor();
  assert.equal(await dialog.getByRole("button", { name: "Save" }).isDisabled(), true);
  await dialog.getByRole("button", { name: "Close" }).click();

  // "as curl" has the name and asks for the password itself.
  await page.getByText("as curl").click();
  const commands = await page.getByLabel("Commands that ask the same").textContent();
  assert.match(commands ?? "", /-u alice/);
  assert.doesNotMatch(commands ?? "", /right/);

  await page.reload();
  await page.getByText("alice (viewer)").waitFor();
  const signOut = page.getByRole("button", { name: "Sign out" });
  await page.route("**/logout", (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/json",
      body: '{"code":"internal","message":"out of order"}',
    }),
  );
  await signOut.click();
  const still = page.getByRole("alert").filter({ hasText: "You are still signed in" });
  await still.getByText("out of order").waitFor();
  assert.equal(await form.isVisible(), false);
  await page.unroute("**/logout");
  await signOut.click();
  await form.waitFor();

  const byToken = page.getByRole("form", { name: "Sign in with a token" });
  // Some of a token, as a table cuts it: no header takes that, and the collector is not away.
  await byToken.getByRole("textbox", { name: "Token" }).fill(`${token.token.slice(0, 8)}…`);
  await byToken.getByRole("button", { name: "Sign in with the token" }).click();
  await page.getByRole("alert").filter({ hasText: "letters, digits and signs of ASCII alone" }).waitFor();
  await byToken.getByRole("textbox", { name: "Token" }).fill(token.token);
  await byToken.getByRole("button", { name: "Sign in with the token" }).click();
  await page.getByText("wall (editor)").waitFor();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  assert.equal(hasDialog, false);
  assert.deepEqual(errors(401, 404, 500), []);
});

test("who signs in is signed in in all tabs, until a tab signs out; nothing is kept where scripts can read it", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const settings = {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "admin",
    SVC_API_BASIC_AUTH_PASSWORD: "first",
  };
  const { url } = await startWithFlows(t, settings);
  const { page: one } = await openPage(browser);
  const two = await one.context().newPage();
  await Promise.all([one.goto(url), two.goto(`${url}/explain?q=192.0.2.77`)]);
  const form = one.getByRole("form", { name: "Sign in with a password" });
  await form.getByRole("textbox", { name: "Name" }).fill("admin");
  await form.getByRole("textbox", { name: "Password" }).fill("first");
  await form.getByRole("button", { name: "Sign in" }).click();
  await one.getByText("admin (admin)").waitFor();
  await two.getByText("admin (admin)").waitFor();
  // The other tab changes something by the same session.
  await two
    .getByRole("button", { name: /^Add an entry|^New entry|^Name it/ })
    .first()
    .click();
  const dialog = two.getByRole("dialog");
  await dialog.getByRole("textbox", { name: /^Name/ }).fill("by-the-second-tab");
  await dialog.getByRole("button", { name: "Save" }).click();
  await two.getByText("by-the-second-tab").first().waitFor();
  const kept = await one.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
  assert.doesNotMatch(String(kept), /first|Basic|netgloss_session/);
  const [cookie] = await one.context().cookies();
  assert.deepEqual([cookie?.name, cookie?.httpOnly, cookie?.sameSite], ["netgloss_session", true, "Lax"]);
  // A third tab is signed in from the start, also in another browser; all sessions end at once.
  const three = await one.context().newPage();
  await three.goto(`${url}/settings`);
  const { page: elsewhere } = await openPage(browser);
  await elsewhere.goto(url);
  await elsewhere.getByRole("textbox", { name: "Name" }).fill("admin");
  await elsewhere.getByRole("textbox", { name: "Password" }).fill("first");
  await elsewhere.getByRole("button", { name: "Sign in" }).click();
  await elsewhere.getByText("admin (admin)").waitFor();
  await three.getByText("admin (admin)").click();
  assert.deepEqual(await axeFindings(three), []);
  await three.getByRole("button", { name: "End all sessions of admin" }).click();
  for (const tab of [three, one, two, elsewhere]) {
    await tab.getByRole("form", { name: "Sign in with a password" }).waitFor();
  }
});

test("one user of the settings signs in, and a password that changes is asked for again", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const settings = {
    SVC_API_BASIC_AUTH_ENABLE: "true",
    SVC_API_BASIC_AUTH_USERNAME: "admin",
    SVC_API_BASIC_AUTH_PASSWORD: "first",
  };
  const { url } = await startWithFlows(t, settings);
  const { page } = await openPage(browser, { theme: "dark", width: 360 });
  await page.goto(url);
  const form = page.getByRole("form", { name: "Sign in with a password" });
  await form.getByRole("textbox", { name: "Name" }).fill("admin");
  await form.getByRole("textbox", { name: "Password" }).fill("first");
  await form.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Records per second").waitFor();
  assert.equal(await page.getByRole("form", { name: "Sign in with a token" }).count(), 0);
  // Whatever call finds out that the proof is no longer good, the page asks for another.
  await page.route("**/api/v1/overview", (route) =>
    route.fulfill({ status: 401, json: { code: "unauthenticated", message: "credentials are missing or wrong" } }),
  );
  await page.route("**/session", (route) =>
    route.fulfill({ status: 401, json: { code: "unauthenticated", message: "credentials are missing or wrong" } }),
  );
  await form.waitFor();
  assert.deepEqual(await axeFindings(page), []);
});

test("people sign in at an issuer and come back to the page that they asked for", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const port = await freePort();
  const redirect = `http://127.0.0.1:${port}/login/callback`;
  const partner = await startPartner(t, "oidc", { OIDC_REDIRECT: redirect });
  const secret = join(tempDirectory(t), "secret");
  writeFileSync(secret, String(partner["secret"]));
  const settings = {
    SVC_API_OIDC_ENABLE: "true",
    SVC_API_OIDC_ISSUER: String(partner["issuer"]),
    SVC_API_OIDC_CLIENT_ID: String(partner["client"]),
    SVC_API_OIDC_CLIENT_SECRET_FILE: secret,
    SVC_API_OIDC_REDIRECT_URL: redirect,
    SVC_API_OIDC_ROLES: "netgloss-admins=admin,netgloss-viewers=viewer",
  };
  const { url } = await startWithFlows(t, settings, port);
  const { page } = await openPage(browser);
  await page.goto(`${url}/live?rate=2`);
  await page.getByRole("link", { name: "Sign in with your organisation" }).click();
  await page.getByPlaceholder("Enter any login").fill("viewer");
  await page.getByPlaceholder("and password").fill("x");
  await page.getByRole("button").first().click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${url}/live?rate=2`);
  await page.getByText("viewer (viewer)").waitFor();
  await page.getByRole("table", { name: "Flows, the newest first" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("link", { name: "Sign in with your organisation" }).waitFor();
});
