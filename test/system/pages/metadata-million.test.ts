import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { once } from "node:events";
import { test } from "node:test";
import { cleanUp } from "../../support/clean-up.ts";
import { metadataSettings, startCollectorProcess } from "../../support/collector-process.ts";
import { openBrowser, openPage } from "../../support/browser.ts";
import { tempDirectory } from "../../support/temp-directory.ts";

const entries = 1_000_000;
const maxBytes = 150e6;

async function writePlan(path: string): Promise<void> {
  const file = createWriteStream(path);
  for (let i = 0; i < entries; i += 10_000) {
    const lines = Array.from({ length: 10_000 }, (_, j) => {
      const n = i + j;
      return `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}:\n  name: host-${n}\n  tags:\n    - t${n % 50}\n`;
    });
    if (!file.write(lines.join(""))) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

test("the table of a million entries: only what is seen is drawn, and little of it is in memory", async (t) => {
  const browser = await openBrowser(t);
  if (browser === undefined) return;
  const path = join(tempDirectory(t), "ipaddrs.yml");
  await writePlan(path);
  const collector = await startCollectorProcess({ settings: metadataSettings(path), readyMs: 180_000 });
  cleanUp(t, () => collector.end("SIGKILL"));
  const { page } = await openPage(browser);
  await page.goto(`${collector.api}/metadata`);
  const grid = page.getByRole("grid", { name: "Entries" });
  await grid.getByRole("row", { name: /host-5 t5/ }).waitFor();
  await page.getByText(/1\s000\s000 entries\./).waitFor();

  // Each frame a screenful further, as with a hand on the wheel.
  const frames = await grid.evaluate(async (element) => {
    const times: number[] = [];
    const { requestAnimationFrame } = globalThis as unknown as {
      requestAnimationFrame: (drawn: (at: number) => void) => void;
    };
    const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
    let last = await frame();
    for (let i = 0; i < 600; i++) {
      element.scrollTop += element.clientHeight / 3;
      const now = await frame();
      times.push(now - last);
      last = now;
    }
    return times.toSorted((a, b) => a - b);
  });
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = (await session.send("Runtime.getHeapUsage")) as { usedSize: number };
  const drawn = await grid.getByRole("row").count();
  const [median, slow] = [frames[frames.length >> 1] ?? 0, frames[Math.floor(frames.length * 0.95)] ?? 0];
  t.diagnostic(
    `frames: median ${median.toFixed(1)} ms, 95 % below ${slow.toFixed(1)} ms; heap ${(usedSize / 1e6).toFixed(1)} MB`,
  );
  assert.ok(drawn < 100, `${drawn} rows are drawn`);
  assert.ok(usedSize < maxBytes, `${usedSize} bytes`);

  // The scroll bar reaches the last row; so does the End key.
  await grid.focus();
  const began = performance.now();
  await page.keyboard.press("End");
  await page.getByText(/On the way to row 1\s000\s000/).waitFor();
  await grid.getByRole("row", { name: /host-999999/ }).waitFor({ timeout: 240_000 });
  t.diagnostic(`the last row after ${((performance.now() - began) / 1000).toFixed(1)} s`);

  // Back at the begin what was forgotten is read again; a place in the middle is a prefix away.
  await grid.focus();
  await page.keyboard.press("Home");
  await grid.getByRole("row", { name: /host-5 t5/ }).waitFor();
  await page.getByRole("searchbox", { name: "Within" }).fill("10.9.0.0/16");
  await grid.getByRole("row", { name: /10\.9\.0\.3 host-589827/ }).waitFor();
  await page.getByRole("searchbox", { name: "Within" }).fill("");
  await page.getByRole("searchbox", { name: "Find" }).fill("host-999999");
  await page.getByText("1 entry.").waitFor({ timeout: 30_000 });
});
