import { readYaml } from "./read-yaml.ts";
import { createPositions, isNullNode, YamlFault, type YamlMapping, type YamlNode, type YamlPair } from "./yaml-node.ts";

/** An item of a list in a text: a mapping that may have a name. */
export interface ListItem {
  /** The value of its key `name`, else its number from 1. */
  readonly name: string;
  readonly isNamed: boolean;
  /** Its lines as a separate text: without the dash, with the comments directly above it. */
  readonly text: string;
}

/** The place of an item, as line numbers from 0. */
type ItemPlace = ListItem & {
  /** The first of the comments directly above it, not counting comments on the line of its dash. */
  readonly lead: number;
  readonly dash: number;
  /** The line after its last one. */
  readonly end: number;
};

/** A text with some items replaced, added or removed. */
export type EditedList = {
  readonly text: string;
  /** The first added line, counted from 1, with the number of lines and the shift of their columns; undefined where nothing was added. */
  readonly at?: { readonly line: number; readonly count: number; readonly indent: number };
};

const blank = /^[ \t]*$/;
const comment = /^[ \t]*#/;

/**
 * The items of a block list in a YAML text, which can be replaced, added and removed. All other lines and their comments stay unchanged. The list is the
 * whole text, or the value of one of its keys.
 */
export class ListText {
  readonly #key: string | undefined;
  readonly #lines: readonly string[];
  readonly #newLine: string;
  readonly #places: readonly ItemPlace[];
  /** The column of the dashes. */
  readonly #indent: number;
  readonly #root: YamlNode | undefined;
  readonly #list: YamlNode | undefined;

