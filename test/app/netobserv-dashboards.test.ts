import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startFakeSearchServer } from "../output/search/fake-search-server.ts";
import { codexFacts, ecsFacts, replayMigrated, unfilledFields } from "../support/netobserv-trial.ts";
import { referenceData } from "../support/reference-data.ts";

/** Whether a data view with one of NetObserv's patterns has an index. */
function matches(index: string, pattern: string): boolean {
  return new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(index);
}

const data = referenceData("netobserv");

for (const { schema, facts, isEcs } of [
  { schema: "codex", facts: codexFacts, isEcs: false },
  { schema: "ecs", facts: ecsFacts, isEcs: true },
]) {
  test(`an unedited Compose file and config migrate fill NetObserv's flow dashboards by value (${schema})`, async (t) => {
    const fake = await startFakeSearchServer(t);
    const { migrated, summary, replayed, code } = await replayMigrated(t, fake.port, isEcs);
    assert.equal(code, 0, replayed);
    assert.match(summary, /, 0 missing, 0 unknown, 0 wrong\n$/, migrated);

    const documents = [...fake.documents].map(([id, record]) => ({ index: id.split("/")[0] ?? "", record }));
    assert.ok(documents.length > 10, replayed);
    for (const { index } of documents) assert.ok(matches(index, `elastiflow-*-${schema}-*`), index);
    assert.ok(documents.some(({ index }) => matches(index, `elastiflow-telemetry_*-${schema}-*`)));
    const flows = documents.filter(({ index }) => matches(index, `elastiflow-flow-${schema}-*`));
    for (const [field, value] of facts) {
      const there = [...new Set(flows.map(({ record }) => record[field]))];
      assert.ok(there.includes(value), `${field}: ${String(value)} is not among ${there.map(String).join(", ")}`);
    }
    // Each field that its dashboards ask for has a value in some record.
    if (data.skip !== false) return;
    const asked = readFileSync(join(data.path, `fields-flow-${schema}.txt`), "utf8")
      .trim()
      .split("\n");
    const filled = new Set(flows.flatMap(({ record }) => Object.keys(record)));
    assert.deepEqual(
      asked.filter((field) => !filled.has(field)),
      unfilledFields,
    );
  });
}
