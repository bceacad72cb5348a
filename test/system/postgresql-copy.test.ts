// `udm copy` of many entries: one commit, all of it or nothing, both ways.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { cleanUp } from "../support/clean-up.ts";
import { startDatabase, storeOnDatabase } from "../support/postgresql.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dirname, "../../..");
const run = promisify(execFile);
/** More than the database gets at a time. */
const entries = 60_000;

test("a copy of many entries is one commit, or changes nothing", async (t) => {
  const database = await startDatabase(t);
  const directory = tempDirectory(t);
  const file = join(directory, "ipaddrs.yml");
  const keys = Array.from({ length: entries }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  writeFileSync(file, keys.map((key, i) => `${key}:\n  name: host-${i}\n`).join(""));
  const copy = async (path: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> => {
    const env = {
      ...process.env,
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_USERDEF_PATH: path,
      SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL: database.url,
    };
    const command = [join(root, "bin/netgloss.js"), "udm", "copy", "--yes", ...args];
    return run(process.execPath, command, { env }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        code: error.code,
        out: error.stdout,
        err: error.stderr,
      }),
    );
  };
  const follower = storeOnDatabase(database.url, { collector: "b", maxEntries: 100_000 });
  await follower.store.start();
  cleanUp(t, () => follower.store.stop());
  let notified = 0;
  follower.store.history.watch(() => void notified++);

  // The server gives up at the last entry of all.
  await database.sql.unsafe(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'disk full' using errcode = '53100'; end $$;
    create trigger refuse before insert on netgloss.udm_entry for each row
      when (new.key = '${keys.at(-1) ?? ""}') execute function refuse()`);
  const refused = await copy(file, "--from", "file", "--to", "postgresql");
  assert.equal(refused.code, 6);
  assert.match(refused.err, /takes no write, nothing has changed: disk full/);
  const [rows] = await database.sql<{ entries: number; commits: number }[]>`
    select (select count(*)::int from netgloss.udm_entry) as entries, (select count(*)::int from netgloss.udm_commit) as commits`;
  assert.deepEqual({ ...rows }, { entries: 0, commits: 0 });

  await database.sql.unsafe("drop trigger refuse on netgloss.udm_entry");
  const made = await copy(file, "--from", "file", "--to", "postgresql");
  assert.deepEqual([made.code, made.err], [0, ""]);
  await until("the other collector has them", () => follower.store.history.last() === 1);
  assert.equal(follower.store.current().size, entries);
  assert.equal(notified, 1);
  const [first] = await follower.store.history.list({ limit: 1 });
  assert.deepEqual([first?.method, first?.entries, first?.isCut], ["Copy", entries, false]);

  const back = join(directory, "back.yml");
  assert.equal((await copy(back, "--from", "postgresql", "--to", "file")).code, 0);
  assert.equal(readFileSync(back, "utf8"), readFileSync(file, "utf8"));
});
