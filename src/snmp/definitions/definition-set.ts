import type { Kind } from "./definitions.ts";
import { FindingCollector, type Side } from "./file-report.ts";
import type { Finding, Severity } from "./finding.ts";
import { nearName } from "../../base/text/index.ts";
import { decodeText, hashOf, type Drafts, type Entry, type ParsedFile } from "./parse-file.ts";
import { inPieces, type Pacer } from "./pacer.ts";
import { locateNodes, type NodePath } from "./yaml-values.ts";

/** A file as it was read in one load. */
export interface LoadedFile<K extends Kind = Kind> {
  readonly kind: K;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly parsed: ParsedFile<K>;
}

/** A definition and the file that it stands in. */
export interface Placed<K extends Kind> extends Entry<K> {
  readonly file: LoadedFile<K>;
  readonly draft: Drafts[K];
}

/** Looking for a near name costs a look at every name; a whole directory that is missing needs no thousand hints. */
const maxSuggestions = 100;

/** The definitions of all files by kind and id, and the findings about them. The first of two with one id counts. */
export class DefinitionSet {
  readonly #findings: Finding[] = [];
  /** Findings by the file whose text says where they are. */
  readonly #unplaced = new Map<LoadedFile, ((collectorOf: CollectorOf) => Finding)[]>();
  readonly #byKind = new Map<Kind, Map<string, Placed<Kind>>>();
  /** Ids of definitions that are there but wrong. */
  readonly #broken = new Map<Kind, Set<string>>();
  #suggestions = 0;

  addFindings(findings: readonly Finding[]): void {
    for (const finding of findings) this.#findings.push(finding);
  }

  /** All findings, with their places, which takes reading the files that they are about. */
  async findings(pacer: Pacer): Promise<Finding[]> {
    const collectors = new Map<LoadedFile, FindingCollector>();
    for (const file of this.#unplaced.keys()) {
      const text = decodeText(file.bytes);
      const collector = new FindingCollector(file.path, () => text);
      collector.positions = await inPieces(locateNodes(text), pacer);
      collectors.set(file, collector);
    }
    const collectorOf: CollectorOf = (file) => collectors.get(file) as FindingCollector;
    const found = [...this.#findings];
    for (const make of [...this.#unplaced.values()].flat()) {
      found.push(make(collectorOf));
      if (pacer.isDue()) await pacer.rest();
    }
    return found;
  }

  addFile(file: LoadedFile): void {
    this.addFindings(file.parsed.findings);
    const placed = this.#table(file.kind);
    for (const entry of file.parsed.entries) {
      const earlier = placed.get(entry.id);
      if (entry.draft === undefined) {
        this.#brokenOf(file.kind).add(entry.id);
      } else if (earlier === undefined || isLayered(file.kind)) {
        placed.set(entry.id, { ...entry, draft: entry.draft, file });
      } else if (file.kind === "enum_oid") {
        const labels = earlier as Placed<"enum_oid">;
        placed.set(entry.id, this.#joined(labels, { ...(entry as Entry<"enum_oid">), file } as Placed<"enum_oid">));
      } else {
        this.reportTwice({ ...entry, draft: entry.draft, file }, earlier, "is there twice");
      }
    }
  }

  /** Labels of OIDs may be in several files: each vendor has its own devices and notifications. The first of two counts. */
  #joined(first: Placed<"enum_oid">, second: Placed<"enum_oid">): Placed<"enum_oid"> {
    const draft = new Map(first.draft);
    for (const [oid, label] of second.draft) {
      const known = draft.get(oid);
      if (known === undefined) draft.set(oid, label);
      else if (known !== label)
        this.add(
          second,
          "error",
          [oid],
          "key",
          `${oid} has the label ${JSON.stringify(known)} already, in ${first.file.path}`,
        );
    }
    return { ...first, draft, hash: hashOf("enum_oid", draft) };
  }

  /** All definitions of a kind that are right in themselves, by id. */
  of<K extends Kind>(kind: K): ReadonlyMap<string, Placed<K>> {
    return this.#table(kind) as ReadonlyMap<string, Placed<Kind>> as ReadonlyMap<string, Placed<K>>;
  }

  add(
    placed: Placed<Kind>,
    severity: Severity,
    path: NodePath,
    side: Side,
    message: string,
    suggestion?: string,
  ): void {
    this.#addUnplaced(placed, severity, path, side, () => message, suggestion);
  }

  /** Both places are named. */
  reportTwice(second: Placed<Kind>, first: Placed<Kind>, what: string): void {
    this.#unplacedIn(first.file);
    this.#addUnplaced(second, "error", [], "key", (collectorOf) => {
      const { line, column } = collectorOf(first.file).positions.key([first.key]);
      return `${what}, first at ${first.file.path}:${line}:${column}`;
    });
  }

  #addUnplaced(
    { file, key, id }: Placed<Kind>,
    severity: Severity,
    path: NodePath,
    side: Side,
    message: (collectorOf: CollectorOf) => string,
    suggestion?: string,
  ): void {
    this.#unplacedIn(file).push((collectorOf) => {
      const text = message(collectorOf);
      return { ...collectorOf(file).make(file.kind, severity, [key, ...path], side, text, suggestion), id };
    });
  }

  #unplacedIn(file: LoadedFile): ((collectorOf: CollectorOf) => Finding)[] {
    let unplaced = this.#unplaced.get(file);
    if (unplaced === undefined) this.#unplaced.set(file, (unplaced = []));
    return unplaced;
  }

  /** Whether a definition is there; reports it when it is missing altogether. */
  refer(from: Placed<Kind>, severity: Severity, path: NodePath, to: Kind, id: string, label: string): boolean {
    const table = this.#table(to);
    if (table.has(id)) return true;
    if (this.#broken.get(to)?.has(id) !== true) {
      this.add(
        from,
        severity,
        path,
        "value",
        `${label} ${JSON.stringify(id)} does not exist`,
        this.suggest(id, table.keys()),
      );
    }
    return false;
  }

  /** A near name, as long as there are not too many to look for. */
  suggest(text: string, names: Iterable<string>): string | undefined {
    return this.#suggestions++ < maxSuggestions ? nearName(text, names) : undefined;
  }

  #table(kind: Kind): Map<string, Placed<Kind>> {
    let table = this.#byKind.get(kind);
    if (table === undefined) this.#byKind.set(kind, (table = new Map()));
    return table;
  }

  #brokenOf(kind: Kind): Set<string> {
    let broken = this.#broken.get(kind);
    if (broken === undefined) this.#broken.set(kind, (broken = new Set()));
    return broken;
  }
}

type CollectorOf = (file: LoadedFile) => FindingCollector;

/** Defaults are layers: a later one replaces what it sets. */
function isLayered(kind: Kind): boolean {
  return kind === "object_type" || kind === "device_default";
}
