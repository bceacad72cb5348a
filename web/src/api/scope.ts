const key = "netgloss.scope";
/** The scope that calls about metadata name; undefined: none, and who is limited to one scope is in it. */
let chosen: string | undefined;

/** Settles which scope of several calls are about: the one chosen before in this tab, else the first. */
export function settleScope(scopes: readonly string[] = []): void {
  const before = readScope();
  chosen = scopes.length < 2 ? undefined : (scopes.find((name) => name === before) ?? scopes[0]);
}

/** Keeps the choice for as long as the tab is open. All that is shown is of the scope before until it is loaded again. */
export const chooseScope = (scope: string): void => sessionStorage.setItem(key, scope);

/** The scope that a call names: those about metadata alone. */
export const scopeOfCall = (path: string): string | undefined =>
  path.startsWith("api/v1/enrich/ipaddr/") ? chosen : undefined;

export const chosenScope = (): string | undefined => chosen;

function readScope(): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}
