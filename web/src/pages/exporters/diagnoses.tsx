import type { JSX } from "preact";
import { Badge } from "../../ui/tile.tsx";
import { withCode } from "../../ui/with-code.tsx";
import type { Diagnosis } from "./exporter.ts";
import { ExporterLink } from "./exporter-link.tsx";

const states = { problem: "bad", warning: "warn", note: "plain" } as const;

/** The doctor's sentences: what is wrong, what to do, and by what it was found. */
export function Diagnoses({
  diagnoses,
  names,
}: {
  readonly diagnoses: readonly Diagnosis[];
  /** Of exporters, by address. Left out: the sentences are all of one exporter, and no link leads to it. */
  readonly names?: ReadonlyMap<string, string | undefined>;
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
          {names !== undefined && exporter !== undefined && (
            <ExporterLink address={exporter} name={names.get(exporter)} />
          )}
        </li>
      ))}
    </ul>
  );
}