  /**
   * @param key the key of the list; undefined: the whole text.
   * @throws YamlFault where the text is no YAML, or the list is not written with a dash at the start of each item's line.
   */
  constructor(given: string, key: string | undefined) {
    const text = withoutMark(given);
    this.#key = key;
    this.#newLine = text.includes("\r\n") ? "\r\n" : "\n";
    this.#lines = text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
    this.#root = readYaml(text);
    const root = this.#root === undefined || isNullNode(this.#root) ? undefined : this.#root;
    const positionOf = createPositions(text);
    const fault = (message: string, at: number): never => {
      throw new YamlFault(message, positionOf(at));
    };
    if (key !== undefined && root !== undefined && root.kind !== "mapping") fault("expected a mapping", root.at);
    const list = key === undefined ? root : pairOf(root as YamlMapping | undefined, key)?.value;
    this.#list = list === undefined || isNullNode(list) ? undefined : list;
    if (this.#list !== undefined && this.#list.kind !== "sequence") fault("expected a list", this.#list.at);
    const items = this.#list?.kind === "sequence" ? this.#list.items : [];
    const starts = items.map((item) => {
      const { line } = positionOf(item.at);
      const [dash] = /^\s*-(?=[ \t])/.exec(this.#lines[line - 1] ?? "") ?? fault(inOnePiece, item.at);
      return { line: line - 1, indent: dash.length - 1 };
    });
    this.#indent = starts[0]?.indent ?? (key === undefined ? 0 : 2);
    if (starts.some(({ line, indent }, i) => indent !== this.#indent || line === starts[i - 1]?.line))
      fault(inOnePiece, items[0]?.at ?? 0);
    const places: ItemPlace[] = [];
    for (const [i, item] of items.entries())
      places.push(this.#placeOf(item, i, starts[i]?.line ?? 0, starts[i + 1]?.line, places.at(-1)?.end ?? 0));
    this.#places = places;
  }

  get items(): readonly ListItem[] {
    return this.#places;
  }

  /** Replaces an item, or adds one before another or at the end. The comments above a replaced item stay where the new text has none. */
  put(text: string, replaced: string | undefined, before: string | undefined): EditedList {
    const old = replaced === undefined ? undefined : this.#place(replaced);
    if (old !== undefined && before === undefined) {
      const fresh = this.#rendered(text, old);
      const from = leadOf(text).length > 0 ? old.lead : old.dash;
      return this.#spliced(from, old.end, fresh.lines, fresh.indent);
    }
    const rest = old === undefined ? this : new ListText(this.#without(old), this.#key);
    const own = old !== undefined && leadOf(text).length === 0 ? [...leadOf(old.text), text].join("\n") : text;
    return rest.#inserted(own, before);
  }

  /** Replaces all items by one. Empty comments fill the freed lines, so that the text after the list keeps its position. */
  putAlone(text: string): EditedList {
    const [first, last] = [this.#places[0], this.#places.at(-1)];
    const { lines, indent } = this.#rendered(text, first);
    if (first === undefined || last === undefined) return this.#begun(lines, indent);
    const left = Array.from({ length: Math.max(0, last.end - first.lead - lines.length) }, () => "#");
    const { text: all } = this.#spliced(first.lead, last.end, [...lines, ...left], indent);
    return { text: all, at: { line: first.lead + 1, count: lines.length, indent } };
  }

  /** Removes an item, with the comments directly above it. */
  remove(name: string): EditedList {
    const old = this.#place(name);
    return { text: old === undefined ? this.#joined(this.#lines) : this.#without(old) };
  }

  /** Returns the name of the next item; undefined after the last. */
  nextOf(name: string): string | undefined {
    const at = this.#places.findIndex((place) => place.name === name);
    return at < 0 ? undefined : this.#places[at + 1]?.name;
  }

  /** Reports whether another text has the same content, except for one item in each. */
  isSameBut(other: ListText, own: string | undefined, its: string | undefined): boolean {
    return sameNodes(this.#others(own), other.#others(its));
  }

  /** Returns the content of the text except one item of the list. */
  #others(name: string | undefined): readonly YamlNode[] {
    const items = this.#list?.kind === "sequence" ? this.#list.items : [];
    const left = items.filter((_, i) => name === undefined || this.#places[i]?.name !== name);
    if (this.#key === undefined || this.#root?.kind !== "mapping") return left;
    const around = this.#root.pairs.filter(({ key }) => key.text !== this.#key);
    return [...left, ...around.flatMap(({ key, value }) => [key, value])];
  }

  #place(name: string): ItemPlace | undefined {
    return this.#places.find((place) => place.name === name);
  }

  #placeOf(item: YamlNode, number: number, dash: number, next: number | undefined, from: number): ItemPlace {
    let end = dash + 1;
    for (let at = end; at < (next ?? this.#lines.length); at++) {
      const line = this.#lines[at] as string;
      if (blank.test(line)) continue;
      const indent = line.length - line.trimStart().length;
      if (indent <= this.#indent) {
        if (comment.test(line)) continue;
        break;
      }
      end = at + 1;
    }
    let lead = dash;
    while (lead > from && comment.test(this.#lines[lead - 1] as string)) lead--;
    // Comments at the head of the file are about the file.
    if (lead === 0) lead = dash;
    const first = this.#lines[dash] as string;
    const column = first.length - first.replace(/^\s*-[ \t]+/, "").length;
    const body = this.#lines.slice(dash, end).map((line, i) => (i === 0 ? line.slice(column) : dedent(line, column)));
    const above = this.#lines.slice(lead, dash).map((line) => line.trimStart());
    const named = item.kind === "mapping" ? item.pairs.find(({ key }) => key.text === "name")?.value : undefined;
    const isNamed = named?.kind === "scalar" && !isNullNode(named);
    const name = isNamed ? named.text : String(number + 1);
    return { name, isNamed, text: [...above, ...body].join("\n"), lead, dash, end };
  }

  #without({ lead, end }: ItemPlace): string {
    if (this.#places.length === 1) return this.#emptied(lead, end);
    let to = end;
    while (to < this.#lines.length && blank.test(this.#lines[to] as string)) to++;
    // For the last item, the blank lines above are removed, not those below.
    let from = lead;
    if (to === this.#lines.length || end === this.#places.at(-1)?.end) {
      to = end;
      while (from > 0 && blank.test(this.#lines[from - 1] as string)) from--;
    }
    return this.#joined(this.#lines.toSpliced(from, to - from));
  }

  #emptied(from: number, to: number): string {
    if (this.#key === undefined) return this.#joined(this.#lines.toSpliced(from, to - from, "[]"));
    // An empty value is an empty list.
    return this.#joined(this.#lines.toSpliced(from, to - from));
  }

  #inserted(text: string, before: string | undefined): EditedList {
    const next = before === undefined ? undefined : this.#place(before);
    const last = this.#places.at(-1);
    const { lines, indent } = this.#rendered(text, next ?? last);
    if (next !== undefined) return this.#spliced(next.lead, next.lead, [...lines, ...this.#space()], indent);
    if (last !== undefined) return this.#spliced(last.end, last.end, [...this.#space(), ...lines], indent);
    return this.#begun(lines, indent);
  }

  /** Adds the first item. */
  #begun(lines: readonly string[], indent: number): EditedList {
    const empty = /\[[ \t]*\][ \t]*(?=#|$)/;
    if (this.#key === undefined) {
      const at = this.#list === undefined ? -1 : this.#lines.findIndex((line) => empty.test(line));
      return at < 0
        ? this.#spliced(this.#lines.length, this.#lines.length, lines, indent)
        : this.#spliced(at, at + 1, lines, indent);
    }
    const name = new RegExp(`^(?:${this.#key}|"${this.#key}"|'${this.#key}')[ \\t]*:`);
    const at = this.#lines.findIndex((line) => name.test(line));
    if (at < 0) {
      const from = this.#lines.length;
      const begun = this.#spliced(from, from, [`${this.#key}:`, ...lines], indent);
      return { ...begun, at: { line: from + 2, count: lines.length, indent } };
    }
    const head = (this.#lines[at] as string).replace(empty, "").trimEnd();
    const begun = this.#spliced(at, at + 1, [head, ...lines], indent);
    return { ...begun, at: { line: at + 2, count: lines.length, indent } };
  }

  /** Returns a blank line between items, where the others have one. */
  #space(): readonly string[] {
    return this.#places.some(({ lead }, i) => i > 0 && blank.test(this.#lines[lead - 1] as string)) ? [""] : [];
  }

  /** Returns an item as lines of the list. */
  #rendered(text: string, like: ItemPlace | undefined): { readonly lines: readonly string[]; readonly indent: number } {
    const lead = leadOf(text);
    const body = linesOf(text).slice(lead.length);
    const margin = Math.min(
      ...body.filter((line) => !blank.test(line)).map((line) => line.length - line.trimStart().length),
    );
    const dash = like === undefined ? undefined : /^\s*-[ \t]+/.exec(this.#lines[like.dash] ?? "")?.[0];
    const start = dash ?? `${" ".repeat(this.#indent)}- `;
    const pad = " ".repeat(start.length);
    const shown = body.map((line, i) => {
      const own = dedent(line, margin);
      return i === 0 ? start + own : blank.test(own) ? own : pad + own;
    });
    const above = lead.map((line) => " ".repeat(this.#indent) + line.trimStart());
    return { lines: [...above, ...shown], indent: start.length - margin };
  }

  #spliced(from: number, to: number, lines: readonly string[], indent: number): EditedList {
    const skipped = lines[0] === "" ? 1 : 0;
    return {
      text: this.#joined(this.#lines.toSpliced(from, to - from, ...lines)),
      at: { line: from + skipped + 1, count: lines.length - skipped, indent },
    };
  }

  #joined(lines: readonly string[]): string {
    return lines.map((line) => line + this.#newLine).join("");
  }
}

const inOnePiece = "each item of the list has to begin with a dash on a line of its own";

function pairOf(root: YamlMapping | undefined, key: string): YamlPair | undefined {
  return root?.pairs.find((pair) => pair.key.text === key);
}

/** Removes a byte order mark, which some editors write. It would count as a column. */
function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function linesOf(text: string): readonly string[] {
  const lines = withoutMark(text).split(/\r?\n/);
  const isFull = (line: string): boolean => !blank.test(line);
  return lines.slice(Math.max(0, lines.findIndex(isFull)), lines.findLastIndex(isFull) + 1);
}

/** Returns the comments at the start of a text. */
function leadOf(text: string): readonly string[] {
  const lines = linesOf(text);
  const end = lines.findIndex((line) => !comment.test(line));
  return end < 0 ? lines : lines.slice(0, end);
}

function dedent(line: string, columns: number): string {
  return line.slice(Math.min(columns, line.length - line.trimStart().length));
}

function sameNodes(a: readonly YamlNode[], b: readonly YamlNode[]): boolean {
  return a.length === b.length && a.every((node, i) => isSameNode(node, b[i] as YamlNode));
}

/** Reports whether two nodes have the same content, at any position. */
function isSameNode(a: YamlNode, b: YamlNode): boolean {
  if (a.tag !== b.tag) return false;
  if (a.kind === "scalar") return b.kind === "scalar" && a.text === b.text && a.isPlain === b.isPlain;
  if (a.kind === "sequence") return b.kind === "sequence" && sameNodes(a.items, b.items);
  if (b.kind !== "mapping") return false;
  const parts = ({ pairs }: YamlMapping): readonly YamlNode[] => pairs.flatMap(({ key, value }) => [key, value]);
  return sameNodes(parts(a), parts(b));
}
