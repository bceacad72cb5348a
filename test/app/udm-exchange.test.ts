import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

test("a NetBox export is imported, imported again with exactly its changes, and undone; others stay", async (t) => {
  const { run } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await run("udm", "set", "192.0.2.1", "--name", "mine");
  const file = join(tempDirectory(t), "prefixes.csv");
  const rows = Array.from({ length: 500 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24,active,site-${i % 7},,`);
  const header = "prefix,status,site,role,description";
  writeFileSync(file, `${header}\n${rows.join("\n")}\n`);
  const dry = await run("udm", "import", file, "--map", "netbox", "--dry-run");
  assert.match(dry.out, /^500 rows; 500 changes: 500 to create, 0 to update, 0 to delete; 0 unchanged$/m, dry.err);
  assert.equal((await run("udm", "count")).out, "1\n");
  assert.equal((await run("udm", "import", file, "--map", "netbox", "--yes")).code, 0);
  writeFileSync(
    file,
    `${header}\n${rows.join("\n").replace("10.0.9.0/24,active,site-2", "10.0.9.0/24,active,site-9")}\n`,
  );
  const again = await run("udm", "import", file, "--map", "netbox", "--yes");
  assert.match(
    again.out,
    /^500 rows; 1 change: 0 to create, 1 to update, 0 to delete; 499 unchanged\nimported: change 3$/m,
  );
  assert.equal((await run("udm", "undo", "3", "--yes")).code, 0);
  assert.equal((await run("udm", "undo", "2", "--yes")).code, 0);
  assert.equal((await run("udm", "list", "-o", "ndjson")).out, '{"key":"192.0.2.1","name":"mine"}\n');
});

test("import shows all faults with row and column, and changes nothing; export reads back", async (t) => {
  const { run, runWith } = await startCommandWorld(t);
  const bad = "key,name,vlan\n10.0.0.1,a,x\nnonsense,b,1\n10.0.0.3,c,3\n";
  const refused = await runWith({ input: [bad] }, "udm", "import", "-", "--yes");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^error: -:2: row 2, column vlan: /m);
  assert.match(refused.err, /^error: -:3: row 3, column key: /m);
  assert.match(refused.err, /2 faults in -: nothing was changed$/m);
  const skipped = await runWith({ input: [bad] }, "udm", "import", "-", "--yes", "--skip-faulty");
  assert.equal(skipped.code, 0, skipped.err);
  assert.equal((await run("udm", "list", "-o", "name")).out, "10.0.0.3\n");
  for (const format of ["csv", "json", "ndjson", "yaml"]) {
    const { out } = await run("udm", "export", "--format", format);
    const back = await runWith({ input: [out] }, "udm", "import", "-", "--format", format, "--dry-run");
    assert.match(back.out, /0 changes: .*; 1 unchanged\n$/, `${format}: ${out} ${back.err}`);
  }
});

test("watch shows what others change, from a number on", async (t) => {
  const { run } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  await run("udm", "set", "10.0.0.1", "--name", "a");
  await run("udm", "set", "10.0.0.1", "--name", "b");
  const watched = run("udm", "watch", "--after", "1", "--limit", "2");
  await run("udm", "set", "10.0.0.2", "--name", "c");
  assert.match((await watched).out, /^2 .*\n {2}~ 10\.0\.0\.1\n.*\n.*\n3 .*\n {2}\+ 10\.0\.0\.2\n/);
  assert.equal((await run("udm", "watch", "--filter", "nmae = x")).code, 5);
});
