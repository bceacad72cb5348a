import type { Finding, FindingKind, Severity } from "./finding.ts";
import { atOnce } from "./pacer.ts";
import { locateNodes, type NodePath, type Positions } from "./yaml-values.ts";

/** Whether a finding is about a key, or about the value behind it. */
export type Side = "key" | "value";

/** Takes findings by their place in one file. */
export interface FileReport {
  add(severity: Severity, path: NodePath, side: Side, message: string, suggestion?: string): void;
}

/** Makes findings with line and column. The file is only read for positions when there is a finding. */
export class FindingCollector {
  readonly findings: Finding[] = [];
  readonly #file: string;
  readonly #text: () => string;
  #positions: Positions | undefined;

  constructor(file: string, text: () => string) {
    this.#file = file;
    this.#text = text;
  }

  get positions(): Positions {
    this.#positions ??= atOnce(locateNodes(this.#text()));
    return this.#positions;
  }

  /** For who has read the text already. */
  set positions(known: Positions) {
    this.#positions = known;
  }

  /** The first step of the path is the definition's id. */
  make(
    kind: FindingKind,
    severity: Severity,
    path: NodePath,
    side: Side,
    message: string,
    suggestion?: string,
  ): Finding {
    const { line, column } = this.positions[side](path);
    const id = path[0] === undefined ? undefined : String(path[0]);
    return { severity, kind, file: this.#file, line, column, id, message, suggestion };
  }

  /** For what is wrong with the whole file. */
  addFile(kind: FindingKind, message: string, line?: number, column?: number): void {
    this.findings.push({
      severity: "error",
      kind,
      file: this.#file,
      line,
      column,
      id: undefined,
      message,
      suggestion: undefined,
    });
  }

  for(kind: FindingKind): FileReport {
    return {
      add: (severity, path, side, message, suggestion) => {
        this.findings.push(this.make(kind, severity, path, side, message, suggestion));
      },
    };
  }
}
