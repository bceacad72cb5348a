// The pages: what they weigh, and how soon Chromium paints the first of them on loopback, against a page of one word from a bare
// server. They take turns, each in a context of its own with an empty cache; the median counts.
import { existsSync, readdirSync, statSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { chromium, type Browser } from "../../test/support/browser.ts";
import { startCollectorProcess } from "../../test/support/collector-process.ts";
import { reportRow } from "../support/bench-report.ts";

const rounds = 9;
const executablePath = "/usr/bin/chromium";
const built = join(import.meta.dirname, "../../pages");

const sizes = readdirSync(built, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".gz"))
  .map((path) => statSync(join(built, path)).size);
const whole = sizes.reduce((sum, bytes) => sum + bytes, 0) / 1000;
reportRow({ what: "all pages, gzip", value: whole, unit: "kB", goal: "< 150 kB" });

if (existsSync(executablePath)) await measurePaint();
else console.error("no first paint: apt-get install chromium");

async function measurePaint(): Promise<void> {
  const bare = createServer((_, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>x</title><p>word");
  }).listen(0, "127.0.0.1");
  await once(bare, "listening");
  const collector = await startCollectorProcess();
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    const [pages, words]: [number[], number[]] = [[], []];
    let received = 0;
    for (let round = 0; round <= rounds; round++) {
      const page = await firstPaint(browser, `${collector.api}/`);
      const word = await firstPaint(browser, `http://127.0.0.1:${(bare.address() as AddressInfo).port}/`);
      // The first round warms both up.
      if (round === 0) continue;
      pages.push(page.ms);
      words.push(word.ms);
      received = page.bytes;
    }
    reportRow({ what: "the Overview until its first paint: files, gzip", value: received / 1000, unit: "kB" });
    const peer = { what: "a page of one word", value: median(words) };
    reportRow({
      what: "first paint of the Overview, loopback",
      value: median(pages),
      unit: "ms",
      peer,
      goal: "< 300 ms",
    });
  } finally {
    await browser.close();
    bare.close();
    await collector.end();
  }
}

/** Milliseconds from the navigation on, and the bytes of all files that were sent. */
async function firstPaint(browser: Browser, url: string): Promise<{ readonly ms: number; readonly bytes: number }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(url, { waitUntil: "load" });
  const measured = (await page.evaluate(`new Promise((resolve) => {
    const done = (entry) => resolve({
      ms: entry.startTime,
      bytes: performance.getEntriesByType("resource").filter(({ name }) => !name.includes("/api/"))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    });
    new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach(done))
      .observe({ type: "paint", buffered: true });
  })`)) as { ms: number; bytes: number };
  await context.close();
  return measured;
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
