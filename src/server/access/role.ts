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
  /** The means of the proof. */
  readonly by: "basic" | "token" | "certificate" | "session";
}

/** Why a principal may not do what needs a role in an area; undefined when it may. */
export function lacks(
  { name, role, areas: allowed }: Principal,
  needed: Role,
  area: Area | undefined,
): string | undefined {
  if (!suffices(role, needed)) return `${name} has the role ${role}, this needs ${needed}`;
  if (allowed !== undefined && area !== undefined && !allowed.includes(area))
    return `${name} is for ${allowed.join(", ")}, this is ${area}`;
  return undefined;
}
