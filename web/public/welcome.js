// Keeps the key of this session where only this origin reads it: cookies are shared by all ports of a host.
const key = document.querySelector('meta[name="stowplan-key"]').content;
if (key) localStorage.setItem("stowplan-key", key);
location.replace("/");
