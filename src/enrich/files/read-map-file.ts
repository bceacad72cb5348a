import {
  decodeUtf8,
  YamlFault,
  isNullNode,
  positionAt,
  readYaml,
  type YamlMapping,
  type YamlNode,
} from "../../base/yaml/index.ts";

/** Something wrong with a file. */
export interface FileFinding {
  readonly severity: "error" | "warning";
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** `line:column: message`, to stand behind the name of the file. */
export function formatFinding({ line, column, message }: FileFinding): string {
  return `${line}:${column}: ${message}`;
}

/** Thrown for a file that cannot be used. The message names the first of the errors, and how many more there are. */
export class FileFindings extends Error {
  readonly code = "bad_file";
  readonly findings: readonly FileFinding[];

  constructor(findings: readonly FileFinding[]) {
    const [first, ...more] = findings.filter(({ severity }) => severity === "error");
    const others = more.length > 0 ? ` (and ${more.length} more)` : "";
    super(`${first === undefined ? "cannot be used" : formatFinding(first)}${others}`);
    this.name = "FileFindings";
    this.findings = findings;
  }
}

/** Of one file. */
export interface Reporter {
  error(node: YamlNode, message: string): void;
  /** What is ignored. */
  warn(node: YamlNode, message: string): void;
}

export interface ReadFile<T> {
  readonly value: T;
  readonly warnings: readonly FileFinding[];
}

/** A file of errors only is not worth more. */
const maxFindings = 1000;

/**
 * Reads a YAML file whose root is a mapping.
 *
 * @param read makes the value; is given undefined for a file that says nothing.
 * @throws FileFindings with all that is wrong, when anything is.
 */
export function readMapFile<T>(
  bytes: Uint8Array,
  read: (root: YamlMapping | undefined, report: Reporter) => T,
): ReadFile<T> {
  const { text, root } = readRoot(bytes);
  const findings: FileFinding[] = [];
  const add = (severity: FileFinding["severity"], at: number, message: string): void => {
    if (findings.length < maxFindings) findings.push({ severity, ...positionAt(text, at), message });
  };
  const report: Reporter = {
    error: (node, message) => add("error", node.at, message),
    warn: (node, message) => add("warning", node.at, message),
  };
  if (root !== undefined && root.kind !== "mapping" && !isNullNode(root)) {
    report.error(root, "expected a mapping");
  }
  const value = read(root?.kind === "mapping" ? root : undefined, report);
  if (findings.some(({ severity }) => severity === "error")) throw new FileFindings(findings);
  return { value, warnings: findings };
}

function readRoot(bytes: Uint8Array): { readonly text: string; readonly root: YamlNode | undefined } {
  try {
    const text = decodeUtf8(bytes);
    return { text, root: readYaml(text) };
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new FileFindings([{ severity: "error", ...error.position, message: error.message }]);
  }
}
