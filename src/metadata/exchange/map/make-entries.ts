import { KeyError, type Key } from "../../../base/ip/index.ts";
import { quote } from "../../../base/text/index.ts";
import { YamlFault } from "../../../base/yaml/index.ts";
import { checkValues } from "../../model/check-udm.ts";
import { readOtherFields, udmContexts, type UdmContext, type UdmValues } from "../../model/entry.ts";
import { keyReaders, type ReadKey } from "../../model/name-key.ts";
import type { ExchangeEntry, FaultList, Row } from "../import-rows.ts";
import { isObject } from "../rows/json-rows.ts";
import {
  bindHeader,
  boundTexts,
  createObjectBinder,
  firstTexts,
  type Binding,
  type Bindings,
  CellFault,
  cellBool,
  cellTexts,
  cellVlan,
  maskLength,
} from "./bind-columns.ts";
import { metadataColumn, type ColumnMap, type FixedValues } from "./column-map.ts";

interface Draft {
  keys: string[];
  scope: string | undefined;
  name: string | undefined;
  tags: string[];
  vlan: bigint | undefined;
  internal: boolean | undefined;
  contexts: UdmContext[] | undefined;
  otherFields: string | undefined;
  metadata: Map<string, string>;
}

const nothing: readonly ExchangeEntry[] = [];

/** Returns the reason to refuse rows of a scope; undefined accepts them. */
export type CheckScope = (scope: string) => string | undefined;

/** Makes entries from the rows of one text. */
export class EntryMaker {
  readonly #map: ColumnMap;
  readonly #faults: FaultList;
  readonly #parse: ReadKey;
  readonly #checkScope: CheckScope;
  readonly #bindObject: (values: Readonly<Record<string, unknown>>) => Bindings;
  readonly #seen = new Set<unknown>();
  #objects = 0;
  #header: readonly string[] | undefined;
  #ofHeader: Bindings | undefined;

  constructor(
    map: ColumnMap,
    faults: FaultList,
    parse: ReadKey = keyReaders.addresses,
    checkScope: CheckScope = () => "rows here are of no scope",
  ) {
    this.#parse = parse;
    this.#checkScope = checkScope;
    this.#map = map;
    this.#faults = faults;
    this.#bindObject = createObjectBinder(map);
  }

