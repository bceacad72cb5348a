import { quote } from "../base/text/index.ts";
import { apiError } from "./api-error.ts";
import { type Call, headerOf } from "./http/call.ts";
import type { RpcService } from "./rpc/method.ts";
import type { ToolsSource } from "./tools/tools-context.ts";
import type { ChangeFeed } from "./tools/watch-udms.ts";

/** Returns the store of a metadata scope, the same one each time; undefined where the scope does not exist. */
export type ScopeStores = (scope: string) => ToolsSource | undefined;

/** The services of metadata over one store. */
export interface MetadataServices {
  readonly services: readonly RpcService[];
  /** The changes of the store. */
  readonly feed: ChangeFeed;
}

const scopeHeader = "udm-scope";
const pathPart = "/scopes/";

/** The services of metadata for each scope. They have the same methods, limited to the entries of the scope. */
export class ScopedServices {
  readonly #prefix: string;
  readonly #stores: ScopeStores;
  readonly #make: (source: ToolsSource, scope: string) => MetadataServices;
  /** The services by store. They are removed with the store. */
  readonly #made = new WeakMap<ToolsSource, MetadataServices>();

  /** @param prefix of the paths of the services. Those of a scope are below `<prefix>/scopes/<scope>/`. */
  constructor(prefix: string, stores: ScopeStores, make: (source: ToolsSource, scope: string) => MetadataServices) {
    this.#prefix = prefix + pathPart;
    this.#stores = stores;
    this.#make = make;
  }

  /** Returns the scope that a call names by its path or its header, and the path without the scope; undefined where it names none. */
  named(call: Pick<Call, "path" | "headers">): { readonly scope: string; readonly path: string } | undefined {
    const { path, headers } = call;
    if (path.startsWith(this.#prefix)) {
      const end = path.indexOf("/", this.#prefix.length);
      if (end < 0) return undefined;
      const scope = path.slice(this.#prefix.length, end);
      return { scope, path: this.#prefix.slice(0, -pathPart.length) + path.slice(end) };
    }
    const scope = headerOf(headers, scopeHeader);
    return scope === undefined || scope === "" ? undefined : { scope, path };
  }

  /** Returns the services of a scope. @throws ConnectError `not_found` with the name of the scope. */
  of(scope: string): MetadataServices {
    const store = this.#stores(scope);
    if (store === undefined) throw apiError("not_found", "SCOPE_NOT_FOUND", `there is no scope ${quote(scope)}`);
    const known = this.#made.get(store);
    if (known !== undefined) return known;
    const made = this.#make(store, scope);
    this.#made.set(store, made);
    return made;
  }
}
