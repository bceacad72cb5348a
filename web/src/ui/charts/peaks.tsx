import type { JSX } from "preact";
import type { ExploreAnswer } from "../../api/explore-answer.ts";
import { isCounted } from "../../api/explore.ts";
import { formatNumber, type Unit } from "../../format/numbers.ts";
import { percentileOf } from "../../format/percentile.ts";

/** What the values of a ranking are. */
export function valueHead({ unit }: Pick<ExploreAnswer, "unit">): string {
  if (isCounted(unit)) return `Different ${unit}`;
  return unit === "bit/s" || unit === "packet/s" || unit === "%" ? "Average" : "Sum";
}

/** The heads of {@link Peaks}. */
export function PeakHeads(): JSX.Element {
  return (
    <>
      <th scope="col" class="number" title="95 % of the values over time are not above it">
        p95
      </th>
      <th scope="col" class="number">
        Maximum
      </th>
    </>
  );
}

/** The 95th percentile and the maximum of values over time, as cells of a table. */
export function Peaks({
  series = [],
  unit,
}: {
  readonly series?: readonly number[] | undefined;
  readonly unit: Unit;
}): JSX.Element {
  return (
    <>
      <td class="number">{formatNumber(percentileOf(series, 95), unit)}</td>
      <td class="number">{formatNumber(percentileOf(series, 100), unit)}</td>
    </>
  );
}
