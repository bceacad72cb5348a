// The thread for big metadata files, which dies in its first rename: before or after it has taken place.
import { exit } from "node:process";
import { parentPort, workerData } from "node:worker_threads";
import { nodeFileIo } from "../../src/base/file/index.ts";
import { serveFileThread } from "../../src/metadata/index.ts";

const { dies } = workerData as { readonly dies: "before" | "after" };

if (parentPort !== null) {
  serveFileThread(parentPort, {
    ...nodeFileIo,
    async rename(from, to) {
      if (dies === "after") await nodeFileIo.rename(from, to);
      exit(1);
    },
  });
}
