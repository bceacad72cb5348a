import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type * as playwright from "../../web/node_modules/playwright-core/index.js";
import type { Browser, Page } from "../../web/node_modules/playwright-core/index.js";
import { cleanUp } from "./clean-up.ts";
import { requireProgram } from "./require-program.ts";

export type { Browser, Locator, Page } from "../../web/node_modules/playwright-core/index.js";

/** Finds the packages of the pages, with which a browser is driven too. */
const web = createRequire(join(import.meta.dirname, "../../../web/package.json"));
export const { chromium } = web("playwright-core") as typeof playwright;

/** A page that is watched: what its console says, and whom it asks. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of the console and of scripts, but for answers with the given statuses, which a story expects. */
  readonly errors: (...expectedStatuses: readonly number[]) => readonly string[];
  /** Addresses of other hosts that were asked. */
  readonly foreign: () => readonly string[];
}

export interface PageOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  readonly isOffline?: boolean;
}

/** Debian's Chromium, closed at the end of the test. @returns undefined when the test has been skipped. */
export async function openBrowser(t: TestContext): Promise<Browser | undefined> {
  const executablePath = requireProgram(t, "chromium", "apt-get install chromium");
  if (executablePath === undefined) return undefined;
  // Inside a container there is no sandbox for root; the pages come from this host.
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  cleanUp(t, () => browser.close());
  return browser;
}

/** A page in a context of its own: without what other stories kept. */
export async function openPage(browser: Browser, options: PageOptions = {}): Promise<WatchedPage> {
  const { theme = "light", width = 1440, height = 900 } = options;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const errors: string[] = [];
  const asked = new Set<string>();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => asked.add(request.url()));
  return {
    page,
    errors: (...statuses) => errors.filter((text) => !statuses.some((status) => text.includes(`status of ${status}`))),
    foreign: () =>
      [...asked].filter((url) => /^(?:https?|wss?):/.test(url) && new URL(url).origin !== new URL(page.url()).origin),
  };
}

/** Ends when no animation with an end runs: what fades in has the contrast of its last moment. */
const animationsEnd = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)).then(() => {})`;
const axeSource = readFileSync(web.resolve("axe-core/axe.min.js"), "utf8");

interface AxeFinding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe-core finds on a page as it is: rules with the elements that break them. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource);
  await page.evaluate(animationsEnd);
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeFinding[] }> } };
    return (await axe.run()).violations;
  });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 200)} ${failureSummary.replaceAll(/\s+/g, " ")}`,
    ),
  );
}
