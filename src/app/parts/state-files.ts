import { join } from "node:path";
import type { StateFiles } from "../../flow/index.ts";
import { makeFolder, replaceContent, type FileIo } from "../../base/file/index.ts";

/** What a save that was cut off has left behind. */
const leftOver = /^\.[a-z]+-[0-9a-f]{2}\.state\.[0-9a-z]+-[0-9]+\.tmp$/;

/** For whoever runs the collector, and readers of its group. */
const fileMode = 0o640;

/**
 * Files of state in a directory: one is written under another name, synced, renamed over the old one, and the directory is
 * synced.
 *
 * @param run letters and digits that no other run has.
 */
export function createStateFiles(
  directory: string,
  io: FileIo,
  run: string,
  makeDirectory: (path: string) => Promise<unknown> = (path) => makeFolder(path),
): StateFiles {
  let number = 0;
  return {
    async open() {
      await makeDirectory(directory);
      const names = await io.list(directory);
      for (const name of names.filter((each) => leftOver.test(each))) await io.unlink(join(directory, name));
      return names;
    },
    async read(name, maxBytes) {
      const path = join(directory, name);
      const { size } = await io.state(path);
      return size > maxBytes ? undefined : io.read(path);
    },
    async replace(name, bytes) {
      const temporary = join(directory, `.${name}.${run}-${++number}.tmp`);
      await replaceContent(io, { target: join(directory, name), temporary, mode: fileMode }, bytes);
    },
    rename: (name, to) => io.rename(join(directory, name), join(directory, to)),
  };
}
