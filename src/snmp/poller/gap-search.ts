import { compareOids, oidStartsWith, type Oid } from "../session/oid.ts";

/**
 * Watches OIDs that have no instance. What an agent has after one of them lies behind a gap, and none of the others in
 * that gap has an instance either: a round asks once for each gap, however many OIDs there are.
 */
export interface GapSearch {
  /** Positions to ask about in one GetNext, not more than `max`. They begin a new round when the one before has ended. */
  next(max: number): readonly number[];
  /**
   * Takes what the agent has after a position; `end`: nothing; undefined: it does not say.
   *
   * @returns the position that has an instance now; undefined when that is not seen.
   */
  heard(position: number, after: Oid | "end" | undefined): number | undefined;
}

/** @param oids in their order, none twice. */
export function createGapSearch(oids: readonly Oid[]): GapSearch {
  /** Positions that are asked about, in order: each stands for those up to the next one. */
  let heads: number[] = [];
  /** Of the heads those that this round has not asked about. */
  let open: number[] = [];
  let most = 1;
  const endOf = (head: number): number => heads[head + 1] ?? oids.length;

  /** @returns the first position behind `position` that what comes after it says nothing about. */
  const reach = (position: number, after: Oid | "end" | undefined): number => {
    if (after === "end") return oids.length;
    if (after === undefined) return position + 1;
    const next = oids.findIndex((oid, i) => i > position && compareOids(oid, after) >= 0);
    return next < 0 ? oids.length : next;
  };

  return {
    next(max) {
      most = max;
      if (heads.length === 0) heads = spaced(0, oids.length, max);
      if (open.length === 0) open = heads;
      return open.slice(0, max);
    },
    heard(position, answer) {
      // What does not come after it is not to be believed.
      const isOrdered = typeof answer !== "object" || compareOids(answer, oids[position] as Oid) > 0;
      const after = isOrdered ? answer : undefined;
      const reached = reach(position, after);
      open = open.filter((head) => head !== position);
      const head = heads.indexOf(position);
      if (head >= 0 && reached < endOf(head)) {
        // The gap has become shorter: what was behind that is not known any more.
        const more = spaced(reached, endOf(head), most);
        heads = heads.toSpliced(head + 1, 0, ...more);
        open = [...more, ...open];
      } else if (head >= 0) {
        let covered = head;
        while (covered + 1 < heads.length && endOf(covered + 1) <= reached) covered++;
        heads = heads.toSpliced(head + 1, covered - head);
        open = open.filter((one) => one <= position || one >= endOf(head));
      }
      const last = reached - 1;
      return typeof after === "object" && oidStartsWith(after, oids[last] as Oid) ? last : undefined;
    },
  };
}

/** At most `max` positions, as far apart as they can be. */
function spaced(from: number, end: number, max: number): number[] {
  const step = Math.ceil((end - from) / Math.max(1, max));
  const positions: number[] = [];
  for (let position = from; position < end; position += step) positions.push(position);
  return positions;
}
