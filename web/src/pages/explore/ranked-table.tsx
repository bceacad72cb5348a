import type { JSX } from "preact";
import type { ExploreAnswer, ExploreValue, KeyValue } from "../../api/explore-answer.ts";
import { formatChange, formatNumber, formatShare, type Unit } from "../../format/numbers.ts";
import { colorName } from "../../ui/charts/palette.ts";
import { Sparkline } from "../../ui/charts/sparkline.tsx";
import { hrefOfValue } from "../../navigation/place.ts";
import { shortened } from "../../format/shortened.ts";
import { fieldOfKey } from "../../format/value-kinds.ts";
import { keyText, rowText } from "../../format/key-text.ts";
import { Peaks, PeakHeads, valueHead } from "../../ui/charts/peaks.tsx";
import { nameKey, type AddressNames } from "./address-names.ts";

export interface RankedTableProps {
  readonly answer: ExploreAnswer;
  readonly unit: Unit;
  /** Of the dimensions. */
  readonly labels: readonly string[];
  readonly names: AddressNames;
  /** Whether there are columns of the 95th percentile and the maximum. */
  readonly hasPeaks: boolean;
  readonly onPick: (dimension: string, value: KeyValue, isExcluded: boolean) => void;
}

/** The largest first, the others in one row, the total below. A click on a value filters by it. */
export function RankedTable({ answer, unit, labels, names, hasPeaks, onPick }: RankedTableProps): JSX.Element {
  const { rows, others, total, dimensions } = answer;
  const isCompared = total.previous !== undefined;
  const hasSeries = answer.times !== undefined;
  // On a narrow screen there is room for one of the two.
  const shareClass = isCompared ? "number minor" : "number";
  const change = ({ value, previous }: ExploreValue): string =>
    formatChange(value, answer.missingBefore === undefined ? previous : undefined);
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Ranking">
      <table class="data ranked">
        <caption class="hidden">
          {labels.length === 0 ? "All flows together" : `The largest by ${labels.join(" and ")}`}
        </caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Colour</span>
            </th>
            {labels.length === 0 && (
              <th scope="col">
                <span class="hidden">What</span>
              </th>
            )}
            {labels.map((label) => (
              <th key={label} scope="col">
                {label}
              </th>
            ))}
            {hasSeries && (
              <th scope="col" class="minor">
                Trend
              </th>
            )}
            <th scope="col" class="number">
              {valueHead(answer)}
            </th>
            {hasPeaks && hasSeries && <PeakHeads />}
            <th scope="col" class={shareClass}>
              Share
            </th>
            {isCompared && (
              <th scope="col" class="number">
                Change
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={rowText(row.key, dimensions)}>
              <td>
                <span class="chip" style={{ background: `var(${colorName(index)})` }} />
              </td>
              {row.key.map((value, at) => (
                <td key={dimensions[at]} class="key">
                  <span class="key-line">
                    <button
                      type="button"
                      class={value === null ? "key-value none" : "key-value"}
                      title={`Only ${keyText(value, dimensions[at] ?? "")}`}
                      onClick={() => onPick(dimensions[at] ?? "", value, false)}
                    >
                      {shortened(keyText(value, dimensions[at] ?? ""))}
                    </button>
                    <OwnName name={names.get(nameKey(dimensions[at] ?? "", value))} />
                    <PageLink dimension={dimensions[at] ?? ""} value={value} />
                    <button
                      type="button"
                      class="key-without"
                      aria-label={`Without ${keyText(value, dimensions[at] ?? "")}`}
                      title={`Without ${keyText(value, dimensions[at] ?? "")}`}
                      onClick={() => onPick(dimensions[at] ?? "", value, true)}
                    >
                      ≠
                    </button>
                  </span>
                </td>
              ))}
              {hasSeries && (
                <td class="minor">
                  <Sparkline values={row.series ?? []} color={colorName(index)} />
                </td>
              )}
              <td class="number">{formatNumber(row.value, unit)}</td>
              {hasPeaks && hasSeries && <Peaks series={row.series} unit={unit} />}
              <ShareCell share={row.share} className={shareClass} />
              {isCompared && <td class="number">{change(row)}</td>}
            </tr>
          ))}
          {others.keys > 0 && (
            <tr class="others">
              <td>
                <span class="chip" style={{ background: "var(--c-others)" }} />
              </td>
              <td colSpan={Math.max(1, labels.length)}>{others.keys} others</td>
              {hasSeries && (
                <td class="minor">
                  <Sparkline values={others.series ?? []} color="--c-others" />
                </td>
              )}
              <td class="number">{formatNumber(others.value, unit)}</td>
              {hasPeaks && hasSeries && <Peaks series={others.series} unit={unit} />}
              <ShareCell share={others.share} className={shareClass} />
              {isCompared && <td class="number">{change(others)}</td>}
            </tr>
          )}
        </tbody>
        <tfoot>
          <tr>
            <td />
            <th scope="row" colSpan={Math.max(1, labels.length)}>
              All
            </th>
            {hasSeries && (
              <td class="minor">
                <Sparkline values={total.series ?? []} />
              </td>
            )}
            <td class="number">{formatNumber(total.value, unit)}</td>
            {hasPeaks && hasSeries && <Peaks series={total.series} unit={unit} />}
            <td class={shareClass} />
            {isCompared && <td class="number">{change(total)}</td>}
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

/** The name of an address beside it. */
function OwnName({ name }: { readonly name: string | undefined }): JSX.Element | null {
  return name === undefined ? null : (
    <span class="own-name" title={name}>
      {shortened(name, 30)}
    </span>
  );
}

/** Leads to the page of a value. */
function PageLink({ dimension, value }: { readonly dimension: string; readonly value: KeyValue }): JSX.Element | null {
  const field = fieldOfKey(dimension);
  if (field === undefined || value === null || value === "") return null;
  const label = `The page of ${keyText(value, dimension)}`;
  return (
    <a class="own-page" href={hrefOfValue(field, String(value))} aria-label={label} title={label}>
      ↗
    </a>
  );
}

/** A bar of less would be a speck. */
const leastBar = 0.02;

function ShareCell({ share, className }: { readonly share: number; readonly className: string }): JSX.Element {
  return (
    <td class={`${className} share`}>
      {formatShare(share)}
      {share >= leastBar && <span class="share-bar" style={{ width: `${String(Math.min(1, share) * 100)}%` }} />}
    </td>
  );
}
