import { quote } from "../text/index.ts";
import type { ShapeFinding, ShapeReport } from "./finding.ts";
import { isNullNode, mergedPairs, type YamlNode } from "./yaml-node.ts";

/** Returns a key for a message. It quotes a key that is long or has special characters. */
function shownKey(key: string): string {
  return /^[\p{L}\p{N}_./:@+*-]{1,128}$/u.test(key) ? key : quote(key);
}

/** A node of a file with its position. It reads the content and reports faults. */
export class FileNode {
  readonly node: YamlNode;
  readonly report: ShapeReport;
  /** The key, or the number in the list, of this node; undefined for the outermost node. */
  readonly step: string | number | undefined;
  readonly #parent: FileNode | undefined;
  /** The word before the step in messages, in place of the step of the parent. */
  readonly #each: string | undefined;
  readonly #keyAt: number;
  readonly #valueAt: number;
  /** True if an alias or a merge inserted the node. It then has the position of the key that refers to it. */
  readonly #isElsewhere: boolean;
  /** The child nodes, once they were read. */
  #fields: readonly FileNode[] | undefined;

  constructor(
    report: ShapeReport,
    node: YamlNode,
    parent?: FileNode,
    step?: string | number,
    keyAt = 0,
    each?: string,
  ) {
    this.report = report;
    this.node = node;
    this.step = step;
    this.#parent = parent;
    this.#each = each;
    const isMerged = parent !== undefined && (parent.#isElsewhere || keyAt < parent.#valueAt);
    this.#keyAt = isMerged ? parent.#keyAt : keyAt;
    this.#isElsewhere = isMerged || node.at < keyAt;
    this.#valueAt = this.#isElsewhere ? this.#keyAt : node.at;
  }

  get isNull(): boolean {
    return isNullNode(this.node);
  }

  /** True if it has no content: null, or an empty text. */
  get isAbsent(): boolean {
    return this.isNull || (this.node.kind === "scalar" && this.node.text === "");
  }

  /** Reports a fault that makes the value unusable. @param side the part at fault: the key or its value. */
  error(message: string, suggestion?: string, side: "key" | "value" = "value"): undefined {
    this.#add("error", message, suggestion, side);
  }

  /** Reports content that is ignored. */
  warn(message: string, suggestion?: string, side: "key" | "value" = "value"): undefined {
    this.#add("warning", message, suggestion, side);
  }

  #add(
    severity: ShapeFinding["severity"],
    message: string,
    suggestion: string | undefined,
    side: "key" | "value",
  ): void {
    this.report.add(severity, this.offset(side), message, suggestion, this);
  }

  /** The outermost key above the node, as written. */
  get outermost(): string | number | undefined {
    return this.#parent?.step === undefined ? this.step : this.#parent.outermost;
  }

  /** The path to the node in program syntax: `.columns["Prefix"].take`. */
  get path(): string {
    if (this.#parent === undefined || this.step === undefined) return "";
    if (typeof this.step === "number") return `${this.#parent.path}[${this.step}]`;
    return this.#parent.path + (this.isField ? `.${this.step}` : `[${quote(this.step)}]`);
  }

  /** Returns the text offset for a message about the node. */
  offset(side: "key" | "value"): number {
    return side === "key" ? this.#keyAt : this.#valueAt;
  }

  /** Reports a value of the wrong kind. It names the kind, never the content, which may be a secret. */
  expected(what: string): undefined {
    this.error(`expected ${what}, found ${describe(this.node)}`, undefined, this.isNull ? "key" : "value");
  }

  /** True if it is the value of a record's key. Messages about its parts may omit that key. */
  get isField(): boolean {
    return typeof this.step === "string" && this.#each === undefined;
  }

  /** Returns the words that lead to the node. */
  about(): string[] {
    if (this.#parent === undefined || this.step === undefined) return [];
    const above = this.#parent.about();
    const step = typeof this.step === "number" ? String(this.step + 1) : shownKey(this.step);
    const isList = typeof this.step === "number";
    const of = this.#each ?? (isList ? (this.#parent.isField && above.at(-1)) || "item" : undefined);
    if (of === undefined) return [...above, step];
    // The key of a list or mapping adds nothing to the names of its parts.
    return [...(this.#parent.isField ? above.slice(0, -1) : above), `${of} ${step}`];
  }

  /** Returns the nodes in it, with merges resolved. */
  children(each?: string): readonly FileNode[] {
    if (each !== undefined) return this.#childrenOf(each);
    this.#fields ??= this.#childrenOf(each);
    return this.#fields;
  }

  #childrenOf(each: string | undefined): readonly FileNode[] {
    const { node } = this;
    if (node.kind === "scalar") return [];
    if (node.kind === "sequence") return node.items.map((item, i) => this.#child(item, i, item.at, each));
    try {
      return mergedPairs(node, failed).map(({ key, value }) => this.#child(value, key.text, key.at, each));
    } catch (error) {
      if (!(error instanceof MergeFault)) throw error;
      this.error(error.message);
      return [];
    }
  }

  #child(node: YamlNode, step: string | number, keyAt: number, each: string | undefined): FileNode {
    return new FileNode(this.report, node, this, step, keyAt, each);
  }

  /** Returns its key as a scalar. */
  get key(): FileNode {
    const text = String(this.step);
    return this.#as({ kind: "scalar", at: this.#keyAt, tag: undefined, text, isPlain: false, weight: 1, depth: 1 });
  }

  /** Returns itself, or an empty mapping in place of null. */
  get orEmpty(): FileNode {
    return this.isNull ? this.#as({ ...emptyMapping, at: this.#keyAt }) : this;
  }

  #as(node: YamlNode): FileNode {
    return new FileNode(this.report, node, this.#parent, this.step, this.#keyAt, this.#each);
  }

  /** Reports whether a key has a value. */
  has(step: string): boolean {
    return this.children().some((child) => child.step === step && !child.isAbsent);
  }

  /** Returns the node at a key or a list number; itself when there is none. */
  below(step: string | number): FileNode {
    return this.children().find((child) => child.step === step) ?? this;
  }
}

export const emptyMapping = { kind: "mapping", at: 0, tag: undefined, pairs: [], weight: 1, depth: 1 } as const;

class MergeFault extends Error {}

function failed(message: string): never {
  throw new MergeFault(message);
}

/** Returns the kind of a node, never its content. */
function describe(node: YamlNode): string {
  if (isNullNode(node)) return "nothing";
  if (node.kind === "sequence") return "a list";
  if (node.kind === "mapping") return "a mapping";
  if (node.text === "") return "an empty text";
  return node.text.includes("\n") ? "a text of several lines" : "a text";
}
