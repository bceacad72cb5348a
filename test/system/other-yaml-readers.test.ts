// What is written is read back the same by YAML readers of other languages.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseKey } from "../../src/base/ip/index.ts";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { type UdmWrite } from "../../src/metadata/index.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { udmEntry } from "../support/udm-entry.ts";
import { storeOn } from "../support/udm-store-fixture.ts";
import { trickyKeys, trickyTexts } from "../support/udm-write-arbitrary.ts";

const program = `
import json, sys, yaml
print(json.dumps(yaml.safe_load(open(sys.argv[1], encoding="utf-8")), ensure_ascii=True))
`;

test("PyYAML reads every adversarial text as it was given", async (t) => {
  const python = requireProgram(t, "python3", "apt-get install python3 python3-yaml");
  if (python === undefined) return;
  if (spawnSync(python, ["-c", "import yaml"]).status !== 0) {
    t.skip("python3 has no yaml module: apt-get install python3-yaml");
    return;
  }
  const path = join(tempDirectory(t), "ipaddrs.yml");
  const { store } = storeOn(nodeFileIo, { path });
  await store.start();
  const names = trickyTexts.filter((text) => text !== "");
  const writes = names.map((text, i): UdmWrite => {
    const values = udmEntry("::", { name: text, tags: ["t", text], vlan: 7n, metadata: { [`k${i}`]: text } });
    return { op: "create", key: parseKey(`192.0.2.0-192.0.2.${i + 1}`), values };
  });
  const keys = trickyKeys.map((key): UdmWrite => ({ op: "create", key: parseKey(key), values: udmEntry("::") }));
  await store.commit([...writes, ...keys]);
  await store.stop();
  const read = spawnSync(python, ["-c", program, path], { encoding: "utf8", maxBuffer: 2 ** 26 });
  assert.equal(read.status, 0, read.stderr);
  const file = JSON.parse(read.stdout) as Record<string, Record<string, unknown>>;
  assert.equal(Object.keys(file).length, writes.length + keys.length, readFileSync(path, "utf8"));
  for (const [i, text] of names.entries()) {
    const expected = { name: text, tags: ["t", text], vlan: 7, metadata: { [`k${i}`]: text } };
    assert.deepEqual(file[`192.0.2.0-192.0.2.${i + 1}`], expected);
  }
  for (const key of trickyKeys) assert.deepEqual(file[parseKey(key).text], {}, key);
});
