import type { ViewDescription } from "../../server/index.ts";
import { diagnosisIds } from "./diagnosis.ts";

const schema: ViewDescription["schema"] = {
  type: "object",
  additionalProperties: false,
  required: ["healthy", "at", "ports", "exporters", "diagnoses"],
  properties: {
    healthy: { type: "boolean", description: "Whether neither a problem nor a warning was found." },
    at: { type: "integer", description: "When, milliseconds since the epoch." },
    ports: { type: "array", items: { type: "integer" }, description: "The flow ports that are open." },
    exporters: { type: "integer", description: "How many exporters were looked at." },
    diagnoses: {
      type: "array",
      description: "The worst first.",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["id", "severity", "sentence", "evidence", "advice"],
        properties: {
          id: { enum: diagnosisIds, description: "Which kind of finding; docs/doctor.md has them all." },
          severity: {
            enum: ["problem", "warning", "note"],
            description: "Flows are missing; flows are incomplete or wrong; worth knowing.",
          },
          exporter: { type: "string", description: "The exporter that it is about; absent: the collector." },
          sentence: { type: "string" },
          evidence: { type: "object", description: "What it was found by." },
          advice: { type: "string", description: "What to do." },
        },
      },
    },
  },
};

/** What `GET /api/v1/flow/diagnosis` answers. */
export const doctorDescription: ViewDescription = { summary: "Why flows are missing or wrong", schema };

/** What `GET /api/v1/flow/exporters/<ip>/diagnosis` answers. */
export const exporterDoctorDescription: ViewDescription = {
  summary: "Why flows of one exporter are missing or wrong; also of one that was never heard",
  schema,
};
