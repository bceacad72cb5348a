/** Takes `host:port` or `[2001:db8::1]:514` apart. */
export function hostAndPort(server: string): { readonly host: string; readonly port: number } {
  const at = server.lastIndexOf(":");
  return { host: server.slice(0, at).replace(/^\[(.*)\]$/, "$1"), port: Number(server.slice(at + 1)) };
}
