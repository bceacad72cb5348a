import type { Key } from "../../base/ip/index.ts";
import { hashText } from "../../base/text/index.ts";
import { badRequest, toApiError, originOf, type WriteCaller } from "../udm/udm-service.ts";
import {
  keyReaders,
  type Select,
  type CollectorUdmStore,
  type PlanWrites,
  type Scopes,
  type UdmIndex,
  type UdmStoreWithHistory,
  type UdmWrite,
} from "../../metadata/index.ts";
import { Progress, systemClock } from "../../base/report/index.ts";
import { apiError, type FieldViolation } from "../api-error.ts";
import type { Waiting } from "../http/call.ts";

/**
 * A token for the next page: where it begins, and a digest of the question, so that a token of another question is refused.
 *
 * @param question the fields of the request that must not change.
 */
export function writePageToken(question: readonly unknown[], at: readonly string[]): string {
  return Buffer.from(JSON.stringify([digest(question), ...at])).toString("base64url");
}

/** @returns where the page begins; undefined for the first. @throws ConnectError `invalid_argument` for what is no token of this question. */
export function readPageToken(token: string, question: readonly unknown[]): readonly string[] | undefined {
  if (token === "") return undefined;
  const parts = parse(token);
  if (parts?.[0] === digest(question)) return parts.slice(1);
  const description =
    parts === undefined ? "page_token is none that was given out" : "page_token belongs to another question";
  throw badRequest([{ field: "page_token", description }]);
}

/** Returns the length of a page. @throws ConnectError `invalid_argument` */
export function pageSize(given: number, most: number, byDefault: number): number {
  if (given > most) throw badRequest([{ field: "page_size", description: `page_size ${given} is more than ${most}` }]);
  return given === 0 ? byDefault : given;
}

function digest(question: readonly unknown[]): string {
  return hashText(JSON.stringify(question)).toString(36);
}

function parse(token: string): string[] | undefined {
  try {
    const value = JSON.parse(Buffer.from(token, "base64url").toString()) as unknown;
    const isGood = Array.isArray(value) && value.every((part) => typeof part === "string");
    return isGood ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The store of the metadata, or why there is none: a sentence that says which setting is missing. */
export type ToolsSource = ToolsStore | { readonly disabled: string };
export type ToolsStore = UdmStoreWithHistory & Pick<CollectorUdmStore, "layers" | "places">;

/** A question about an address that records have. */
export interface ObjectQuestion {
  /** The object at which records have the address: at `<object>.ip.addr`. */
  readonly object: string;
  readonly address: string;
  /** The scope of the metadata in which the address is; left out: as the question has it. */
  readonly scope?: string | undefined;
  /** The port and protocol of an end of a flow. */
  readonly port?: { readonly number: number; readonly protocol: number } | undefined;
  /** The interface of an end of a flow, through which it comes, or leaves. */
  readonly netif?: { readonly exporter: string; readonly index: number } | undefined;
}

/** The fields that records get of an address, its port and its interface. */
export interface ExplainedObject {
  /** A JSON object of fields: the address first, then the port and the interface. */
  readonly json: string;
  /** The fields that only say what was asked. */
  readonly asked: ReadonlySet<string>;
  /** The sources of fields that the address alone does not have: a word for each. */
  readonly sources: ReadonlyMap<string, string>;
}

/** Returns what records get of an address now, as the enrichment of records makes it. */
export type ExplainObject = (question: ObjectQuestion) => ExplainedObject;

export interface ToolsOptions {
  /** Most elements of a batch. */
  readonly maxBatchSize: number;
  /** Resolves when it can be asked; undefined where nothing is enriched. */
  readonly explainObject?: (() => Promise<ExplainObject>) | undefined;
  /** Gives the store of a scope in which addresses may be, though the question names none; undefined where there is none. */
  readonly scopes?: ((scope: string) => ToolsSource | undefined) | undefined;
  /** The scope whose entries these are; undefined: none, they are global. */
  readonly scopeName?: string | undefined;
  /** The scopes themselves, which are exported together and whose changes are undone with those of entries; undefined: there are none. */
  readonly definitions?: Pick<Scopes, "list" | "takeBack"> | { readonly disabled: string } | undefined;
  /** Selects the rows of a text to import; undefined where nothing is imported by an expression. */
  readonly select?: Select | undefined;
  /** Shows how far an import or a replacement is. */
  readonly progress?: Progress | undefined;
}

/** The caller of a method. */
export type ToolsCaller = Waiting & WriteCaller;

/** Holds what every method of the service needs. */
export class ToolsContext implements ToolsOptions {
  readonly maxBatchSize: number;
  readonly explainObject: ToolsOptions["explainObject"];
  readonly scopes: ToolsOptions["scopes"];
  readonly scopeName: string | undefined;
  readonly definitions: ToolsOptions["definitions"];
  readonly select: ToolsOptions["select"];
  readonly progress: Progress;
  readonly #source: ToolsSource;

  constructor(
    source: ToolsSource,
    {
      maxBatchSize,
      explainObject,
      scopes,
      scopeName,
      definitions,
      select,
      progress = new Progress(systemClock),
    }: ToolsOptions,
  ) {
    this.#source = source;
    this.maxBatchSize = maxBatchSize;
    this.explainObject = explainObject;
    this.scopes = scopes;
    this.scopeName = scopeName;
    this.definitions = definitions;
    this.select = select;
    this.progress = progress;
  }

  /** @throws ConnectError `unimplemented` when the API is not enabled. */
  store(): ToolsStore {
    if ("disabled" in this.#source) throw apiError("unimplemented", "API_DISABLED", this.#source.disabled);
    return this.#source;
  }

  /** Tells whether there are no entries to work on, as of a scope without a file of them. */
  isDisabled(): boolean {
    return "disabled" in this.#source;
  }

  /** The same over the entries of a scope; undefined: there is no such scope. */
  inScope(scope: string): ToolsContext | undefined {
    if (scope === this.scopeName) return this;
    const source = this.scopes?.(scope);
    const { maxBatchSize, select, progress } = this;
    return source && new ToolsContext(source, { maxBatchSize, select, progress, scopeName: scope });
  }

  /** Reads a key of the store. @throws KeyError */
  readKey(text: string): Key {
    return (this.store().parseKey ?? keyReaders.addresses)(text);
  }

  /** @throws ConnectError `unavailable` */
  current(): UdmIndex {
    try {
      return this.store().current();
    } catch (error) {
      throw toApiError(error, () => "");
    }
  }

  /**
   * Commits writes.
   *
   * @param fieldPath what stands before the fields of the n-th write in errors.
   * @returns the number of the change; 0 for none.
   * @throws ConnectError
   */
  async commit(
    method: string,
    writes: readonly UdmWrite[] | PlanWrites,
    caller: ToolsCaller,
    fieldPath: (index: number) => string,
    onVersion?: number,
  ): Promise<number> {
    caller.throwIfAborted();
    if (writes.length === 0) return 0;
    try {
      return (await this.store().submit(writes, originOf(method, caller), onVersion)).change ?? 0;
    } catch (error) {
      throw toApiError(error, fieldPath);
    }
  }
}

/** Violations with a path before their fields; a field that is empty is the path itself. */
export function below(path: string, violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations.map(({ field, description }) => ({ field: field === "" ? path : `${path}.${field}`, description }));
}

/** Elements that are worked on before a method yields to other requests. */
export const elementsPerTurn = 100;

/** Lets other requests go first. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
