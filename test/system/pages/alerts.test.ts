import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hashPassword } from "../../../src/server/index.ts";
import { startHttpServer } from "../../output/http/http-fixture.ts";
import { axeFindings, openBrowser, openPage, type Page } from "../../support/browser.ts";
import { tempDirectory } from "../../support/temp-directory.ts";
import { startWithFlows } from "./collector-with-flows.ts";

/** A folder in which the pictures of the pages are left for those who look at them. */
const pictures = process.env["NETGLOSS_PICTURES"];

async function picture(page: Page, name: string): Promise<void> {
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}

test("Alerts: what fires, its evidence, and what may be done about it, by role", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const receiver = await startHttpServer(t);
  const directory = tempDirectory(t);
  const [users, rules] = [join(directory, "users.yml"), join(directory, "watch.yml")];
  const [v, e] = await Promise.all(["v", "e"].map((password) => hashPassword(password)));
  const user = (role: string, hash = ""): string => `{role: ${role}, password: "${hash}"}`;
  writeFileSync(users, `users:\n  vera: ${user("viewer", v)}\n  ed: ${user("operator", e)}\n`);
  writeFileSync(
    rules,
    `speakers: {edge: {gobgp: {url: "http://127.0.0.1:1"}}}
actions:
  noc: {webhook: {url: "http://127.0.0.1:${receiver.port}/in"}}
  rtbh: {blackhole: {speaker: edge, next_hop: 192.0.2.66}}
rules:
  - {name: busy host, by: [flow.dst.ip.addr], measure: bits_per_second, over: 5s, when: "> 100k", clear: "< 1k for 10m", say: "{{key}} gets {{value}}", act: [noc, rtbh]}
`,
  );
  const { url } = await startWithFlows(t, {
    SVC_API_USERS_PATH: users,
    SVC_WATCH_RULES_PATH: rules,
    SVC_WATCH_ANSWERS: "approve",
    SVC_WATCH_ANSWERS_APPROVALS: "2",
  });
  const signIn = async (page: Page, name: string, password: string): Promise<void> => {
    const form = page.getByRole("form", { name: "Sign in with a password" });
    await form.getByRole("textbox", { name: "Name" }).fill(name);
    await form.getByRole("textbox", { name: "Password" }).fill(password);
    await form.getByRole("button", { name: "Sign in" }).click();
  };
  const { page, errors } = await openPage(browser, { width: 1440 });
  await page.goto(`${url}/alerts`);
  await signIn(page, "ed", "e");
  const row = page.getByRole("table", { name: "Alerts" }).getByRole("row", { name: /10\.10\.10\.16 gets/ });
  await row.waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await picture(page, "alerts-light-1440");

  // Of one alert: its evidence with links, and what an operator may do.
  await row.getByRole("link", { name: /gets/ }).click();
  await page.getByRole("heading", { name: /10\.10\.10\.16 gets .*bits\/s/ }).waitFor();
  await page.getByRole("img", { name: /Values of busy host up to now, with the limit/ }).waitFor();
  const sources = page.getByRole("table", { name: "Sources of the alert" });
  assert.match((await sources.getByRole("link").first().getAttribute("href")) ?? "", /\/address\/10\.10\.20\.5$/);
  const explore = await page.getByRole("link", { name: "Explore this moment" }).getAttribute("href");
  assert.match(explore ?? "", /\/explore\?filter=flow\.dst\.ip\.addr\+%3D\+10\.10\.10\.16&from=20/);
  await page.getByRole("table", { name: "Notices of the alert" }).getByText("sent").waitFor();
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText(/just now by ed|ago by ed/).waitFor();
  assert.equal(await page.getByRole("button", { name: "Acknowledge" }).count(), 0);
  const answers = page.getByRole("table", { name: "Answers to attacks" });
  await answers.getByText("0 of 2 users").waitFor();
  await answers.getByRole("button", { name: /^Approve/ }).click();
  await answers.getByText("1 of 2 users").waitFor();
  const second = answers.getByRole("button", { name: /^Approve/ });
  assert.equal(await second.getAttribute("title"), "You have allowed it; another user has to, too.");
  assert.deepEqual(await axeFindings(page), []);
  await picture(page, "alert-light-1440");

  // A silence, by the keyboard alone; what it matches is shown before.
  await page.getByRole("button", { name: "Silence …" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Silence alerts" });
  await dialog.getByText("1 open alert passes it now:").waitFor();
  await dialog.getByRole("textbox", { name: /^Filter/ }).fill("flow.dst.ip.adr = 1");
  await dialog.getByText(/there is no field|no rule has alerts/).waitFor();
  await dialog.getByRole("textbox", { name: /^Filter/ }).fill('alert.rule.name = "busy host"');
  await dialog.getByText("open alerts pass it now:").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await picture(page, "silence-light-1440");
  await dialog.getByRole("textbox", { name: "Why" }).focus();
  await page.keyboard.type("works on it");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText("silenced", { exact: true }).first().waitFor();

  // The list follows by itself; an action is tested.
  await page.getByRole("link", { name: "All alerts" }).click();
  await page.getByRole("table", { name: "Silences" }).getByText("works on it").waitFor();
  await page.getByRole("button", { name: "Test noc" }).click();
  await page.getByText("noc took the test.").waitFor();
  receiver.answer = (_, response) => void response.writeHead(500).end("no");
  await page.getByRole("button", { name: "Test noc" }).click();
  await page.getByText(/The test of noc failed: .*500/).waitFor();
  await page.getByRole("button", { name: /^End the silence of/ }).click();
  await page.getByRole("table", { name: "Silences" }).getByText("ended").waitFor();
  await page.getByRole("combobox", { name: "Show" }).selectOption("cleared");
  await page.getByText("No alert is like that").waitFor();

  // Other pages say that there are some.
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: /^Alerts \d firing$/ })
    .waitFor();
  await page.goto(`${url}/address/10.10.10.16`);
  await page
    .getByRole("link", { name: /10\.10\.10\.16 gets/ })
    .first()
    .waitFor();
  // Who is not signed in yet, and a filter that is wrong, are refused; nothing else went wrong.
  const faults = (): readonly string[] => errors().filter((text) => !text.startsWith("Failed to load resource"));
  assert.deepEqual(faults(), []);

  // A viewer sees the same, and is offered none of it; narrow and dark.
  const narrow = await openPage(browser, { theme: "dark", width: 390 });
  await narrow.page.goto(`${url}/alerts`);
  await signIn(narrow.page, "vera", "v");
  const link = narrow.page.getByRole("table", { name: "Alerts" }).getByRole("link", { name: /10\.10\.10\.16 gets/ });
  await link.waitFor();
  await picture(narrow.page, "alerts-dark-390");
  assert.deepEqual(await axeFindings(narrow.page), []);
  await link.click();
  await narrow.page.getByRole("table", { name: "Sources of the alert" }).waitFor();
  for (const name of [/^Acknowledge/, /^Snooze/, /^Silence/, /^Approve/, /^Withdraw/, /^Test/])
    assert.equal(await narrow.page.getByRole("button", { name }).count(), 0, String(name));
  await picture(narrow.page, "alert-dark-390");
  assert.deepEqual(await axeFindings(narrow.page), []);
});

