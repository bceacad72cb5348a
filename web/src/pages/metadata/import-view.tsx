import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { callApi } from "../../api/call.ts";
import { formatNumber } from "../../format/numbers.ts";
import { Section } from "../../ui/page.tsx";
import { Failure } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { FileDrop } from "./file-drop.tsx";
import { formatOf, importCall, type ImportAnswer, type ImportPlan } from "./import-answer.ts";
import { ImportOptions, mapOf, scopeOf, type Options } from "./import-options.tsx";
import { ImportResult } from "./import-result.tsx";
import { guessTargets, readSheetHead, type SheetHead } from "./sheet.ts";
import { useProgress } from "./use-progress.ts";

/** A sheet that somebody has dropped. */
interface Sheet {
  readonly name: string;
  readonly text: string;
  readonly format: string;
  readonly head: SheetHead;
}

/** A big sheet takes a while. */
const importMs = 15 * 60_000;

/** Brings in a sheet: map its columns, see what would change and what is wrong with which row, then do it. */
export function ImportView({ changed }: { readonly changed: (what: string) => void }): JSX.Element {
  const [sheet, setSheet] = useState<Sheet | undefined>(undefined);
  const [options, setOptions] = useState<Options | undefined>(undefined);
  const [preview, setPreview] = useState<ImportAnswer | undefined>(undefined);
  const [done, setDone] = useState<ImportAnswer | undefined>(undefined);
  const [step, setStep] = useState<"check" | "apply" | undefined>(undefined);
  const action = useAction();
  const progress = useProgress(step === "apply" ? "import" : "import-check", step !== undefined);

  const take = async (file: File): Promise<void> => {
    const [text, format] = [await file.text(), formatOf(file.name)];
    const head = format === "csv" ? readSheetHead(text) : { columns: [], rows: [] };
    setSheet({ name: file.name, text, format, head });
    setOptions({
      map: format === "csv" ? "own" : "netgloss",
      targets: guessTargets(head.columns),
      tags: "",
      scope: "none",
      scopeText: "",
      skipFaultyRows: false,
    });
    setPreview(undefined);
    setDone(undefined);
    action.forget();
  };
  const change = (next: Options): void => {
    setOptions(next);
    setPreview(undefined);
  };
  const run = async (dryRun: boolean): Promise<void> => {
    if (sheet === undefined || options === undefined) return;
    const plan: ImportPlan = {
      text: sheet.text,
      format: sheet.format,
      map: mapOf(options, sheet.head.columns),
      scope: scopeOf(options),
      skipFaultyRows: options.skipFaultyRows,
    };
    setStep(dryRun ? "check" : "apply");
    const isDone = await action.run(async () => {
      const answer = await callApi<ImportAnswer>(importCall(plan, dryRun), { timeoutMs: importMs });
      if (dryRun) setPreview(answer);
      else setDone(answer);
    });
    setStep(undefined);
    if (isDone && !dryRun) changed("The sheet is imported");
  };

  return (
    <Section title="Import a sheet" note={sheet && `${sheet.name}, ${formatNumber(sheet.text.length, "B")}`}>
      {done === undefined ? (
        <>
          <FileDrop isSmall={sheet !== undefined} take={take} />
          {sheet !== undefined && options !== undefined && (
            <ImportOptions
              format={sheet.format}
              head={sheet.head}
              options={options}
              change={change}
              check={() => run(true)}
              isBusy={action.isBusy}
            />
          )}
        </>
      ) : (
        <button type="button" class="button" onClick={() => setSheet((setDone(undefined), undefined))}>
          Import another sheet
        </button>
      )}
      {step !== undefined && (
        <div class="progress" role="status">
          <span>
            {step === "check" ? "Checking" : "Importing"}
            {progress !== undefined && progress.step !== "" && `: ${progress.step}`} …
          </span>
          <progress
            aria-label="How far the import is"
            {...(progress?.share !== undefined && { value: progress.share })}
            max={1}
          />
        </div>
      )}
      {action.failure !== undefined && <Failure failure={action.failure} />}
      {preview !== undefined && done === undefined && step !== "check" && (
        <ImportResult
          answer={preview}
          skipsFaulty={options?.skipFaultyRows === true}
          apply={() => run(false)}
          isBusy={action.isBusy}
        />
      )}
      {done !== undefined && <ImportResult answer={done} skipsFaulty isBusy={false} />}
    </Section>
  );
}
