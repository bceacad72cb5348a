// Servers, databases and roles that cannot be used: what a person reads names what is wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runProgram } from "../../src/app/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { startDatabase, storeOnDatabase } from "../support/postgresql.ts";
import { until } from "../support/until.ts";

test("commands that make tables name the server, the database, the role or the setting that is wrong", async (t) => {
  const { sql, host, port, url } = await startDatabase(t);
  await sql.unsafe(`create role owner login password 'right'`);
  await sql.unsafe(`create role collector login password 'right'`);
  await sql.unsafe(`create role old login password 'right'`);
  await sql.unsafe(`create database names owner owner encoding 'UTF8' template template0`);
  await sql.unsafe(
    `create database latin owner owner encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`,
  );
  // To this role the server says that it is an older one.
  await sql.unsafe(`create function public.current_setting(name text) returns text language sql as
    $$ select case name when 'server_version' then '12.22' else pg_catalog.current_setting(name) end $$`);
  await sql.unsafe(`alter role old set search_path = public, pg_catalog`);
  const at = (login: string, database: string): string => `postgresql://${login}@${host}:${port}/${database}`;
  const migrate = async (what: "udm" | "fleet", address: string): Promise<{ code: number; text: string }> => {
    const setting =
      what === "fleet" ? "SVC_FLEET_POSTGRESQL_URL" : "SVC_PROCESSOR_ENRICH_IPADDR_METADATA_POSTGRESQL_URL";
    const terminal = createFakeTerminal([what, "migrate"], { [setting]: address });
    const code = await runProgram(terminal);
    return { code, text: terminal.written.err + terminal.written.out };
  };

  const refusals: readonly (readonly [string, RegExp])[] = [
    [at("owner:wrong", "names"), /names cannot be made: .* password authentication failed for user "owner"/],
    [at("owner:right", "nowhere"), /database "nowhere" does not exist/],
    [at("nobody:right", "names"), /password authentication failed for user "nobody"/],
    [at("collector:right", "names"), /the role may not create them .*migrate` with a role that may/],
    [at("owner:right", "latin"), /the database has the encoding LATIN1, not UTF8/],
    [at("old:right", new URL(url).pathname.slice(1)), /the server is PostgreSQL 12\.22: 13 or later is needed/],
    [`postgresql://owner:right@${host}:1/names`, /:1: connect ECONNREFUSED/],
  ];
  for (const what of ["udm", "fleet"] as const) {
    for (const [address, expected] of refusals) {
      const { code, text } = await migrate(what, address);
      assert.notEqual(code, 0, text);
      assert.match(text, expected);
      assert.doesNotMatch(text, /right@/);
    }
    assert.deepEqual((await migrate(what, at("owner:right", "names"))).code, 0);
  }

  // A collector whose role was granted nothing.
  const { store, health } = storeOnDatabase(at("collector:right", "names"));
  await store.start();
  cleanUp(t, () => store.stop());
  await until("it says why", () =>
    /the role may not read the tables \(permission denied for schema netgloss\): grant it/.test(
      JSON.stringify(health.checks()),
    ),
  );
});
