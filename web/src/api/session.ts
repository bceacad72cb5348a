import { createContext } from "preact";
import { useContext } from "preact/hooks";

export type Role = "viewer" | "editor" | "operator" | "admin";
export type Area = "metadata" | "flow" | "snmp" | "collector";

/** What `GET /session` answers: nothing where nobody has to prove who they are. */
export interface Session {
  readonly name?: string;
  readonly role?: Role;
  /** Undefined: all. */
  readonly areas?: readonly Area[];
  /** The scopes of the metadata to which who looks is limited; undefined: to none. */
  readonly scopes?: readonly string[];
  readonly by?: "basic" | "token" | "certificate" | "session";
  /** How a session began. */
  readonly proof?: "password" | "token" | "issuer";
  /** Goes along with all that changes something. */
  readonly csrfToken?: string;
}

/** What `GET /api/v1/sign-in` answers. */
export interface SignInWays {
  readonly required: boolean;
  readonly ways: readonly ("password" | "token" | "issuer")[];
}

const rank: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, operator: 2, admin: 3 };

export const SessionContext = createContext<Session>({});

/** Who looks at the pages. */
export function useSession(): Session {
  return useContext(SessionContext);
}

/** Whether who looks sees their own scopes alone, and not the collector as a whole. */
export const useIsLimited = (): boolean => useSession().scopes !== undefined;

/** Why who looks at the pages may not do what needs a role in an area, as a sentence; undefined when they may. */
export function useLack(needed: Role, area?: Area): string | undefined {
  const { name = "you", role, areas } = useSession();
  if (role === undefined) return undefined;
  if (rank[role] < rank[needed]) return `This needs the role ${needed}; ${name} has the role ${role}.`;
  if (area !== undefined && areas !== undefined && !areas.includes(area)) {
    return `This is about ${area}; ${name} is for ${areas.join(", ")} only.`;
  }
  return undefined;
}
