import { render } from "preact";
import { App } from "./app/app.tsx";
import { watchConnection } from "./api/connection.ts";
import { followLinks } from "./navigation/place.ts";
import { applyTheme } from "./ui/theme.ts";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/cards.css";
import "./styles/forms.css";
import "./styles/tables.css";
import "./styles/parts.css";
import "./styles/charts.css";

applyTheme();
followLinks();
watchConnection();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
