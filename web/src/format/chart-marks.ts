/** Something that happened, as far as its place on a chart goes. Times are RFC 3339. */
export interface Marked {
  readonly time: string;
  readonly until?: string | undefined;
}

/** Marks that are so near each other on a chart that one sign stands for them. */
export interface MarkGroup<Mark extends Marked> {
  /** Where it is: 0 is the left end of the chart, 1 the right one. */
  readonly at: number;
  readonly marks: readonly Mark[];
}

/** A part of a chart's width, 0 to 1. */
export interface MarkBand {
  readonly from: number;
  readonly to: number;
}

/**
 * Joins marks into signs that do not touch each other.
 *
 * @param marks by time.
 * @param from the left end of the chart, seconds since the epoch.
 * @param apart the least distance of two signs, as a part of the width.
 */
export function groupMarks<Mark extends Marked>(
  marks: readonly Mark[],
  from: number,
  to: number,
  apart: number,
): readonly MarkGroup<Mark>[] {
  const groups: { at: number; marks: Mark[] }[] = [];
  for (const mark of marks) {
    const at = placeOf(mark.time, from, to);
    const last = groups.at(-1);
    if (last !== undefined && at - last.at < apart) last.marks.push(mark);
    else groups.push({ at, marks: [mark] });
  }
  return groups;
}

/** The times that marks took, as parts of the chart. */
export function bandsOf(marks: readonly Marked[], from: number, to: number): readonly MarkBand[] {
  return marks.flatMap(({ time, until }) => {
    if (until === undefined) return [];
    return [{ from: placeOf(time, from, to), to: placeOf(until, from, to) }];
  });
}

function placeOf(time: string, from: number, to: number): number {
  const place = to > from ? (Date.parse(time) / 1000 - from) / (to - from) : 0;
  return Math.min(1, Math.max(0, place));
}
