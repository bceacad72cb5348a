import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { withoutBegunBucket } from "../../api/begun-bucket.ts";
import { request, type ApiCall } from "../../api/call.ts";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { shownUnit } from "../../api/explore.ts";
import { chartSvg } from "../../format/chart-svg.ts";
import { asShares } from "../../format/stack.ts";
import { formatAxisTime } from "../../format/times.ts";
import { colorOf } from "../../ui/charts/palette.ts";
import { DropDown } from "../../ui/drop-down.tsx";
import type { ChartSeries } from "../../ui/charts/time-chart.tsx";
import { drawnShape, type Look } from "../../api/look.ts";
import { trendSeries } from "../../ui/charts/trend.tsx";

export interface DownloadProps {
  readonly call: ApiCall;
  /** What the chart shows; undefined while there is nothing. */
  readonly chart: { readonly answer: ExploreAnswer; readonly label: string; readonly look: Look } | undefined;
}

const fileName = "netgloss-explore";

/** The answer as files. They are asked and drawn by a script, which has the session. */
export function Download({ call, chart }: DownloadProps): JSX.Element {
  const [fault, setFault] = useState<string | undefined>(undefined);
  const trying = (work: () => Promise<void>) => (): void => {
    setFault(undefined);
    work().catch((error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
  };
  const table = async (granularity: "none" | "auto", name: string): Promise<void> => {
    const path = `${call.path}?format=csv`;
    const body = { ...(call.body as object), granularity };
    const response = await request({ ...call, path, body, accept: "text/csv" }, { timeoutMs: 60_000 });
    keep(await response.blob(), name);
  };
  const svg = (): string => (chart === undefined ? "" : svgOf(chart));
  const hasTrend = (chart?.answer.times?.length ?? 0) > 1;
  return (
    <>
      <DropDown className="menu" summaryClass="button" label="Download">
        <div class="menu-body">
          <ul class="plain downloads">
            <li>
              <button type="button" class="button" onClick={trying(() => table("none", `${fileName}.csv`))}>
                Ranking as CSV
              </button>
            </li>
            <li>
              <button type="button" class="button" onClick={trying(() => table("auto", `${fileName}-series.csv`))}>
                Values over time as CSV
              </button>
            </li>
            {hasTrend && (
              <>
                <li>
                  <button
                    type="button"
                    class="button"
                    onClick={trying(async () => keep(new Blob([svg()], { type: "image/svg+xml" }), `${fileName}.svg`))}
                  >
                    Chart as SVG
                  </button>
                </li>
                <li>
                  <button
                    type="button"
                    class="button"
                    onClick={trying(async () => keep(await toPng(svg()), `${fileName}.png`))}
                  >
                    Chart as PNG
                  </button>
                </li>
              </>
            )}
          </ul>
          <p class="note">To print: the browser leaves out navigation and buttons, black on white.</p>
        </div>
      </DropDown>
      {fault !== undefined && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </>
  );
}

function keep(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Marks of time in a picture, at most. */
const maxMarks = 8;

function svgOf({ answer: whole, label, look }: NonNullable<DownloadProps["chart"]>): string {
  const answer = withoutBegunBucket(whole);
  const { times, series } = trendSeries({ answer, reversed: undefined, before: undefined });
  const shape = drawnShape(look.shape, answer.unit);
  const isShare = shape === "share";
  const step = Math.ceil(times.length / maxMarks);
  const marks = times.flatMap((seconds, index) =>
    index % step === 0 ? [[index, formatAxisTime(seconds * 1000, step * answer.granularitySeconds)] as const] : [],
  );
  return chartSvg({
    title: `${label}, ${answer.from} to ${answer.to}`,
    marks,
    series: (isShare ? asShares(series) : series).map(painted),
    unit: isShare ? "%" : shownUnit(answer.unit),
    isStacked: shape !== "lines",
  });
}

const painted = (series: ChartSeries): ChartSeries => ({ ...series, color: colorOf(series.color) });

/** Twice as fine as it is on the page. */
const pngScale = 2;

async function toPng(svg: string): Promise<Blob> {
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  canvas.width = picture.naturalWidth * pngScale;
  canvas.height = picture.naturalHeight * pngScale;
  canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error("the picture could not be drawn")) : resolve(blob)));
  });
}
