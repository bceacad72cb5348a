/** What of a call its command shows. */
export interface CurlCall {
  readonly method?: "GET" | "POST" | undefined;
  /** The whole address. */
  readonly url: string;
  readonly body?: unknown;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
  /** The scope of the metadata that the call is about. */
  readonly scope?: string | undefined;
  /** Who signed in: the command asks for the password. */
  readonly user?: string | undefined;
  /** A token is asked of the environment, so that it does not stand in the command. */
  readonly hasToken?: boolean;
}

/** The command that makes a call in a shell. */
export function curlOf(call: CurlCall): string {
  const { url, body, contentType = "application/json", accept, scope, user, hasToken = false } = call;
  const method = call.method ?? (body === undefined ? "GET" : "POST");
  const parts = [`curl -s ${quote(url)}`];
  if (user !== undefined) parts.push(`-u ${quote(user)}`);
  if (hasToken) parts.push(`-H "authorization: Bearer $NETGLOSS_TOKEN"`);
  if (accept !== undefined) parts.push(`-H ${quote(`accept: ${accept}`)}`);
  if (scope !== undefined) parts.push(`-H ${quote(`udm-scope: ${scope}`)}`);
  if (method === "POST") {
    parts.push(`-H ${quote(`content-type: ${contentType}`)}`);
    const text = typeof body === "string" ? body : JSON.stringify(body ?? {});
    parts.push(`--data-raw ${quote(text)}`);
  }
  return parts.join(" \\\n  ");
}

/** In single quotes for a shell, unless it needs none. */
function quote(text: string): string {
  return /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
