import { toolsPath, type ApiCall } from "../../api/call.ts";

export interface Change {
  readonly number: number;
  readonly time: string;
  readonly author?: string;
  readonly method?: string;
  readonly entries?: number;
  readonly cut?: boolean;
  /** Where several collectors share the metadata. */
  readonly collector?: string;
}

export interface ChangesAnswer {
  readonly changes?: readonly Change[];
  readonly nextPageToken?: string;
  /** True: the collector keeps none. */
  readonly off?: boolean;
}

const changesCall = (body: object): ApiCall => ({
  path: toolsPath("ListChanges"),
  body: { ...body, withoutEntries: true },
});

/** A page of changes; with a key those of one entry. */
export const historyCall = (key: string, pageToken = ""): ApiCall =>
  changesCall({ ...(key !== "" && { key }), ...(pageToken !== "" && { pageToken }), pageSize: 50 });

/** Says whether changes are kept at all. */
export const lastChangeCall: ApiCall = changesCall({ pageSize: 1 });
