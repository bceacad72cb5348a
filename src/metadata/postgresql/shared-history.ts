import type { Sql } from "postgres";
import type { Log } from "../../base/report/index.ts";
import { UdmError } from "../model/udm-error.ts";
import type { ChangeHead, HistoryQuery, UdmChange, UdmHistory } from "../history/history-contract.ts";
import { arrayLiteral } from "./entry-rows.ts";
import { headsOf, readCommits } from "./fetch-commits.ts";

/** The history in the database. Watchers get each change when this collector learns of it. */
export interface SharedHistory extends UdmHistory {
  /** Calls the watchers. */
  readonly notify: (change: UdmChange) => void;
}

export interface SharedHistoryOptions {
  readonly isOn: () => boolean;
  readonly epoch: () => string;
  readonly last: () => number;
  readonly first: () => number;
  /** Asks the database. @throws Error while it is away. */
  readonly ask: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;
  readonly log: Log;
}

export function createSharedHistory({ isOn, epoch, last, first, ask, log }: SharedHistoryOptions): SharedHistory {
  const watchers = new Set<(change: UdmChange) => void>();

  const question = async <T>(work: (sql: Sql) => Promise<T>): Promise<T> => {
    try {
      return await ask(work);
    } catch (error) {
      const message = `the history is in the database, which does not answer: ${error instanceof Error ? error.message : String(error)}`;
      throw new UdmError("unavailable", message, [], { cause: error });
    }
  };
  const read = (text: string, parameters: readonly (string | number)[]): Promise<UdmChange[]> =>
    question(async (sql) => {
      const changes: UdmChange[] = [];
      for await (const { save: _, ...change } of readCommits(sql, text, parameters, "desc")) changes.push(change);
      return changes;
    });

  return {
    isOn,
    epoch,
    last,
    first,
    list({ key, author, withoutLayers = false, after = 0, before, limit }: HistoryQuery) {
      const parameters: (string | number)[] = [after];
      const parameter = (value: string | number): string => `$${parameters.push(value)}`;
      const conditions = ["number > $1"];
      if (before !== undefined) conditions.push(`number < ${parameter(before)}`);
      if (author !== undefined) conditions.push(`author = ${parameter(author)}`);
      if (withoutLayers) conditions.push("layer is null");
      if (key !== undefined) {
        conditions.push(`number in (select number from netgloss.udm_change where key = ${parameter(key.text)})`);
      }
      return read(
        `${headsOf} where ${conditions.join(" and ")} order by number desc limit ${parameter(limit)}`,
        parameters,
      );
    },
    get: async (number) => (await read(`${headsOf} where number = $1`, [number]))[0],
    lastOf: (keys) =>
      question(async (sql) => {
        const rows = await sql.unsafe<(ChangeHead & { key: string })[]>(
          `select k.key, h.number::float8 as number, (extract(epoch from h.at) * 1000)::float8 as time, h.author, h.method, h.entries, h.collector
          from unnest($1::text::text[]) as k (key) cross join lateral (
            select c.number from netgloss.udm_change c join netgloss.udm_commit o on o.number = c.number and o.layer is null
            where c.key = k.key order by c.number desc limit 1) l
          join netgloss.udm_commit h on h.number = l.number`,
          [arrayLiteral(keys.map(({ text }) => text))],
          { prepare: true },
        );
        const byKey = new Map(rows.map(({ key, ...head }) => [key, { ...head, time: Math.round(head.time) }]));
        return keys.map(({ text }) => byKey.get(text));
      }),
    watch(listener) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    notify(change) {
      for (const watcher of watchers) {
        try {
          watcher(change);
        } catch (error) {
          log.error({ error }, "a listener to changes of metadata failed");
        }
      }
    },
  };
}
