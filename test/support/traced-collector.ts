// The entry of a traced collector: the compiled modules one by one, where `bin/netgloss.js` runs them joined.
import { main } from "../../src/app/main.ts";

process.exit(await main(process));
