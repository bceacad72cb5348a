// Entry of the thread that writes big metadata files.
import { parentPort } from "node:worker_threads";
import { serveFileThread } from "../../metadata/index.ts";

if (parentPort !== null) serveFileThread(parentPort);
