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
 * Returns a token for the next page: its start, and a digest of the question, so that a token of another question is refused.
 *
 * @param question the fields of the request that must not change.
 */
export function writePageToken(question: readonly unknown[], at: readonly string[]): string {
  return Buffer.from(JSON.stringify([digest(question), ...at])).toString("base64url");
}

/** Reads a token. @returns the start of the page; undefined for the first. @throws ConnectError `invalid_argument` for a token of another question. */
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

/** The store of the metadata, or a sentence about the missing setting. */
export type ToolsSource = ToolsStore | { readonly disabled: string };
export type ToolsStore = UdmStoreWithHistory & Pick<CollectorUdmStore, "layers" | "places">;

/** A question about an address that records have. */
export interface ObjectQuestion {
  /** The object of a record that has the address in `<object>.ip.addr`. */
  readonly object: string;
  readonly address: string;
  /** The metadata scope of the address. If left out, the enrichment finds it from the other parts of the question. */
  readonly scope?: string | undefined;
  /** The port and protocol of an end of a flow. */
  readonly port?: { readonly number: number; readonly protocol: number } | undefined;
  /** The interface of an end of a flow, for incoming or outgoing traffic. */
  readonly netif?: { readonly exporter: string; readonly index: number } | undefined;
}

/** The fields that records get for an address, its port and its interface. */
export interface ExplainedObject {
  /** A JSON object of fields: the address first, then the port and the interface. */
  readonly json: string;
  /** The fields that only repeat the question. */
  readonly asked: ReadonlySet<string>;
  /** The sources of fields that do not come from the address, with one word for each. */
  readonly sources: ReadonlyMap<string, string>;
}

/** Returns the fields that the enrichment adds to records for an address now. */
export type ExplainObject = (question: ObjectQuestion) => ExplainedObject;

export interface ToolsOptions {
  /** The most elements of a batch. */
  readonly maxBatchSize: number;
  /** Returns the explanation function when it is ready; undefined where nothing is enriched. */
  readonly explainObject?: (() => Promise<ExplainObject>) | undefined;
  /** Returns the store of a scope, for addresses that are in a scope although the question names none; undefined where there are no scopes. */
  readonly scopes?: ((scope: string) => ToolsSource | undefined) | undefined;
  /** The scope of the entries; undefined where they are global. */
  readonly scopeName?: string | undefined;
  /** The definitions of scopes, for exports of all scopes and for undoing their changes; undefined where there are none. */
  readonly definitions?: Pick<Scopes, "list" | "takeBack"> | { readonly disabled: string } | undefined;
  /** Selects rows of a text to import; undefined where imports cannot use expressions. */
  readonly select?: Select | undefined;
  /** The progress of an import or a replacement. */
  readonly progress?: Progress | undefined;
}

/** The caller of a method. */
export type ToolsCaller = Waiting & WriteCaller;

/** The context that every method of the service needs. */
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

  /** Returns the store. @throws ConnectError `unimplemented` when the API is not enabled. */
  store(): ToolsStore {
    if ("disabled" in this.#source) throw apiError("unimplemented", "API_DISABLED", this.#source.disabled);
    return this.#source;
  }

  /** Reports whether there is no store, as in a scope without a file of entries. */
  isDisabled(): boolean {
    return "disabled" in this.#source;
  }

  /** Returns the context of a scope; undefined where the scope does not exist. */
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

  /** Returns the current state. @throws ConnectError `unavailable` */
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
   * @param fieldPath returns the prefix of the fields of the n-th write in errors.
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

/** Returns violations with a path before their fields. An empty field gives the path itself. */
export function below(path: string, violations: readonly FieldViolation[]): readonly FieldViolation[] {
  return violations.map(({ field, description }) => ({ field: field === "" ? path : `${path}.${field}`, description }));
}

/** The elements that are processed before a method yields to other requests. */
export const elementsPerTurn = 100;

/** Lets other requests run first. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
