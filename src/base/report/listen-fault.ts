const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has it, or another collector",
  EACCES: "ports below 1024 need the right to bind them",
  EADDRNOTAVAIL: "no interface of this host has the address",
};

/** Why a port cannot be opened, in words, with the code of the system. */
export function listenFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? undefined : reasons[code];
  return reason === undefined ? message : `${reason} (${code})`;
}
