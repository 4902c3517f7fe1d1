import { render } from "preact";
import { App } from "./app";
import { store } from "./state/store";
import { apply } from "./state/theme";
import "./style/tokens.css";
import "./style/base.css";
import "./style/cluster.css";
import "./style/tournament.css";
import "./style/views.css";

apply();
render(<App />, document.getElementById("app")!);
store.start();
