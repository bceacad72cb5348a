const firstMs = 100;
const mostMs = 5000;

/** How long to wait after this many failures in a row, in milliseconds: longer each time, and never the same for two collectors. */
export function nextDelay(failures: number, random: () => number): number {
  return Math.min(firstMs * 2 ** Math.min(failures, 10), mostMs) * (0.5 + random() / 2);
}
