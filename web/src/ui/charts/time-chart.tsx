import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { shortened } from "../../format/shortened.ts";
import { formatNumber, type Unit } from "../../format/numbers.ts";
import { layersOf } from "../../format/stack.ts";
import { formatAxisTime, formatTime } from "../../format/times.ts";
import { useTheme } from "../theme.ts";
import { useZone } from "../time-zone.ts";
import { ChartMarks, MarksBar, timeOf, useMarks, type Marks } from "./chart-marks.tsx";
import { colorOf } from "./palette.ts";

export interface ChartSeries {
  readonly label: string;
  /** Custom property of its colour. */
  readonly color: string;
  /** One for each time. */
  readonly values: readonly number[];
  /** Whether they are of a time before: a thin dashed line. */
  readonly isBefore?: boolean;
  /** Whether they are of the other way: drawn below zero. */
  readonly isDown?: boolean;
}

export interface TimeChartProps {
  /** What is shown, for those who hear it; the numbers should be in a table as well. */
  readonly label: string;
  /** Seconds since the epoch, ascending. */
  readonly times: readonly number[];
  /** The first lies at the bottom. */
  readonly series: readonly ChartSeries[];
  readonly unit: Unit;
  readonly isStacked?: boolean;
  /** Whether the time of the last values is not over: they are drawn as what is not complete. */
  readonly isLastBegun?: boolean;
  readonly height?: number;
  /** What happened in the time. */
  readonly marks?: Marks;
  /** A part of the time was drawn over: seconds since the epoch. */
  readonly onZoom?: ((from: number, to: number) => void) | undefined;
}

/** Values over time, as areas upon one another or as lines. */
export function TimeChart(props: TimeChartProps): JSX.Element {
  const { label, times, series, unit, isStacked = true, isLastBegun = false, height = 260, marks } = props;
  const place = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const { theme } = useTheme();
  const zone = useZone();
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const holder = place.current;
    if (holder === null || times.length === 0) return undefined;
    const shown = layersOf(series, isStacked);
    // The highest of a stack is drawn first: those below lie over it.
    const order = isStacked ? series.map((_, index) => index).toReversed() : series.map((_, index) => index);
    let isOnPaper = false;
    const ink: Ink = (name, onPaper) => () => (isOnPaper ? onPaper : colorOf(name));
    const chart = new UPlot(
      {
        width: holder.clientWidth,
        height,
        // Room for half of the last label.
        padding: [12, 28, 0, 0],
        legend: { show: false },
        // The marks of hours and days are those of the zone.
        tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone),
        cursor: {
          drag: { x: latest.current.onZoom !== undefined, y: false, setScale: false },
          points: { show: false },
        },
        scales: {
          x: { time: true },
          y: { range: (_, min, max) => [min < 0 ? min * 1.05 : 0, max > 0 ? max * 1.05 : 1] },
        },
        axes: [timeAxis(ink), valueAxis(ink, unit)],
        series: [{}, ...order.map((index) => drawing(series[index], isStacked))],
        hooks: {
          draw: [(self) => isLastBegun && veilLast(self, times, ink)],
          setCursor: [(self) => showTip(self, tip.current, latest.current)],
          setSelect: [
            (self) => {
              const { left, width } = self.select;
              if (width < 4) return;
              const range = [self.posToVal(left, "x"), self.posToVal(left + width, "x")] as const;
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              latest.current.onZoom?.(...range);
            },
          ],
        },
      },
      [times as number[], ...order.map((index) => shown[index] as number[])],
      holder,
    );
    const resize = new ResizeObserver(() => chart.setSize({ width: holder.clientWidth, height }));
    resize.observe(holder);
    // What is on a canvas does not follow the style of printed pages.
    const toPaper = (): void => {
      isOnPaper = true;
      chart.redraw(false);
    };
    const toScreen = (): void => {
      isOnPaper = false;
      chart.redraw(false);
    };
    addEventListener("beforeprint", toPaper);
    addEventListener("afterprint", toScreen);
    return () => {
      removeEventListener("beforeprint", toPaper);
      removeEventListener("afterprint", toScreen);
      resize.disconnect();
      chart.destroy();
    };
  }, [times, series, unit, isStacked, isLastBegun, height, theme, zone]);

  return (
    <div class="chart">
      <div class="chart-drawing" role="img" aria-label={label}>
        <div ref={place} style={{ minHeight: `${String(height)}px` }} />
        <div ref={tip} class="chart-tip" hidden />
      </div>
      {marks?.isShown === true && marks.answer !== undefined && times.length > 1 && (
        <ChartMarks marks={marks.answer.annotations} from={times[0] ?? 0} to={times.at(-1) ?? 0} />
      )}
    </div>
  );
}