  /**
   * Returns the entries of a row. It returns none where the row is left out or has faults, which it records, and several for several keys.
   */
  make(row: Row): readonly ExchangeEntry[] {
    const bindings = this.#bindingsOf(row);
    const isSheet = row.header !== undefined;
    const trims = !this.#map.isExact;
    for (const { get, texts } of bindings.where) {
      if (!(firstTexts([get], row.values, true).some((text) => texts.has(text)) || isEmptyAllowed(get, row, texts)))
        return nothing;
    }
    const before = this.#faults.count;
    if (!isSheet) {
      for (const fault of bindings.faults) this.#faults.add({ row: row.number, line: row.line, ...fault });
    }
    const draft = emptyDraft();
    for (const binding of bindings.all) {
      try {
        const texts =
          binding.rule.to === "metadata" ? none : boundTexts(binding, row.values, trims, isSheet && this.#map.isExact);
        if (texts.length > 0 || binding.rule.to === "metadata") take(draft, binding, texts, row);
        if (!isSheet && binding.rule.isOptional === false) this.#seen.add(binding.rule);
      } catch (error) {
        if (!(error instanceof CellFault)) throw error;
        this.#addFault(row, binding.column, binding.rule.to, error.message);
      }
    }
    if (isSheet && bindings.faults.some(({ field }) => field === "key")) return nothing;
    if (draft.keys.length === 0) {
      if (this.#faults.count === before) this.#addFault(row, "", "key", "the row has no key");
      return nothing;
    }
    return this.#finishEntries(draft, bindings, row, before);
  }

  /** Records the columns of the map that no object had. This is known only at the end. */
  finish(): void {
    if (this.#objects === 0) return;
    for (const rule of this.#map.rules) {
      if (rule.isOptional !== false || this.#seen.has(rule)) continue;
      const reason = `no row has ${quote(rule.from[0] ?? "")}`;
      this.#faults.add({ row: 0, line: 0, column: rule.from[0] ?? "", field: rule.to, reason });
    }
  }

  #bindingsOf(row: Row): Bindings {
    if (row.header === undefined) {
      this.#objects++;
      return this.#bindObject(row.values as Readonly<Record<string, unknown>>);
    }
    if (row.header !== this.#header || this.#ofHeader === undefined) {
      this.#header = row.header;
      this.#ofHeader = bindHeader(this.#map, this.#header);
      for (const fault of this.#ofHeader.faults) this.#faults.add({ row: 0, line: 0, ...fault });
    }
    return this.#ofHeader;
  }

  #finishEntries(draft: Draft, bindings: Bindings, row: Row, before: number): readonly ExchangeEntry[] {
    const values = valuesOf(draft, this.#map);
    for (const { field, description } of checkValues(values, undefined, draft.keys[0])) {
      this.#addFault(row, columnOf(bindings, field), field, description);
    }
    const { scope } = draft;
    const fault = scope === undefined ? undefined : this.#checkScope(scope);
    if (fault !== undefined) this.#addFault(row, columnOf(bindings, "scope"), "scope", fault);
    const keys = draft.keys.map((text) => this.#readKey(text, row, bindings));
    if (this.#faults.count > before) return nothing;
    const contexts = this.#map.constants.contexts ?? draft.contexts ?? this.#map.defaults.contexts;
    const { name, tags, vlan, internal, metadata } = values;
    const { otherFields } = draft;
    const said = {
      ...(scope !== undefined && { scope }),
      ...(contexts !== undefined && { contexts }),
      ...(otherFields !== undefined && { otherFields }),
    };
    return keys.map((key) => Object.assign({ key: key as Key, name, tags, vlan, internal, metadata }, said));
  }

  #readKey(text: string, row: Row, bindings: Bindings): Key | undefined {
    try {
      return this.#parse(text);
    } catch (error) {
      if (!(error instanceof KeyError)) throw error;
      this.#addFault(row, columnOf(bindings, "key"), "key", error.message);
      return undefined;
    }
  }

  #addFault(row: Row, column: string, field: string, reason: string): void {
    this.#faults.add({ row: row.number, line: row.line, column, field, reason });
  }
}

const none: readonly string[] = [];

function isEmptyAllowed(get: (values: unknown) => unknown, row: Row, texts: ReadonlySet<string>): boolean {
  return texts.has("") && firstTexts([get], row.values, true).length === 0;
}

function emptyDraft(): Draft {
  return {
    keys: [],
    scope: undefined,
    name: undefined,
    tags: [],
    vlan: undefined,
    internal: undefined,
    contexts: undefined,
    otherFields: undefined,
    metadata: new Map(),
  };
}

/** Puts the texts of a column into the field of its rule. @throws CellFault */
function take(draft: Draft, binding: Binding, texts: readonly string[], row: Row): void {
  const { to } = binding.rule;
  const text = texts[0] ?? "";
  switch (to) {
    case "key":
      if (draft.keys.length === 0) draft.keys = texts.map((one) => keyText(one, binding, row));
      return;
    case "scope":
      draft.scope ??= single(texts);
      return;
    case "name":
      draft.name ??= single(texts);
      return;
    case "tags":
      for (const tag of texts) draft.tags.push(tag);
      return;
    case "vlan":
      draft.vlan ??= quoted(text, () => cellVlan(single(texts)));
      return;
    case "internal":
      draft.internal ??= quoted(text, () => cellBool(single(texts)));
      return;
    case "contexts":
      draft.contexts ??= texts.map(contextOf);
      return;
    case "otherFields":
      draft.otherFields ??= othersOf(single(texts));
      return;
    case "metadata":
      for (const [key, value] of metadataOf(binding, row)) if (!draft.metadata.has(key)) draft.metadata.set(key, value);
      return;
    default: {
      const key = to.slice(metadataColumn.length);
      if (!draft.metadata.has(key)) draft.metadata.set(key, texts.length > 1 ? texts.join(",") : text);
    }
  }
}

function single(texts: readonly string[]): string {
  if (texts.length > 1) throw new CellFault("has several values where one is expected");
  return texts[0] ?? "";
}

function quoted<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CellFault) throw new CellFault(`${quote(text)} ${error.message}`);
    throw error;
  }
}

function othersOf(text: string): string {
  try {
    return readOtherFields(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new CellFault(`${quote(text)} is not YAML of other fields: ${error.message}`);
  }
}

function contextOf(text: string): UdmContext {
  const known = udmContexts.find((context) => context === text);
  if (known === undefined) throw new CellFault(`unknown context ${quote(text)}: one of ${udmContexts.join(", ")}`);
  return known;
}

/** Returns the text of a key: an address, with a mask or the end of a range from other columns. */
function keyText(text: string, binding: Binding, row: Row): string {
  if (binding.rule.until !== undefined) {
    const until = firstTexts(binding.untils, row.values, true)[0];
    const last = until === undefined || binding.rule.take !== "host" ? until : until.split("/")[0];
    return last === undefined || last === text ? text : `${text}-${last}`;
  }
  if (text.includes("/") || text.includes("-")) return text;
  const mask = firstTexts(binding.masks, row.values, true)[0];
  return mask === undefined ? text : `${text}/${quoted(mask, () => maskLength(mask))}`;
}

/** Reads a whole map of metadata: an object, or its JSON in a cell. */
function metadataOf(binding: Binding, row: Row): readonly (readonly [string, string])[] {
  let value: unknown = binding.gets[0]?.(row.values);
  if (value === undefined || value === null || value === "") return [];
  if (typeof value === "string") {
    const text = value.startsWith("\\") ? value.slice(1) : value;
    try {
      value = JSON.parse(text) as unknown;
    } catch {
      throw new CellFault(`${quote(text)} is not a JSON object`);
    }
  }
  if (!isObject(value)) throw new CellFault("must be an object of texts");
  return Object.entries(value).map(([key, one]) => {
    const texts = cellTexts(one);
    if (texts.length > 1) throw new CellFault(`metadata key ${quote(key)} has several values`);
    return [key, texts[0] ?? ""];
  });
}

function valuesOf(draft: Draft, { constants, defaults }: ColumnMap): UdmValues {
  const metadata = draft.metadata;
  for (const [key, value] of defaults.metadata ?? []) if (!metadata.has(key)) metadata.set(key, value);
  for (const [key, value] of constants.metadata ?? []) metadata.set(key, value);
  return {
    name: constants.name ?? draft.name ?? defaults.name ?? "",
    tags: constants.tags ?? (defaults.tags === undefined ? draft.tags : united(draft.tags, defaults)),
    vlan: constants.vlan ?? draft.vlan ?? defaults.vlan ?? 0n,
    internal: constants.internal ?? draft.internal ?? defaults.internal ?? false,
    metadata,
  };
}

function united(tags: readonly string[], defaults: FixedValues): readonly string[] {
  return [...new Set([...tags, ...(defaults.tags ?? [])])];
}

/** Returns the column of a field, for a fault of the rules for values. */
function columnOf(bindings: Bindings, field: string): string {
  const target = /^metadata\["(.*)"\]$/.exec(field)?.[1];
  const to = target === undefined ? field.replace(/\[.*$/, "") : `${metadataColumn}${target}`;
  const found = bindings.all.find(({ rule }) => rule.to === to);
  return (found ?? bindings.all.find(({ rule }) => target !== undefined && rule.to === "metadata"))?.column ?? "";
}