test("Alerts: no rules, a server that fails, is slow, and goes away", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const rules = join(tempDirectory(t), "watch.yml");
  writeFileSync(rules, "rules: []\n");
  const { url, end, start } = await startWithFlows(t, { SVC_WATCH_RULES_PATH: rules });
  const { page } = await openPage(browser, { theme: "dark" });
  await page.goto(`${url}/alerts`);
  await page.getByText("No rules are set up").waitFor();
  await page.getByText("Nobody is told of alerts").waitFor();
  assert.deepEqual(await axeFindings(page), []);
  await picture(page, "no-rules-dark");
  writeFileSync(
    rules,
    "rules:\n  - {name: all, measure: flows_per_second, over: 5s, when: '>= 1', say: there are flows}\n",
  );
  const found = page.getByRole("link", { name: "there are flows" });
  await found.waitFor();

  await page.route("**/api/v1/watch/alerts/stream*", (route) =>
    route.fulfill({
      status: 429,
      json: { code: "resource_exhausted", message: "no more than 64 clients may follow alerts" },
    }),
  );
  await page.reload();
  await page.getByRole("alert").getByText("No more than 64 clients may follow alerts.").waitFor();
  await page.unroute("**/api/v1/watch/alerts/stream*");
  await page.getByRole("button", { name: "Try again" }).click();
  await found.waitFor();
  await end();
  await page
    .getByText(/does not answer/)
    .first()
    .waitFor();
  await found.waitFor();
  await start();
  await page
    .getByText(/does not answer/)
    .first()
    .waitFor({ state: "detached" });
  await found.waitFor();
});
