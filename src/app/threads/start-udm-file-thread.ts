import { Worker } from "node:worker_threads";

/** Starts the thread for the metadata file that a store asks for. */
export function startUdmFileThread(): Worker {
  return new Worker(new URL("udm-file-thread.js", import.meta.url), { name: "metadata-file" });
}
