import { quote } from "../../base/text/index.ts";

/** The roles of users. Each role includes the rights of those before it. */
export const roles = ["viewer", "editor", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Reports whether a role suffices where another is needed. */
export function suffices(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** The areas of the API. A token may be limited to some of them. */
export const areas = ["metadata", "flow", "snmp", "collector"] as const;
export type Area = (typeof areas)[number];

/** The proven identity of a caller. */
export interface Principal {
  /** The name of the user or of the token. */
  readonly name: string;
  readonly role: Role;
  /** The areas of a limited token; undefined means all. */
  readonly areas?: readonly Area[];
  /** The scopes of the metadata to which it is limited; undefined means no limit. */
  readonly scopes?: readonly string[];
  /** The means of authentication. */
  readonly by: "basic" | "token" | "certificate" | "session";
}

/**
 * The data that a route shows or changes, for callers limited to scopes. `nothing`: no data of scopes, such as the schema.
 * `own`: the route itself leaves out other scopes' data. An object: the entries of the scope that the call names.
 */
export type RouteReach = "nothing" | "own" | { readonly scope: string | undefined };

/** The callers that may use a route. */
export interface RouteAccess {
  /** The lowest role; undefined allows anybody without authentication. */
  readonly role: Role | undefined;
  /** True where the caller is identified even if anybody may call, because some callers see more. */
  readonly isPersonal?: boolean;
  /** The area; undefined stands for every area. */
  readonly area: Area | undefined;
  /** The reach; undefined means the whole collector, which callers limited to scopes may not use. */
  readonly reach?: RouteReach | undefined;
}

/** Returns the reason why a principal may not use a route; undefined where it may. */
export function lacks(principal: Principal, { role: needed = "viewer", area, reach }: RouteAccess): string | undefined {
  const { name, role, areas: allowed } = principal;
  if (!suffices(role, needed)) return `${name} has the role ${role}, this needs ${needed}`;
  if (allowed !== undefined && area !== undefined && !allowed.includes(area))
    return `${name} is for ${allowed.join(", ")}, this is ${area}`;
  return lacksScope(principal, reach);
}

/** Returns the reason of a missing scope. The text does not reveal whether the scope exists. */
function lacksScope(principal: Principal, reach: RouteReach | undefined): string | undefined {
  const { name, scopes } = principal;
  if (scopes === undefined || reach === "nothing" || reach === "own") return undefined;
  const limit = `${name} is for ${scopes.length === 1 ? "scope" : "scopes"} ${scopes.join(", ") || "none"}`;
  if (reach === undefined) return `${limit}, this is of the whole collector`;
  const scope = scopeOf(principal, reach.scope);
  if (scope === undefined) return `${limit}: name one of them by the path or the header udm-scope`;
  return scopes.includes(scope) ? undefined : `${limit}, this is scope ${quote(scope)}`;
}

/** Returns the scope of a principal's call: the named one, or the principal's only one; undefined for none. */
export function scopeOf({ scopes = [] }: Principal, named: string | undefined): string | undefined {
  return named ?? (scopes.length === 1 ? scopes[0] : undefined);
}
