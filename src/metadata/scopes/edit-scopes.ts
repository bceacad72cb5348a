import { isDeepStrictEqual } from "node:util";
import { quote } from "../../base/text/index.ts";
import type { ScopeChange, ScopeText } from "../model/scope.ts";
import { UdmError } from "../model/udm-store.ts";

/** The scopes after an edit, in the order in which they are tried, and the change that the edit made. */
export interface PlannedEdit {
  readonly scopes: readonly ScopeText[];
  readonly change: ScopeChange;
}

/** Plans an edit of the current scopes. @throws UdmError when the edit is not possible. */
export type PlanEdit = (scopes: readonly ScopeText[]) => PlannedEdit;

/** Returns the scope that is tried after the named one. Returns undefined where that is the last scope, or does not exist. */
export function nextOf(scopes: readonly ScopeText[], name: string): string | undefined {
  const at = scopes.findIndex((scope) => scope.name === name);
  return at < 0 ? undefined : scopes[at + 1]?.name;
}

/** Sets a scope, before another one. With an empty `before` it keeps its place, and a new scope comes last. @throws UdmError `not_found` */
export function setScope(scopes: readonly ScopeText[], scope: ScopeText, before: string): PlannedEdit {
  return placed(scopes, scope, before === "" ? nextOf(scopes, scope.name) : before);
}

/** Deletes a scope. @throws UdmError `not_found` */
export function removeScope(scopes: readonly ScopeText[], name: string): PlannedEdit {
  const before = scopes.find((scope) => scope.name === name);
  if (before === undefined) throw new UdmError("not_found", `there is no scope ${quote(name)}`);
  const change = { before, next: nextOf(scopes, name) };
  return { scopes: scopes.filter((scope) => scope !== before), change };
}

/** Undoes a change of a scope. @throws UdmError `failed_precondition` when the scope has changed since */
export function takeBackScope(scopes: readonly ScopeText[], { before, after, next }: ScopeChange): PlannedEdit {
  const name = (before ?? after)?.name ?? "";
  if (!isDeepStrictEqual(scopes.find((scope) => scope.name === name) ?? undefined, after)) {
    throw new UdmError("failed_precondition", `scope ${quote(name)} was changed since`);
  }
  if (before === undefined) return removeScope(scopes, name);
  return placed(scopes, before, scopes.some((scope) => scope.name === next) ? next : undefined);
}

/** Puts a scope before another one, or last, and replaces a scope of its name. @throws UdmError `not_found` where the other one does not exist. */
function placed(scopes: readonly ScopeText[], scope: ScopeText, before: string | undefined): PlannedEdit {
  const rest = scopes.filter(({ name }) => name !== scope.name);
  const at = before === undefined ? rest.length : rest.findIndex(({ name }) => name === before);
  if (at < 0) {
    throw new UdmError("not_found", `there is no other scope ${quote(before ?? "")} before which it could be tried`);
  }
  const change = {
    before: scopes.find(({ name }) => name === scope.name),
    after: scope,
    next: nextOf(scopes, scope.name),
  };
  return { scopes: rest.toSpliced(at, 0, scope), change };
}
