import type { FileNode } from "./file-node.ts";
import { createPositions, type TextPosition, type YamlFault } from "./yaml-node.ts";

/** A fault in a file that is read by a {@link Shape}. */
export interface ShapeFinding extends TextPosition {
  readonly severity: "error" | "warning";
  /** The keys and parts of lists that lead to the fault: `["attribute ifName", "syntax"]`. */
  readonly about: readonly string[];
  /** The outermost key above the fault, see {@link FileNode.outermost}. */
  readonly outermost: string | number | undefined;
  /** The path to the fault, see {@link FileNode.path}. */
  readonly path: string;
  readonly message: string;
  /** The text that was probably intended. */
  readonly suggestion: string | undefined;
}

/** Formats a finding to follow a file name: `12:7: attribute ifName: syntax: unknown … (did you mean "Counter64"?)`. */
export function formatShapeFinding(finding: ShapeFinding): string {
  return `${finding.line}:${finding.column}: ${formatProblem(finding)}`;
}

/** Formats a finding like {@link formatShapeFinding}, but without the position. */
export function formatProblem({ about, message, suggestion }: ShapeFinding): string {
  const hint = suggestion === undefined ? "" : ` (did you mean "${suggestion}"?)`;
  return `${[...about, message].join(": ")}${hint}`;
}

/** Maximum number of errors, and of warnings, worth reading for one file. */
const maxFindings = 1000;

/** Collects the faults of one text. */
export class ShapeReport {
  readonly #positionOf: (offset: number) => TextPosition;
  readonly #findings: (Omit<ShapeFinding, keyof TextPosition> & { readonly at: number })[] = [];
  /** The number of errors, including those that are not kept. */
  errors = 0;
  #warnings = 0;
  readonly #most: number;

  /** @param most maximum number of errors, and of warnings, to keep. Further ones are only counted. */
  constructor(text: string, most = maxFindings) {
    this.#positionOf = createPositions(text);
    this.#most = most;
  }

  add(severity: ShapeFinding["severity"], at: number, message: string, suggestion?: string, node?: FileNode): void {
    const count = severity === "error" ? ++this.errors : ++this.#warnings;
    if (count > this.#most) return;
    const { outermost, path = "" } = node ?? {};
    this.#findings.push({ severity, at, about: node?.about() ?? [], outermost, path, message, suggestion });
  }

  /** Returns all findings in the order of the text. */
  get findings(): readonly ShapeFinding[] {
    // Lookups of positions are fast in the order of the text.
    const inOrder = this.#findings.toSorted((a, b) => a.at - b.at);
    return inOrder.map(({ severity, at, about, outermost, path, message, suggestion }) => {
      const { line, column } = this.#positionOf(at);
      return { severity, line, column, about, outermost, path, message, suggestion };
    });
  }
}

/** Returns a finding for a text that is no YAML. */
export function faultFinding({ position, message }: YamlFault): ShapeFinding {
  return { severity: "error", ...position, about: [], outermost: undefined, path: "", message, suggestion: undefined };
}
