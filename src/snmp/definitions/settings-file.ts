import {
  createPositions,
  decodeUtf8,
  list,
  mergedPairs,
  readYamlSteps,
  scalar,
  Shape,
  ShapeReport,
  YamlFault,
  type Fail,
  FileNode,
  type YamlNode,
} from "../../base/yaml/index.ts";
import { quote } from "../../base/text/index.ts";
import { parseOid } from "../session/ber.ts";
import { atOnce } from "../limits.ts";
import type { Finding } from "./definitions.ts";

/** Reports whether a node is one of YAML's forms of no value; in quotes these words mean no value, too. */
export function isNothing({ node }: FileNode): boolean {
  return node.kind === "scalar" && node.text.length <= 4 && /^(?:|~|null|Null|NULL)$/.test(node.text);
}

/** Reports whether a key of a mapping has a value. */
export function isGiven(at: FileNode, key: string): boolean {
  const child = at.below(key);
  return child !== at && !isNothing(child);
}

/**
 * The rules for unknown keys of mappings: a name near a known one is a typing error; any other belongs to a newer version or another
 * program.
 */
export const tolerant = { unknown: "hint", isAbsent: isNothing } as const;

/** The shape of one line of text. Messages do not repeat the text, because it may be a secret. */
export const textLine: Shape<string> = new Shape("a text", (at) => {
  const { node } = at;
  return node.kind === "scalar" && !isNothing(at) && !node.text.includes("\n") ? node.text : at.expected("a text");
});

/** The shape of an item of a list of texts, in which the word null is a text, too. */
export const word: Shape<string> = scalar(
  "a text",
  (given, at) => (given.includes("\n") ? at.expected("a text of one line") : given),
  { isHidden: true, takesNull: true },
);

/** The shape of any key of a mapping. */
export const anyKey: Shape<string> = new Shape("a name", ({ step }) => String(step));

/** The shape of a text of any length, which may be the word null. */
export const anyText: Shape<string> = scalar("a text", (given) => given, { takesNull: true });

export const trueOrFalse: Shape<boolean> = scalar("true or false", (given) => {
  if (/^(?:true|True|TRUE)$/.test(given)) return true;
  return /^(?:false|False|FALSE)$/.test(given) ? false : undefined;
});

/** The shape of an OID, with its text with a leading dot. */
export const oid = scalar("an OID such as .1.3.6.1.2.1.1.5", (given) => {
  const parsed = parseOid(given);
  return parsed && { oid: parsed, oidText: given.startsWith(".") ? given : `.${given}` };
});

/** The shape of a list of texts without duplicates. */
export const distinctWords: Shape<readonly string[]> = list(word).to((words, at) => {
  const seen = new Set<string>();
  for (const child of at.children()) {
    if (child.node.kind !== "scalar") continue;
    if (seen.size === seen.add(child.node.text).size) child.error(`${quote(child.node.text)} is there twice`);
  }
  return words;
});

/** Returns a shape that also accepts no value, without an error. */
export function orNothing<T>(shape: Shape<T>): Shape<T> {
  return new Shape(shape.expected, (at) => (isNothing(at) ? undefined : shape.read(at)), shape.rows);
}

const knownTags: ReadonlySet<string | undefined> = new Set([undefined, "!", "!!str", "!!seq", "!!map", "!!merge"]);

/** Refuses unknown tags and invalid merges anywhere in a node. */
function checkNode(node: YamlNode, fail: Fail): void {
  // The tag is not repeated, because it may be a secret that lacks quotes.
  if (!knownTags.has(node.tag)) fail("a tag (!…) that is not known; a text that begins so needs quotes", node.at);
  if (node.kind === "sequence") for (const item of node.items) checkNode(item, fail);
  if (node.kind === "mapping") for (const { value } of mergedPairs(node, fail)) checkNode(value, fail);
}

function* checkSteps(root: YamlNode, fail: Fail): Generator<void, void> {
  const pairs = root.kind === "mapping" ? mergedPairs(root, fail) : [];
  checkNode(root.kind === "mapping" ? { ...root, pairs: [] } : root, fail);
  for (const { value } of pairs) {
    checkNode(value, fail);
    yield;
  }
}

/** Decodes a text without its byte order mark, which does not count in positions. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The content of a file, and its faults. */
export class SettingsFile {
  readonly path: string;
  readonly report: ShapeReport;
  /** Undefined for a text without content, or one that is not YAML. */
  readonly root: FileNode | undefined;
  readonly #fault: Finding | undefined;

  private constructor(path: string, report: ShapeReport, root?: FileNode, fault?: Finding) {
    this.path = path;
    this.report = report;
    this.root = root;
    this.#fault = fault;
  }

  /**
   * Reads a file in steps: one for the text, and one for the tags and merges of each pair of the outermost mapping.
   *
   * @param hasSecrets true if no message may repeat the text.
   * @param wrap makes the outermost node of the content.
   */
  static *open(
    path: string,
    bytes: Uint8Array,
    hasSecrets: boolean,
    wrap: (root: YamlNode) => YamlNode = (root) => root,
  ): Generator<void, SettingsFile> {
    const report = new ShapeReport(decodeText(bytes), Infinity);
    try {
      const content = decodeUtf8(bytes).replace(/^\uFEFF/, "");
      const read = yield* readYamlSteps(content);
      if (read === undefined) return new SettingsFile(path, report);
      const fail: Fail = (message, at) => {
        throw new YamlFault(message, createPositions(content)(at));
      };
      // Tags need a `!`, and merges a `<<`.
      if (/!|<</.test(content)) yield* checkSteps(read, fail);
      const root = new FileNode(report, wrap(read));
      return new SettingsFile(path, report, isNothing(root) ? undefined : root);
    } catch (error) {
      if (!(error instanceof YamlFault)) throw error;
      // The message of the library contains the unknown alias, which may be a community that lacks quotes.
      const message = hasSecrets ? error.message.replace(/".*"|!<.*>|\(.*\)|\*\S+/gs, "…") : error.message;
      const fault = { ...wholeFile(path, message), ...error.position };
      return new SettingsFile(path, report, undefined, fault);
    }
  }

  /** Reads a file at once. */
  static read(...args: Parameters<typeof SettingsFile.open>): SettingsFile {
    return atOnce(SettingsFile.open(...args));
  }

  /** Returns the pairs of the outermost mapping, and reports if there is none. @param what a noun that fits behind "expected". */
  pairs(what: string): readonly FileNode[] {
    if (this.root !== undefined && this.root.node.kind !== "mapping") this.root.expected(what);
    return this.root?.node.kind === "mapping" ? this.root.children() : [];
  }

  get hasErrors(): boolean {
    return this.#fault !== undefined || this.report.errors > 0;
  }

  /** The findings in the order of the text. */
  get findings(): Finding[] {
    if (this.#fault !== undefined) return [this.#fault];
    return this.report.findings.map(({ severity, line, column, about, outermost, message, suggestion }) => {
      const id = outermost === undefined ? undefined : String(outermost);
      const text = [...about.slice(1), message].join(": ");
      return { severity, file: this.path, line, column, id, message: text, suggestion };
    });
  }
}

/** Returns an error that concerns a whole file. */
export function wholeFile(file: string, message: string): Finding {
  return { severity: "error", file, line: undefined, column: undefined, id: undefined, message, suggestion: undefined };
}
