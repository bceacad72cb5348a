import type { FleetConnection } from "./fleet-connection.ts";

/** Of which exporter a row is. */
export interface ExporterKey {
  /** Whose datagrams said it. */
  readonly sender: string;
  /** The sender, or one that it names. */
  readonly exporter: string;
}

/** What an exporter said to this collector. Ages in milliseconds. */
export interface ExporterRow extends ExporterKey {
  readonly text: string;
  readonly madeMsAgo: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** What an exporter said to some collector. */
export interface FoundExporterRow extends ExporterKey {
  readonly text: string;
  readonly ageMs: number;
  readonly silentMs: number;
  readonly clock: number;
}

/** What exporters said to the collectors of a fleet. All that answers later fails with an Error while the database is away. */
export interface ExporterTable {
  isThere(): boolean;
  /** Calls the listener when the database was connected to. @returns what ends that. */
  watch(listener: () => void): () => void;
  /** Writes rows of this member. */
  write(rows: readonly ExporterRow[]): Promise<void>;
  /** Says when exporters of this member were heard. @returns those that have no row. */
  touch(rows: readonly (ExporterKey & { readonly silentMs: number })[]): Promise<readonly ExporterKey[]>;
  /** Removes rows of this member. */
  remove(keys: readonly ExporterKey[]): Promise<void>;
  /** Of each exporter of some senders the rows of those members that heard it last, no longer ago than so. */
  find(senders: readonly string[], maxSilentMs: number): Promise<readonly FoundExporterRow[]>;
  /** Removes rows of all members whose exporters are silent for longer. @returns how many. */
  prune(silentMs: number): Promise<number>;
}

/** An exporter that went round a whole fleet has more rows than anybody needs. */
const rowsPerExporter = 8;
/** Of one answer. */
const maxFoundBytes = 32 * 1024 * 1024;
/** Removed at once, so that nobody waits for long. */
const prunedAtOnce = 5000;

/** The table `fleet_exporter`. Each row has one writer, so that nobody waits for a lock but for those that remove old ones. */
export function createExporterTable(connection: FleetConnection, fleet: string, member: string): ExporterTable {
  return {
    isThere: () => connection.isThere(),
    watch: (listener) => connection.watch(listener),
    async write(rows) {
      const given = rows.map(({ sender, exporter, text, madeMsAgo, silentMs, clock }) => {
        return { sender, exporter, state: text, made: madeMsAgo, silent: silentMs, clock };
      });
      await connection.ask(
        (sql) => sql`
          insert into netgloss.fleet_exporter (fleet, sender, exporter, member, written, seen, clock, state)
          select ${fleet}, sender, exporter, ${member}, clock_timestamp() - made * interval '1 ms',
            clock_timestamp() - silent * interval '1 ms', clock, state
          from json_to_recordset(${JSON.stringify(given)}::text::json)
            as row (sender text, exporter text, state text, made float8, silent float8, clock float8)
          on conflict (fleet, sender, exporter, member) do update
          set written = excluded.written, seen = excluded.seen, clock = excluded.clock, state = excluded.state`,
      );
    },
    async touch(rows) {
      const given = rows.map(({ sender, exporter, silentMs }) => ({ sender, exporter, silent: silentMs }));
      const touched = await connection.ask(
        (sql) => sql<ExporterKey[]>`
          update netgloss.fleet_exporter as mine set seen = clock_timestamp() - row.silent * interval '1 ms'
          from json_to_recordset(${JSON.stringify(given)}::text::json) as row (sender text, exporter text, silent float8)
          where mine.fleet = ${fleet} and mine.member = ${member} and mine.sender = row.sender and mine.exporter = row.exporter
          returning mine.sender, mine.exporter`,
      );
      const known = new Set(touched.map(nameOf));
      return rows.filter((row) => !known.has(nameOf(row))).map(({ sender, exporter }) => ({ sender, exporter }));
    },
    async remove(keys) {
      const given = keys.map(({ sender, exporter }) => ({ sender, exporter }));
      await connection.ask(
        (sql) => sql`
          delete from netgloss.fleet_exporter as mine
          using json_to_recordset(${JSON.stringify(given)}::text::json) as row (sender text, exporter text)
          where mine.fleet = ${fleet} and mine.member = ${member} and mine.sender = row.sender and mine.exporter = row.exporter`,
      );
    },
    async find(senders, maxSilentMs) {
      const rows = await connection.ask(
        (sql) => sql<FoundExporterRow[]>`
          select sender, exporter, state as text, clock,
            (extract(epoch from clock_timestamp() - written) * 1000)::float8 as "ageMs",
            (extract(epoch from clock_timestamp() - seen) * 1000)::float8 as "silentMs"
          from (
            select *, row_number() over (partition by sender, exporter order by seen desc, member) as place,
              sum(octet_length(state)) over (order by seen desc, sender, exporter, member) as bytes
            from netgloss.fleet_exporter
            where fleet = ${fleet} and seen > clock_timestamp() - ${maxSilentMs}::float8 * interval '1 ms'
              and sender in (select json_array_elements_text(${JSON.stringify(senders)}::text::json))
          ) as ranked where place <= ${rowsPerExporter} and bytes <= ${maxFoundBytes}
          order by seen desc, sender, exporter, member`,
      );
      return [...rows];
    },
    async prune(silentMs) {
      const gone = await connection.ask(
        (sql) => sql`
          delete from netgloss.fleet_exporter where fleet = ${fleet} and (sender, exporter, member) in (
            select sender, exporter, member from netgloss.fleet_exporter
            where fleet = ${fleet} and seen < clock_timestamp() - ${silentMs}::float8 * interval '1 ms'
            limit ${prunedAtOnce} for update skip locked)`,
      );
      return gone.count;
    },
  };
}

function nameOf({ sender, exporter }: ExporterKey): string {
  return `${exporter} ${sender}`;
}
