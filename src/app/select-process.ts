// Entry of the process that evaluates an expression of a user, and of its thread.
import { serveSelection } from "../metadata/index.ts";

serveSelection(new URL(import.meta.url), Number(process.argv[2]));