/** A chart with what happened in its time, of which there is one on a page. */
export function MarkedChart(props: TimeChartProps): JSX.Element {
  const marks = useMarks(timeOf(props.times));
  return (
    <>
      <TimeChart {...props} marks={marks} />
      <MarksBar marks={marks} />
    </>
  );
}

/** The colour of a custom property on the screen, and the one on paper, as it is to be drawn next. */
type Ink = (name: string, onPaper: string) => () => string;

function drawing(series: ChartSeries | undefined, isStacked: boolean): UPlot.Series {
  const color = colorOf(series?.color ?? "--accent");
  return isStacked && series?.isBefore !== true
    ? { stroke: colorOf("--card"), width: 0.6, fill: color, points: { show: false } }
    : {
        stroke: color,
        points: { show: false },
        ...(series?.isBefore === true ? { width: 1.2, dash: [4, 4] } : { width: 2 }),
      };
}

/** Pixels of CSS between the strokes over what is not complete. */
const hatchStep = 6;

/** Draws what leads to the last values as not complete: paler, hatched, behind a dashed line. */
function veilLast(chart: UPlot, times: readonly number[], ink: Ink): void {
  const [from, to] = times.slice(-2);
  if (from === undefined || to === undefined) return;
  const { ctx, bbox } = chart;
  const [left, right] = [chart.valToPos(from, "x", true), chart.valToPos(to, "x", true)];
  const step = hatchStep * devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.6;
  ctx.fillStyle = ink("--card", "#fff")();
  ctx.fillRect(left, bbox.top, right - left, bbox.height);
  ctx.globalAlpha = 0.35;
  ctx.strokeStyle = ink("--muted", "#333")();
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  for (let x = left - bbox.height; x < right; x += step) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.setLineDash([step / 2, step / 2]);
  ctx.beginPath();
  ctx.moveTo(left, bbox.top);
  ctx.lineTo(left, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** Seconds between the marks of time. No step is more than 2.5 of the one before, so that the narrowest chart has a mark. */
const steps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 345_600,
  691_200, 1_382_400, 2_678_400,
];

function timeAxis(ink: Ink): UPlot.Axis {
  return {
    ...lines(ink),
    values: (_, splits, __, space, step) => {
      void space;
      return splits.map((seconds) => formatAxisTime(seconds * 1000, step));
    },
    space: 72,
    incrs: steps,
    size: 30,
  };
}

function valueAxis(ink: Ink, unit: Unit): UPlot.Axis {
  return {
    ...lines(ink),
    size: 88,
    values: (_, splits) => splits.map((value) => formatNumber(Math.abs(value), unit)),
    space: 42,
  };
}

function lines(ink: Ink): UPlot.Axis {
  return {
    stroke: ink("--muted", "#333"),
    font: `12px ${colorOf("--font")}`,
    grid: { stroke: ink("--line", "#bbb"), width: 1 },
    ticks: { show: false },
  };
}

/** Which series a tip names at most. */
const namedSeries = 8;

/** What the series are where the pointer is, the largest first. */
function showTip(
  chart: UPlot,
  tip: HTMLDivElement | null,
  { times, series, unit, isLastBegun = false }: TimeChartProps,
): void {
  const { idx, left = -1 } = chart.cursor;
  const at = typeof idx === "number" ? times[idx] : undefined;
  if (tip === null) return;
  if (at === undefined || left < 0 || typeof idx !== "number") {
    tip.hidden = true;
    return;
  }
  const values = series
    .map(({ label, color, values: all, isDown = false }) => ({
      label: isDown ? `↓ ${label}` : label,
      color,
      value: all[idx] ?? 0,
    }))
    .filter(({ value }) => value > 0)
    .toSorted((one, other) => other.value - one.value);
  const rows = values.slice(0, namedSeries).map(({ label, color, value }) => {
    const row = document.createElement("div");
    const chip = document.createElement("span");
    chip.className = "chip";
    chip.style.background = `var(${color})`;
    const name = document.createElement("span");
    name.className = "chart-tip-name";
    name.textContent = shortened(label, 60);
    const number = document.createElement("b");
    number.textContent = formatNumber(value, unit);
    row.append(chip, name, number);
    return row;
  });
  const head = document.createElement("div");
  head.className = "chart-tip-time";
  const isBegun = isLastBegun && idx === times.length - 1;
  head.textContent = `${formatTime(at * 1000, Date.now())}${isBegun ? ", not complete yet" : ""}`;
  tip.replaceChildren(head, ...rows);
  tip.hidden = false;
  const plot = chart.over.getBoundingClientRect();
  const holder = tip.parentElement?.getBoundingClientRect();
  const x = plot.left - (holder?.left ?? 0) + left;
  const isRight = left > plot.width / 2;
  tip.style.left = isRight ? "" : `${String(x + 14)}px`;
  tip.style.right = isRight ? `${String((holder?.width ?? 0) - x + 14)}px` : "";
}
