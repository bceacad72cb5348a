import { quote } from "../../base/text/index.ts";

/** The roles of users; each role may do what those before it may. */
export const roles = ["viewer", "editor", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Tells whether a role suffices where another is needed. */
export function suffices(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** The subjects of what the port serves: a token may be for some of them alone. */
export const areas = ["metadata", "flow", "snmp", "collector"] as const;
export type Area = (typeof areas)[number];

/** The proven identity of a caller. */
export interface Principal {
  /** Name of the user, or of the token. */
  readonly name: string;
  readonly role: Role;
  /** Undefined: all. */
  readonly areas?: readonly Area[];
  /** The scopes of the metadata to which it is limited; undefined: it is not. */
  readonly scopes?: readonly string[];
  /** The means of the proof. */
  readonly by: "basic" | "token" | "certificate" | "session";
}

/**
 * What a route shows or changes, for callers who are limited to scopes. `nothing`: nothing that belongs to a scope, such as the schema.
 * `own`: the route itself leaves out what is not of the caller's scopes. An object: entries of the scope that the call names.
 */
export type RouteReach = "nothing" | "own" | { readonly scope: string | undefined };

/** The callers that may use a route. */
export interface RouteAccess {
  /** Undefined: anybody, without a proof of who it is. */
  readonly role: Role | undefined;
  /** True if the caller is identified even where anybody may call: some get to see more. */
  readonly isPersonal?: boolean;
  /** Undefined: of every area. */
  readonly area: Area | undefined;
  /** Undefined: the whole collector, which is not for callers who are limited to scopes. */
  readonly reach?: RouteReach | undefined;
}

/** Returns why a principal may not use a route; undefined when it may. */
export function lacks(principal: Principal, { role: needed = "viewer", area, reach }: RouteAccess): string | undefined {
  const { name, role, areas: allowed } = principal;
  if (!suffices(role, needed)) return `${name} has the role ${role}, this needs ${needed}`;
  if (allowed !== undefined && area !== undefined && !allowed.includes(area))
    return `${name} is for ${allowed.join(", ")}, this is ${area}`;
  return lacksScope(principal, reach);
}

/** The words are the same whether there is such a scope or not. */
function lacksScope(principal: Principal, reach: RouteReach | undefined): string | undefined {
  const { name, scopes } = principal;
  if (scopes === undefined || reach === "nothing" || reach === "own") return undefined;
  const limit = `${name} is for ${scopes.length === 1 ? "scope" : "scopes"} ${scopes.join(", ") || "none"}`;
  if (reach === undefined) return `${limit}, this is of the whole collector`;
  const scope = scopeOf(principal, reach.scope);
  if (scope === undefined) return `${limit}: name one of them by the path or the header udm-scope`;
  return scopes.includes(scope) ? undefined : `${limit}, this is scope ${quote(scope)}`;
}

/** Returns the scope in which the call of a principal is: the one that it names, or else the only one of the principal; undefined: none. */
export function scopeOf({ scopes = [] }: Principal, named: string | undefined): string | undefined {
  return named ?? (scopes.length === 1 ? scopes[0] : undefined);
}
