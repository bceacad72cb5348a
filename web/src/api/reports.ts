import type { ReportPreviewAnswer, ReportsAnswer, SavedViewsAnswer } from "./answers.gen.ts";
import { callApi, type ApiCall } from "./call.ts";

export type Report = SavedViewsAnswer["reports"][number];
export type ReportState = ReportsAnswer["reports"][number];
export type NewReport = Omit<Report, "revision" | "changedAt" | "changedBy" | "id">;

export const reportsCall: ApiCall = { path: "api/v1/reports" };

/** Saves a new report, or one that was seen as it is; one that others have changed meanwhile is refused. */
export const saveReport = (report: NewReport | Report): Promise<unknown> =>
  callApi({ path: "api/v1/views/save", body: { report, revision: "revision" in report ? report.revision : 0 } });

export const deleteReport = ({ id, revision }: Report): Promise<unknown> =>
  callApi({ path: "api/v1/views/delete", body: { kind: "report", id, revision } });

export const sendReport = (id: string): Promise<unknown> => callApi({ path: "api/v1/reports/send", body: { id } });

/** A report takes as long as all questions of its board. */
const previewMs = 300_000;

export const previewReport = (id: string): Promise<ReportPreviewAnswer> =>
  callApi({ path: "api/v1/reports/preview", body: { id } }, { timeoutMs: previewMs });
