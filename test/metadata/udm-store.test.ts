import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { memoryUdmStore } from "../support/memory-udm-store.ts";
import { udmStoreContract, type OpenStore } from "../support/udm-store-contract.ts";
import { storeOn } from "../support/udm-store-fixture.ts";

udmStoreContract("model of a store", async () => openModel());

udmStoreContract("file store", () => openFile(memoryFileIo()));

function openModel(store = memoryUdmStore()): OpenStore {
  return { store, reopen: async () => openModel(store), close: async () => {} };
}

async function openFile(io: MemoryFileIo): Promise<OpenStore> {
  const { store } = storeOn(io);
  await store.start();
  return {
    store,
    async reopen() {
      await store.stop();
      return openFile(io);
    },
    close: () => store.stop(),
  };
}
