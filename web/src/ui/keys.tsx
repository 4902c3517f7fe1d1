import { VIEWS } from "../views/registry";
import { Dialog } from "./parts";

export function Keys({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl class="keys">
        <dt><kbd>/</kbd></dt><dd>Search everything</dd>
        {VIEWS.map((v) => [<dt key={`${v.id} key`}><kbd>g</kbd> <kbd>{v.key}</kbd></dt>, <dd key={v.id}>{v.title}</dd>])}
        <dt><kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd></dt><dd>Move between nodes, on the map</dd>
        <dt><kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd></dt><dd>Zoom in, out, back, on the map</dd>
        <dt><kbd>Esc</kbd></dt><dd>Close what is open</dd>
        <dt><kbd>?</kbd></dt><dd>These keys</dd>
      </dl>
      <div class="dialog-end"><button type="button" class="primary" onClick={close}>Close</button></div>
    </Dialog>
  );
}
