import { bool, int, row } from "../../base/settings/index.ts";

export const monitorRows = {
  ENABLE: row(bool, false, "Logs how many records passed, and how many a second. It sends them nowhere."),
  INTERVAL: row(int(1, 86_400, "seconds"), 60, "How often the numbers of records are logged."),
};
