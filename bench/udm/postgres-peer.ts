import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { median } from "../support/median.ts";

/** What PostgreSQL found of the same addresses, and how fast. */
export interface PostgresLookUps {
  /** Addresses looked up in a second of its processor by a query for each, prepared once; the median of the passes. */
  readonly oneByOne: number;
  /** The same by one join of all addresses with all entries, which starts no query for each. */
  readonly joined: number;
  /** Covering entries of all addresses together. */
  readonly found: number;
}

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Where Debian and its children have the programs of a server, which are not on the PATH there. */
const versions = "/usr/lib/postgresql";
const seconds = 4;

/**
 * Looks up which prefixes cover each address, in a column of type inet with a GiST index of inet_ops. A server of one
 * process (`postgres --single`, no socket) in a temporary directory; PL/pgSQL asks, so that neither parsing nor a round
 * trip is measured, and only the CPU time of the look-ups counts. The kernel reports it to a few milliseconds, so a pass should take hundreds.
 * @param prefixes addresses or prefixes in text; GiST knows no other ranges.
 * @returns undefined if PostgreSQL is not installed, which it prints.
 * @throws Error with what PostgreSQL has said if it does not come to an end.
 */
export function postgresLookUps(
  prefixes: readonly string[],
  addresses: readonly string[],
): PostgresLookUps | undefined {
  const programs = findPrograms();
  const isRoot = process.getuid?.() === 0;
  const account = isRoot ? findAccount("postgres") : undefined;
  if (programs === undefined) console.log(`PostgreSQL (initdb, postgres) is not on the PATH nor below ${versions}`);
  else if (isRoot && account === undefined)
    console.log("PostgreSQL does not run as root, and there is no user postgres");
  if (programs === undefined || (isRoot && account === undefined)) return undefined;

  const directory = mkdtempSync(join(tmpdir(), "netgloss-bench-"));
  try {
    if (account !== undefined) chownSync(directory, account.uid, account.gid);
    writeFileSync(join(directory, "prefixes"), `${prefixes.join("\n")}\n`);
    writeFileSync(join(directory, "addresses"), `${addresses.join("\n")}\n`);
    const data = join(directory, "data");
    const run = (program: string, args: readonly string[], input = ""): void => {
      const { status, stderr, error } = spawnSync(join(programs, program), args, {
        ...account,
        cwd: directory,
        input,
        encoding: "utf8",
        timeout: 120_000,
        killSignal: "SIGKILL",
      });
      if (error !== undefined || status !== 0) throw error ?? new Error(`${program}: ${stderr}`);
    };
    run("initdb", ["-D", data, "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8"]);
    const settings = ["fsync=off", "shared_buffers=512MB", "maintenance_work_mem=256MB", "exit_on_error=on"];
    run(
      "postgres",
      ["--single", "-j", "-D", data, ...settings.flatMap((setting) => ["-c", setting]), "postgres"],
      statements(directory),
    );
    const lines = readFileSync(join(directory, "passes"), "utf8").trimEnd().split("\n");
    const passes = lines.map((line) => line.split("\t").map(Number));
    const column = (n: number): number => median(passes.map((pass) => pass[n] ?? Number.NaN));
    const rate = (nanoseconds: number): number => addresses.length / (nanoseconds / 1e9);
    return { oneByOne: rate(column(0)), joined: rate(column(1)), found: column(2) };
  } finally {
    rmSync(directory, { recursive: true, maxRetries: 3 });
  }
}

/** With `-j` a statement ends by a semicolon and an empty line. The vacuum lets look-ups be answered by the index alone. */
function statements(directory: string): string {
  return `CREATE TABLE entries (key inet NOT NULL);

COPY entries FROM '${directory}/prefixes';

CREATE INDEX ON entries USING gist (key inet_ops);

CREATE TABLE queries (address inet NOT NULL);

COPY queries FROM '${directory}/addresses';

VACUUM ANALYZE entries, queries;

CREATE TABLE passes (one_by_one bigint, joined bigint, found bigint);

CREATE FUNCTION cpu() RETURNS bigint LANGUAGE sql VOLATILE AS
  $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

DO $$
DECLARE
  started bigint := cpu();
  first bigint;
  second bigint;
  wanted inet;
  covering bigint;
  found_singly bigint;
  found_joined bigint;
BEGIN
  WHILE cpu() - started < ${seconds}e9 LOOP
    first := cpu();
    found_singly := 0;
    FOR wanted IN SELECT address FROM queries LOOP
      SELECT count(*) INTO covering FROM entries WHERE key >>= wanted;
      found_singly := found_singly + covering;
    END LOOP;
    second := cpu();
    SELECT count(*) INTO found_joined FROM queries JOIN entries ON key >>= address;
    INSERT INTO passes VALUES (second - first, cpu() - second, found_joined);
    IF found_joined <> found_singly THEN RAISE EXCEPTION 'found % and %', found_singly, found_joined; END IF;
  END LOOP;
END $$;

COPY passes TO '${directory}/passes';

`;
}

/** The first folder of the PATH that has them, else that of the newest version. */
function findPrograms(): string | undefined {
  const numbers = existsSync(versions) ? readdirSync(versions).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...numbers.map((number) => join(versions, number, "bin")),
  ];
  return folders.find((folder) => ["initdb", "postgres"].every((program) => existsSync(join(folder, program))));
}

function findAccount(name: string): Account | undefined {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
