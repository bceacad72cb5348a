import { roles as allRoles, type Principal, type Role } from "../role.ts";
import type { OidcConfig } from "./oidc-config.ts";
import { SignInError } from "./sign-in-error.ts";

export type Claims = Readonly<Record<string, unknown>>;

const maxNameLength = 256;

/** A claim by its whole name, or else by the path that its dots make. */
export function claimOf(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/**
 * The user whom claims describe, with the highest role that one of the values of the role claim gives.
 *
 * @throws SignInError `refused` when none gives a role.
 */
export function claimedUser(
  claims: Claims,
  { userClaim, roleClaim, roles }: Pick<OidcConfig, "userClaim" | "roleClaim" | "roles">,
): Principal {
  const subject = String(claims["sub"]);
  const claimed = claimOf(claims, userClaim);
  const name = isName(claimed) ? claimed : subject;
  const found = [claimOf(claims, roleClaim)].flat().filter((value) => typeof value === "string");
  const given = new Set<Role | undefined>(["*", ...found].map((value) => roles.get(value)));
  const role = allRoles.findLast((each) => given.has(each));
  if (role === undefined) {
    const why = found.length === 0 ? `there is no claim ${roleClaim}` : `no value of the claim ${roleClaim} has one`;
    throw new SignInError("refused", `${name} has no role here: ${why}`);
  }
  return { name, role, by: "session" };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxNameLength && !/\p{Cc}/u.test(value);
}
