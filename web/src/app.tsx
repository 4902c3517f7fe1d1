// The frame around all views: navigation, search, keys, the state of the connection.

import { useEffect, useState } from "preact/hooks";
import { count, span } from "./live/amounts";
import { store, useNow, useStore } from "./state/store";
import { theme, toggle } from "./state/theme";
import { go, here, href, set, usePlace } from "./state/url";
import { Command } from "./ui/parts";
import { Keys } from "./ui/keys";
import { Search } from "./ui/search";
import { VIEWS } from "./views/registry";
import { WindowChip } from "./views/window";

export function App() {
  useStore(300);
  const place = usePlace();
  const [over, setOver] = useState<"" | "search" | "keys">("");
  useKeys(setOver);
  const view = VIEWS.find((v) => v.id === place.view) ?? VIEWS[0]!;
  useEffect(() => {
    document.title = `${view.title} · Stowplan`;
  }, [view.id]);
  const View = view.component;
  return (
    <div class={`app link-${store.link}`}>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <header class="bar">
        <a class="brand" href={href("cluster")} aria-label="Stowplan, cluster">
          <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true"><path d="M1 16V9h4v7zm6 0V3h4v13zm6 0v-5h4v5z" /></svg>
          <span>Stowplan</span>
        </a>
        <nav aria-label="Views">
          {VIEWS.map((v) => {
            const badge = v.badge?.() ?? 0;
            return (
              <a key={v.id} href={href(v.id)} aria-current={v === view ? "page" : undefined}>
                {v.title}{badge > 0 && <span class="badge num">{count(badge)}</span>}
              </a>
            );
          })}
        </nav>
        <div class="bar-end">
          <WindowChip />
          <button type="button" class="search-button" onClick={() => setOver("search")}>Search <kbd>/</kbd></button>
          <Link />
          <ThemeButton />
          <button type="button" class="quiet" aria-label="Keys" title="Keys" onClick={() => setOver("keys")}>?</button>
        </div>
      </header>
      <Banner />
      <main id="main" tabIndex={-1}><View /></main>
      {over === "search" && <Search close={() => setOver("")} />}
      {over === "keys" && <Keys close={() => setOver("")} />}
    </div>
  );
}

function ThemeButton() {
  const [, again] = useState(0);
  const other = theme() === "dark" ? "light" : "dark";
  return (
    <button type="button" class="quiet" aria-label={`Use ${other} colours`} title={`Use ${other} colours`} onClick={() => { toggle(); again((n) => n + 1); }}>
      <svg width="15" height="15" viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.4" /><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" fill="currentColor" /></svg>
    </button>
  );
}

function Link() {
  const states = { connecting: "Connecting", live: "Live", lost: "Disconnected", ended: "Session ended" };
  return <span class={`link-state link-${store.link}`} role="status"><i aria-hidden="true" />{states[store.link]}</span>;
}

/** What is wrong with the connection, and since when. The picture below it is grey. */
function Banner() {
  const now = useNow();
  if (store.link === "lost") {
    return <p class="banner" role="alert">No connection for {span(now - store.since)}: this is the cluster as it was then. The page connects again by itself.</p>;
  }
  if (store.link === "ended") {
    return <div class="banner" role="alert">This session has ended: stowplan was started anew. Open the link that it prints now, or make one: <Command text="stowplan page" /></div>;
  }
  const broken = [...store.kinds.values()].filter((k) => k.state === "failed");
  const [first] = broken;
  if (first) return <p class="banner" role="alert">{first.id} cannot be read: {first.message}. The page tries again.</p>;
  return null;
}

function useKeys(open: (what: "" | "search" | "keys") => void) {
  useEffect(() => {
    let pending = 0;
    const key = (e: KeyboardEvent) => {
      const on = e.target as HTMLElement;
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(on.tagName);
      if (e.ctrlKey || e.metaKey || e.altKey || typing) return;
      if (e.key === "Escape") {
        const { params } = here();
        if (!document.querySelector("dialog[open]") && (params.node || params.pod) && here().view === "cluster") set({ node: "", pod: "" });
      } else if (document.querySelector("dialog[open]")) return;
      else if (e.key === "/") {
        e.preventDefault();
        open("search");
      } else if (e.key === "?") open("keys");
      else if (e.key === "g") pending = Date.now();
      else if (Date.now() - pending < 1500) {
        const view = VIEWS.find((v) => v.key === e.key);
        pending = 0;
        if (view) go(view.id);
      }
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
}
