/** Ranges to choose; they end now. */
export const ranges: readonly (readonly [string, string])[] = [
  ["-15m", "Last 15 minutes"],
  ["-1h", "Last hour"],
  ["-6h", "Last 6 hours"],
  ["-24h", "Last 24 hours"],
  ["-7d", "Last 7 days"],
  ["-30d", "Last 30 days"],
  ["-90d", "Last 90 days"],
];
