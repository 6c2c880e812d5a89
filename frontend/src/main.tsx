import { render } from "preact";
import { App } from "./shell/App";
import { startPrinting } from "./shell/printing";
import { startTheme } from "./shell/theme";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/print.css";

startTheme();
startPrinting();
const place = document.getElementById("site");
if (place) render(<App />, place);
