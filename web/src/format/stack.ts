/** Series laid upon one another: each with the sum of those below it. */
export function stack(series: readonly (readonly number[])[]): readonly (readonly number[])[] {
  const below: number[] = [];
  return series.map((values) =>
    values.map((value, index) => {
      below[index] = (below[index] ?? 0) + (Number.isFinite(value) ? Math.max(0, value) : 0);
      return below[index];
    }),
  );
}

/** What a chart needs to know of a series to put it in its place. */
interface Layer {
  readonly values: readonly number[];
  /** Of a time before: never stacked. */
  readonly isBefore?: boolean;
  /** Of the other way: below zero. */
  readonly isDown?: boolean;
}

/** Where each series of a chart is drawn: stacked upwards, those of the other way downwards, those of a time before as they are. */
export function layersOf(series: readonly Layer[], isStacked: boolean): readonly (readonly number[])[] {
  const drawn = new Map<Layer, readonly number[]>();
  for (const isDown of [false, true]) {
    const part = series.filter((each) => (each.isDown ?? false) === isDown);
    const stacked = isStacked ? part.filter(({ isBefore = false }) => !isBefore) : [];
    for (const each of part) drawn.set(each, each.values);
    for (const [index, sums] of stack(stacked.map(({ values }) => values)).entries()) {
      drawn.set(stacked[index] as Layer, sums);
    }
    if (isDown)
      for (const each of part)
        drawn.set(
          each,
          (drawn.get(each) ?? []).map((value) => -value),
        );
  }
  return series.map((each) => drawn.get(each) ?? []);
}

/** The same series as percents of what all of them, of the same way, are at that time. */
export function asShares<Series extends Layer>(series: readonly Series[]): readonly Series[] {
  const counted = series.filter(({ isBefore = false }) => !isBefore);
  const totals = new Map<boolean, number[]>();
  for (const { values, isDown = false } of counted) {
    const total = totals.get(isDown) ?? [];
    totals.set(isDown, total);
    for (const [at, value] of values.entries()) total[at] = (total[at] ?? 0) + value;
  }
  return counted.map((each) => {
    const total = totals.get(each.isDown ?? false) ?? [];
    return withValues(
      each,
      each.values.map((value, at) => (total[at] ? (100 * value) / total[at] : 0)),
    );
  });
}

const withValues = <Series extends Layer>(series: Series, values: readonly number[]): Series => ({ ...series, values });
