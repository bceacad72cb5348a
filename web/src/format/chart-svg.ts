import { formatNumber, type Unit } from "./numbers.ts";
import { layersOf } from "./stack.ts";

/** A series of a picture, with its colour as it is drawn. */
export interface PictureSeries {
  readonly label: string;
  readonly color: string;
  readonly values: readonly number[];
  readonly isBefore?: boolean;
  readonly isDown?: boolean;
}

export interface ChartPicture {
  readonly title: string;
  /** Texts of the marks of time, by the index of their value. */
  readonly marks: readonly (readonly [index: number, text: string])[];
  readonly series: readonly PictureSeries[];
  readonly unit: Unit;
  readonly isStacked: boolean;
}

const width = 1200;
const plot = { left: 100, right: 1180, top: 50, bottom: 410 };
const lineHeight = 22;

/** Draws a chart as a document of its own: black on white, with a title, both axes and a legend. */
export function chartSvg({ title, marks, series, unit, isStacked }: ChartPicture): string {
  const layers = layersOf(series, isStacked);
  // A hundred series of two thousand values are too many for one call.
  const low = layers.flat().reduce((least, value) => Math.min(least, value), 0);
  const high = layers.flat().reduce((most, value) => Math.max(most, value), 0) || 1;
  const count = Math.max(1, (layers[0]?.length ?? 1) - 1);
  const x = (index: number): number => plot.left + (index / count) * (plot.right - plot.left);
  const y = (value: number): number => plot.bottom - ((value - low) / (high - low)) * (plot.bottom - plot.top);
  const line = (values: readonly number[]): string =>
    values.map((value, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const height = plot.bottom + 50 + lineHeight * series.length;
  // The highest of a stack lies below those in it.
  const order = isStacked ? series.map((_, index) => index).toReversed() : series.map((_, index) => index);
  const shapes = order.map((index) => {
    const { color, isBefore = false } = series[index] as PictureSeries;
    const path = line(layers[index] ?? []);
    if (isStacked && !isBefore) {
      const base = y(0).toFixed(1);
      return `<path d="${path}L${x(count).toFixed(1)} ${base}L${plot.left} ${base}Z" fill="${xml(color)}"/>`;
    }
    const dash = isBefore ? ' stroke-dasharray="4 4"' : "";
    return `<path d="${path}" fill="none" stroke="${xml(color)}" stroke-width="2"${dash}/>`;
  });
  const steps = [0, 1, 2, 3, 4].map((step) => low + ((high - low) * step) / 4);
  const grid = steps.map(
    (value) =>
      `<path d="M${plot.left} ${y(value).toFixed(1)}H${plot.right}" stroke="#bbb"/>` +
      `<text x="${plot.left - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${xml(formatNumber(Math.abs(value), unit))}</text>`,
  );
  const times = marks.map(
    ([index, text]) =>
      `<text x="${x(index).toFixed(1)}" y="${plot.bottom + 20}" text-anchor="middle">${xml(text)}</text>`,
  );
  const legend = series.map(({ label, color, isDown = false }, index) => {
    const at = plot.bottom + 40 + lineHeight * index;
    return (
      `<rect x="${plot.left}" y="${at}" width="12" height="12" fill="${xml(color)}"/>` +
      `<text x="${plot.left + 20}" y="${at + 11}">${xml(isDown ? `↓ ${label}` : label)}</text>`
    );
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>` +
    `<text x="${plot.left}" y="28" font-size="18">${xml(title)}</text>` +
    [...grid, ...shapes, ...times, ...legend].join("") +
    "</svg>"
  );
}

/** In the text of an element, and in the value of an attribute; what no XML may have is left out. */
function xml(text: string): string {
  const clean = [...text].filter((letter) => letter >= " ").join("");
  return clean.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
