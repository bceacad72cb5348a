// Commands against a collector with a million entries: into pipes, to readers that go away, into a full disk, with the collector away, with
// a wrong password.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { metadataSettings, startCollectorProcess } from "../support/collector-process.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const bin = join(import.meta.dirname, "../../../bin/netgloss.js");
const entries = 1_000_000;
const readers: readonly (readonly string[])[] = [
  ["udm", "list"],
  ["udm", "list", "-o", "json"],
  ["udm", "list", "-o", "yaml"],
  ["udm", "list", "-o", "csv"],
  ["udm", "list", "-o", "name"],
  ["udm", "search", "host-1"],
  ["metrics"],
  ["doctor"],
  ["snmp", "devices"],
];

test(
  "commands write whole, end cleanly with their reader, and say why they cannot",
  { timeout: 600_000 },
  async (t) => {
    const path = join(tempDirectory(t), "ipaddrs.yml");
    const file = createWriteStream(path);
    for (let i = 0; i < entries; i++) {
      if (!file.write(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}:\n  name: host-${i}\n`)) await once(file, "drain");
    }
    file.end();
    await once(file, "close");
    const collector = await startCollectorProcess({
      settings: {
        ...metadataSettings(path),
        SVC_API_BASIC_AUTH_ENABLE: "true",
        SVC_API_BASIC_AUTH_USERNAME: "operator",
        SVC_API_BASIC_AUTH_PASSWORD: "right",
      },
      readyMs: 180_000,
    });
    t.after(() => collector.end());
    const shell = (
      script: string,
      words: readonly string[],
      env: Record<string, string> = {},
    ): ReturnType<typeof spawnSync> =>
      spawnSync("bash", ["-c", script, "bash", process.execPath, bin, ...words], {
        encoding: "utf8",
        env: {
          PATH: process.env["PATH"],
          HOME: tempDirectory(t),
          NETGLOSS_URL: collector.api,
          NETGLOSS_USER: "operator",
          NETGLOSS_PASSWORD: "right",
          ...env,
        },
      });

    assert.equal(String(shell('"$@" | wc -l', ["udm", "list", "-o", "name"]).stdout).trim(), String(entries));
    assert.equal(String(shell('"$@" | wc -l', ["udm", "list", "-o", "csv"]).stdout).trim(), String(entries + 1));
    for (const words of readers) {
      const name = words.join(" ");
      const head = shell('"$@" | head -n 1 > /dev/null; exit "${PIPESTATUS[0]}"', words);
      assert.ok(
        [0, 1].includes(head.status ?? -1) && !/error/.test(String(head.stderr)),
        `${name} | head: ${head.status} ${String(head.stderr)}`,
      );
      if (words[0] !== "doctor") assert.equal(head.status, 0, name);
      const full = shell('"$@" > /dev/full', words);
      assert.equal(full.status, 1, name);
      assert.match(String(full.stderr), /error: the output cannot be written: ENOSPC/, name);
      const away = shell('"$@"', words, { NETGLOSS_URL: "http://127.0.0.1:9" });
      assert.equal(away.status, 6, name);
      assert.match(
        String(away.stderr),
        /^error: no answer from http:\/\/127\.0\.0\.1:9: .*Is netgloss running there\?\n$/,
      );
      // The metrics are for everybody.
      if (words[0] === "metrics") continue;
      const wrong = shell('"$@"', words, { NETGLOSS_PASSWORD: "wrong" });
      assert.equal(wrong.status, 5, name);
      assert.match(String(wrong.stderr), /^error: unauthenticated: credentials are missing or wrong\n$/);
    }
  },
);
