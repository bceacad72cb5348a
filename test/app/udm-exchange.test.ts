import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../support/temp-directory.ts";
import { startCommandWorld } from "../support/udm-commands.ts";

test("a NetBox export of 5,000 prefixes is imported, imported again with exactly its changes, and undone; others stay", async (t) => {
  const { run } = await startCommandWorld(t, { SVC_STATE_DIRECTORY_PATH: tempDirectory(t) });
  const directory = tempDirectory(t);
  const file = join(directory, "netbox_prefixes.csv");
  const map = join(directory, "map.json");
  // What comes from there is marked, so that a prefix that has gone there goes here.
  writeFileSync(map, JSON.stringify({ ready: "netbox", constants: { tags: ["netbox"] } }));
  const header = "Prefix,Status,Site,VLAN,Role,Description";
  const row = (i: number, site = `site-${i % 7}`): string =>
    `10.${i >> 8}.${i & 255}.0/24,Active,${site},servers (${i % 4000}),Access,"Rack ${i}, left"`;
  const yesterday = Array.from({ length: 5000 }, (_, i) => row(i));
  const today = [
    ...yesterday.filter((_, i) => ![3, 4000].includes(i)).with(8, row(9, "site-new")),
    row(6000),
    row(6001),
    row(6002),
  ];
  // Others' entries, two of them of prefixes that NetBox has, too, or has below it.
  const mine = ["192.0.2.1", "10.0.0.0/8", "10.1.2.3"];
  for (const key of mine) await run("udm", "set", key, "--name", "mine", "--tag", "own");
  const others = async (): Promise<string> => (await run("udm", "search", "--filter", "tag = own", "-o", "ndjson")).out;
  const before = await others();
  const bringIn = (...more: string[]): ReturnType<typeof run> =>
    run("udm", "import", file, "--map", map, "--replace", "tag=netbox", ...more);

  writeFileSync(file, `${header}\n${yesterday.join("\n")}\n`);
  const dry = await bringIn("--dry-run");
  assert.match(dry.out, /^5000 rows; 5000 changes: 5000 to create, 0 to update, 0 to delete; 0 unchanged$/m, dry.err);
  assert.equal((await run("udm", "count")).out, "3\n");
  assert.match((await bringIn("--yes")).out, /^imported: change 4$/m);
  assert.equal((await run("udm", "count")).out, "5003\n");
  const [entry] = (await run("udm", "get", "10.0.9.0/24", "-o", "ndjson")).out.split("\n");
  assert.deepEqual(Object.keys(JSON.parse(entry ?? "") as object).toSorted(), [
    "key",
    "metadata",
    "name",
    "tags",
    "vlan",
  ]);

  writeFileSync(file, `${header}\r\n${today.join("\r\n")}\r\n`);
  const again = await bringIn("--yes");
  assert.match(
    again.out,
    /^5001 rows; 6 changes: 3 to create, 1 to update, 2 to delete; 4997 unchanged\nimported: change 5$/m,
    again.err,
  );
  const signs = again.out.match(/^[-+~] \S+$/gm);
  assert.deepEqual(signs?.toSorted(), [
    "+ 10.23.112.0/24",
    "+ 10.23.113.0/24",
    "+ 10.23.114.0/24",
    "- 10.0.3.0/24",
    "- 10.15.160.0/24",
    "~ 10.0.9.0/24",
  ]);
  assert.equal(await others(), before);

  assert.match((await run("udm", "undo", "5", "--yes")).out, /^undone by change 6$/m);
  writeFileSync(file, `${header}\n${yesterday.join("\n")}\n`);
  assert.match((await bringIn("--dry-run")).out, /^5000 rows; 0 changes: /m);
  assert.match((await run("udm", "undo", "4", "--yes")).out, /^undone by change 7$/m);
  assert.equal((await run("udm", "count")).out, "3\n");
  assert.equal(await others(), before);
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

test("import warns of new entries with host bits", async (t) => {
  const { runWith } = await startCommandWorld(t);
  const sheet = { input: ["key,name\n10.20.30.40/24,a\n"] };
  const imported = await runWith(sheet, "udm", "import", "-", "--yes");
  assert.equal(imported.code, 0);
  assert.equal(imported.err, "warning: 10.20.30.40/24 has host bits: it covers all of 10.20.30.0/24\n");
  assert.match(imported.out, /^1 row; 1 change: /m);
  assert.equal((await runWith(sheet, "udm", "import", "-", "--yes")).err, "", "it is there already");
});

test("a sheet in UTF-16 is read as it is; bytes in another encoding are refused, and nothing changes", async (t) => {
  const { run } = await startCommandWorld(t);
  const directory = tempDirectory(t);
  const written = (name: string, bytes: Uint8Array): string => {
    const path = join(directory, name);
    writeFileSync(path, bytes);
    return path;
  };
  const sheet = "key;name\r\n192.0.2.1;Zürich\r\n";
  const utf16 = written("utf16.csv", Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(sheet, "utf16le")]));
  assert.equal((await run("udm", "import", utf16, "--delimiter", ";", "--yes")).code, 0);
  assert.match((await run("udm", "get", "192.0.2.1")).out, /Zürich/);
  const latin1 = written("latin1.csv", Buffer.from("key,name\n192.0.2.2,Zürich\n", "latin1"));
  const refused = await run("udm", "import", latin1, "--yes");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^error: .*latin1\.csv: the text is not utf-8, near byte \d+: save it as UTF-8\n$/);
  const json = written("latin1.json", Buffer.from('[{"key":"192.0.2.2","name":"Zürich"}]', "latin1"));
  const applied = await run("udm", "apply", "-f", json, "--yes");
  assert.equal(applied.code, 1, applied.out);
  assert.match(applied.err, /^error: .*latin1\.json.*UTF-8/);
  assert.equal((await run("udm", "count")).out, "1\n");
});

test("a sheet whose columns are not known is refused with what to do about it", async (t) => {
  const { runWith } = await startCommandWorld(t);
  const { code, err } = await runWith({ input: ["Prefix,Name\n10.1.0.0/16,x\n"] }, "udm", "import", "-", "--yes");
  assert.equal(code, 1);
  assert.match(err, /nothing was changed; --map says what the columns are: sheet, netbox and others\n$/);
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
