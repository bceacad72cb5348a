import { Worker } from "node:worker_threads";

/** Starts the thread for a store's metadata file. */
export function startUdmFileThread(): Worker {
  return new Worker(new URL("udm-file-thread.js", import.meta.url), { name: "metadata-file" });
}
