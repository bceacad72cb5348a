// The store on PostgreSQL keeps the contract that the file keeps.
import { before } from "node:test";
import { allTests } from "../support/clean-up.ts";
import { startDatabase, storeOnDatabase, type TestDatabase } from "../support/postgresql.ts";
import { udmStoreContract, type OpenStore } from "../support/udm-store-contract.ts";

const all = allTests();
let database: TestDatabase;
before(async () => {
  database = await startDatabase(all);
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
