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
