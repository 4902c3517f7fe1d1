// The key of the session. A cookie goes to every port of this host; the key is asked for besides, and is kept where
// only this origin reads it. Workers cannot: they are told.

/** As `welcome.js` keeps it, which the link leads to. */
const PLACE = "stowplan-key";

let own = "";

/** What this origin keeps; nothing if it was never opened by a link. */
export function kept(): string {
  return localStorage.getItem(PLACE) ?? "";
}

export function use(key: string) {
  own = key;
}

/** `fetch` of what only a session may ask. */
export function fetchOwn(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("x-stowplan-key", own);
  return fetch(path, { ...init, headers });
}

/** WebSockets send no headers of ours, but protocols. The server chooses the first. */
export function protocols(): string[] {
  return ["stowplan-watches", `stowplan-key.${own}`];
}
