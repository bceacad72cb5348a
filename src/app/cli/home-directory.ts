import { homedir } from "node:os";

/**
 * The home directory of the user. It is `/`, as container runtimes have it, where HOME is not set and the system has no entry
 * for the user: a container may run with a number that nobody has a name for.
 */
export function homeDirectory(read: () => string = homedir): string {
  try {
    return read();
  } catch {
    return "/";
  }
}
