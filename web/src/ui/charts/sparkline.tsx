import type { JSX } from "preact";

const width = 96;
const height = 22;

/** The trend of a value, small enough for a row. The row has its number; who hears the page misses nothing. */
export function Sparkline({
  values,
  color = "--accent",
}: {
  readonly values: readonly number[];
  readonly color?: string;
}): JSX.Element | null {
  if (values.length < 2) return null;
  const top = Math.max(...values, 1e-9);
  const points = values.map((value, index) => {
    const x = (index / (values.length - 1)) * width;
    const y = height - 2 - (Math.max(0, value) / top) * (height - 4);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const line = `M${points.join("L")}`;
  const paint = `var(${color})`;
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${String(width)} ${String(height)}`}
      width={width}
      height={height}
      aria-hidden="true"
    >
      <path d={`${line}L${String(width)} ${String(height)}L0 ${String(height)}Z`} fill={paint} opacity="0.18" />
      <path d={line} fill="none" stroke={paint} stroke-width="1.5" />
    </svg>
  );
}
