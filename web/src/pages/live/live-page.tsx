import type { ListFieldsAnswer } from "../../api/answers.gen.ts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ApiCall } from "../../api/call.ts";
import { useCall } from "../../api/use-call.ts";
import { addedFields } from "../../format/added-fields.ts";
import { formatNumber } from "../../format/numbers.ts";
import { useQueryState } from "../../navigation/place.ts";
import { FilterInput } from "../../ui/filter-input.tsx";
import { EntryDialog } from "../../ui/entry-dialog.tsx";
import { ExportersHint } from "../../ui/exporters-hint.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Failure } from "../../ui/states.tsx";
import { FlowTable } from "./flow-table.tsx";
import { useTail } from "./use-tail.ts";
import "./live.css";

const fieldsCall: ApiCall = { path: "api/v1/fields" };
const rates = [2, 10, 50] as const;

/** Flows as they leave, a part of them when they are many. */
export default function LivePage(): JSX.Element {
  const [query, setQuery] = useQueryState();
  const filter = query.get("filter") ?? "";
  const rate = rates.find((each) => String(each) === query.get("rate")) ?? 10;
  const [isOn, setOn] = useState(true);
  const [named, setNamed] = useState<string | undefined>(undefined);
  const [said, setSaid] = useState("");
  const facts = useCall<ListFieldsAnswer>(fieldsCall);
  const isAdded = useMemo(() => addedFields(facts.answer ?? { fields: [], patterns: [] }), [facts.answer]);
  const parameters = new URLSearchParams({ ...(filter !== "" && { filter }), rate: String(rate), notes: "true" });
  const call: ApiCall = { path: `api/v1/flow/tail?${parameters.toString()}` };
  const { records, counts, failure, clear, retry } = useTail(call, isOn);
  const isFilterFault = failure?.status === 400;

  return (
    <Page title="Live" lead="Flows as they leave, with all that was added to them." calls={[call]}>
      <div class="card controls">
        <FilterInput
          value={filter}
          fault={isFilterFault ? failure.message : undefined}
          onChange={(next) => setQuery({ filter: next })}
        />
        <div class="bar">
          <label class="field">
            At most
            <select value={String(rate)} onChange={(event) => setQuery({ rate: event.currentTarget.value })}>
              {rates.map((each) => (
                <option key={each} value={String(each)}>
                  {each} a second
                </option>
              ))}
            </select>
          </label>
          <button type="button" class="button" aria-pressed={!isOn} onClick={() => setOn(!isOn)}>
            {isOn ? "Pause" : "Go on"}
          </button>
          <button type="button" class="button" onClick={clear}>
            Clear
          </button>
          <p class="note live-counts">
            {counts === undefined ? (
              "counting …"
            ) : (
              <>
                {formatNumber(counts.seen, "records/s")} go by
                {filter !== "" && <>, {formatNumber(counts.matched)} match the filter</>}, {formatNumber(counts.passed)}{" "}
                shown
                {counts.passed < counts.matched && <strong> (a sample)</strong>}
              </>
            )}
            <span class="legend">
              <span class="added">this colour</span>: added by enrichment
            </span>
          </p>
        </div>
      </div>
      {said !== "" && (
        <p class="state" role="status">
          {said}
        </p>
      )}
      {failure !== undefined && !isFilterFault && <Failure failure={failure} retry={retry} />}
      {records.length === 0 ? (
        failure === undefined && <Nothing filter={filter} seen={counts?.seen} />
      ) : (
        <div class="card">
          <FlowTable records={records} isAdded={isAdded} onName={setNamed} />
        </div>
      )}
      {named !== undefined && (
        <EntryDialog
          entry={{ key: named }}
          isNew
          onClose={() => setNamed(undefined)}
          changed={(what) => setSaid(`${what}. The next flow carries the name.`)}
        />
      )}
    </Page>
  );
}

function Nothing({ filter, seen }: { readonly filter: string; readonly seen: number | undefined }): JSX.Element {
  if (seen === undefined || seen > 0) {
    return (
      <Empty title={filter === "" ? "Waiting for flows …" : "No flow has matched yet"}>
        {filter !== "" && seen !== undefined && "Records go by, but none that the filter matches."}
      </Empty>
    );
  }
  return (
    <Empty title="No flows come in">
      The page shows the next one at once. <ExportersHint />
    </Empty>
  );
}
