import type { JSX } from "preact";
import { hrefOf } from "../../navigation/place.ts";
import { Badge } from "../../ui/tile.tsx";
import { withCode } from "../../ui/with-code.tsx";
import type { Diagnosis } from "./exporter.ts";

const states = { problem: "bad", warning: "warn", note: "plain" } as const;

/** The doctor's sentences: what is wrong, what to do, and by what it was found. */
export function Diagnoses({
  diagnoses,
  hasLinks = true,
}: {
  readonly diagnoses: readonly Diagnosis[];
  /** Whether each leads to its exporter. */
  readonly hasLinks?: boolean;
}): JSX.Element {
  return (
    <ul class="diagnoses">
      {diagnoses.map(({ id, severity, exporter, sentence, advice, evidence }) => (
        <li key={`${id} ${exporter ?? ""} ${sentence}`}>
          <Badge state={states[severity]}>{severity}</Badge>
          <div>
            <p>
              <strong>{withCode(sentence)}</strong>
            </p>
            <p>{withCode(advice)}</p>
            <details>
              <summary>Found by{exporter !== undefined && <span class="hidden"> at {exporter}</span>}</summary>
              <pre tabIndex={0} aria-label="Evidence">
                {JSON.stringify(evidence, null, 2)}
              </pre>
            </details>
          </div>
          {hasLinks && exporter !== undefined && <a href={hrefOf("exporters", { exporter })}>{exporter}</a>}
        </li>
      ))}
    </ul>
  );
}
