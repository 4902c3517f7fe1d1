// One connection that carries all watches, and comes back by itself.

import { fetchOwn, protocols } from "../api/key";

export interface Ears {
  opened(): void;
  lost(): void;
  refused(): void;
  answered(id: string, status: number, message: string): void;
  lines(id: string, lines: string[]): void;
  ended(id: string): void;
}

/** Longer than this the server is never silent. */
const SILENCE = 16_000;

export class Socket {
  private socket: WebSocket | null = null;
  private heard = 0;
  private tries = 0;

  constructor(private ears: Ears) {
    setInterval(() => {
      if (this.isOpen() && Date.now() - this.heard > SILENCE) this.socket?.close();
    }, 2_000);
  }

  isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  start() {
    const socket = new WebSocket(`ws://${location.host}/watches`, protocols());
    this.socket = socket;
    socket.onopen = () => {
      this.tries = 0;
      this.heard = Date.now();
      this.ears.opened();
    };
    socket.onmessage = ({ data }) => {
      this.heard = Date.now();
      this.told(data as string);
    };
    socket.onclose = () => {
      this.ears.lost();
      void this.comeBack();
    };
  }

  private async comeBack() {
    this.tries += 1;
    const pause = Math.min(5_000, 250 * 2 ** Math.min(this.tries, 5));
    await new Promise((done) => setTimeout(done, pause));
    // A browser does not say why it was refused: ask.
    try {
      const answer = await fetchOwn("/version");
      if (answer.status === 401) return this.ears.refused();
    } catch {
      // Nobody is there yet.
    }
    this.start();
  }

  private told(text: string) {
    const end = text.indexOf("\n");
    const head = JSON.parse(end < 0 ? text : text.slice(0, end)) as {
      id?: string; status?: number; end?: boolean;
    };
    if (head.id === undefined) return;
    if (head.status !== undefined) {
      let message = end < 0 ? "" : text.slice(end + 1);
      try {
        message = JSON.parse(message).message ?? message;
      } catch {
        // Then it is plain text.
      }
      this.ears.answered(head.id, head.status, message);
    } else if (head.end) this.ears.ended(head.id);
    else this.ears.lines(head.id, text.slice(end + 1).split("\n"));
  }

  open(id: string, path: string) {
    if (this.isOpen()) this.socket!.send(JSON.stringify({ open: id, path }));
  }

  close(id: string) {
    if (this.isOpen()) this.socket!.send(JSON.stringify({ close: id }));
  }
}
