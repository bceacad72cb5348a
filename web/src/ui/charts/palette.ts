/** How many series have a colour of their own; further ones share that of the others. */
export const seriesColors = 10;

/** The custom property of a series' colour. */
export function colorName(index: number): string {
  return index < seriesColors ? `--c${String(index + 1)}` : "--c-others";
}

/** The colour of a custom property in the theme that is in force, for what is drawn on a canvas. */
export function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
