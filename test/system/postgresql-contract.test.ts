// The store on PostgreSQL keeps the contract that the file keeps.
import { after, before } from "node:test";
import { startDatabase, storeOnDatabase, type TestDatabase } from "../support/postgresql.ts";
import { udmStoreContract, type OpenStore } from "../support/udm-store-contract.ts";

const ends: (() => Promise<void> | void)[] = [];
let database: TestDatabase;
before(async () => {
  database = await startDatabase({ after: (end) => void ends.push(end as () => Promise<void>) });
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

udmStoreContract("PostgreSQL store", async () => {
  await database.reset();
  return open();
});

async function open(): Promise<OpenStore> {
  const { store } = storeOnDatabase(database.url);
  await store.start();
  return {
    store,
    async reopen() {
      await store.stop();
      return open();
    },
    close: () => store.stop(),
  };
}
